//! `SecretCommand`: a program whose first line is a secret.
//!
//! Owns the run of it: by `sh`, without standard input, under a time limit past which its whole process group is ended. What it
//! prints is never shown; what it says on standard error goes where ours goes.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Secret;

/// A longer secret is a mistake: no server takes one.
const LONGEST_BYTES: u64 = 64 << 10;
/// How often a program that has closed its output is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be run, or read.
    #[error("the password command could not be run")]
    Run(#[source] io::Error),
    /// It ended with a failure.
    #[error("the password command failed ({0})")]
    Failed(std::process::ExitStatus),
    /// It took too long.
    #[error("the password command did not end within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// It printed nothing, or what is no password.
    #[error("the password command printed no line of text")]
    Nothing,
}

/// A command line for `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretCommand(String);

impl SecretCommand {
    /// Nothing is run yet.
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// Runs it, and returns its first line.
    pub fn run(&self, limit: Duration) -> Result<Secret, CommandError> {
        let until = Instant::now() + limit;
        let mut child = Command::new("sh")
            .args(["-c", &self.0])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(CommandError::Run)?;
        let outcome = Self::collect(&mut child, until, limit);
        if outcome.is_err() {
            end(&mut child);
        }
        outcome
    }

    fn collect(child: &mut Child, until: Instant, limit: Duration) -> Result<Secret, CommandError> {
        let (sender, receiver) = mpsc::channel();
        let stdout = child.stdout.take();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.map_or(Ok(0), |out| out.take(LONGEST_BYTES).read_to_end(&mut bytes));
            // Nobody listens any more if it took too long.
            sender.send(read.map(|_| bytes)).ok();
        });
        let left = until.saturating_duration_since(Instant::now());
        let bytes = match receiver.recv_timeout(left) {
            Ok(read) => read.map_err(CommandError::Run)?,
            Err(RecvTimeoutError::Timeout) => return Err(CommandError::Late(limit)),
            Err(RecvTimeoutError::Disconnected) => return Err(CommandError::Nothing),
        };
        let status = loop {
            if let Some(status) = child.try_wait().map_err(CommandError::Run)? {
                break status;
            }
            if Instant::now() >= until {
                return Err(CommandError::Late(limit));
            }
            thread::sleep(LOOK);
        };
        if !status.success() {
            return Err(CommandError::Failed(status));
        }
        let text = String::from_utf8(bytes).map_err(|_| CommandError::Nothing)?;
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(Secret::new(line)),
            _ => Err(CommandError::Nothing),
        }
    }
}

/// Ends it with all that it started, and waits for it.
fn end(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = pid {
        // It may have ended by itself.
        kill_process_group(group, Signal::KILL).ok();
    }
    child.wait().ok();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(line: &str, limit: Duration) -> Result<String, CommandError> {
        let secret = SecretCommand::new(line).run(limit)?;
        Ok(secret.expose().to_owned())
    }

    #[test]
    fn the_first_line_is_the_secret_and_a_failure_is_none() {
        let limit = Duration::from_secs(10);
        assert_eq!(run("echo one; echo two", limit).unwrap(), "one");
        assert_eq!(run("printf ' a b '", limit).unwrap(), " a b ");
        let failed = run("echo one; exit 3", limit);
        assert!(matches!(failed, Err(CommandError::Failed(_))));
        for line in ["true", "echo", "printf '\\377'"] {
            assert!(matches!(run(line, limit), Err(CommandError::Nothing)));
        }
    }

    #[test]
    fn one_that_hangs_is_ended_with_its_children() {
        let begun = Instant::now();
        let late = run("sleep 60 & sleep 60", Duration::from_millis(100));
        assert!(matches!(late, Err(CommandError::Late(_))), "{late:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
