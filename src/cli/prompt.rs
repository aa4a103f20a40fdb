//! The question for a password, on the terminal itself, so that standard input and output stay free for data.
//!
//! Owns the terminal while it asks: the echo is off, and comes back however the question ends: by an answer, by an error, or by a
//! signal, which then ends the process as if it had not been caught.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::thread::JoinHandle;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use super::signals::hangup_is_ignored;

/// Asks on the terminal, without echo.
pub fn ask_password() -> io::Result<String> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let silence = Silence::begin(&terminal)?;
    terminal.write_all(b"Enter password: ")?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    drop(silence);
    // The key that ended the answer was not shown either.
    terminal.write_all(b"\n")?;
    if read? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal without echo. Dropping it brings the echo back.
struct Silence {
    terminal: File,
    before: Termios,
    signals: Handle,
    watch: Option<JoinHandle<()>>,
}

impl Silence {
    fn begin(terminal: &File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut watched = vec![SIGINT, SIGTERM];
        if !hangup_is_ignored() {
            watched.push(SIGHUP);
        }
        // The watch comes first: a signal in between must not find the echo off and nobody to bring it back.
        let mut signals = Signals::new(watched)?;
        let handle = signals.handle();
        let (own, modes) = (terminal.try_clone()?, before.clone());
        let watch = std::thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                restore(&own, &modes);
                // Returns only where the system refuses to end us.
                emulate_default_handler(signal).ok();
            }
        })?;
        let silence = Self {
            terminal: terminal.try_clone()?,
            before,
            signals: handle,
            watch: Some(watch),
        };
        let mut silent = silence.before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(silence)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        restore(&self.terminal, &self.before);
        self.signals.close();
        if let Some(watch) = self.watch.take() {
            // It holds nothing that a panic could have spoiled.
            watch.join().ok();
        }
    }
}

/// A terminal that is gone has no echo to bring back.
fn restore(terminal: &File, modes: &Termios) {
    if let Err(error) = tcsetattr(terminal, OptionalActions::Now, modes) {
        log::debug!("the terminal's echo could not be restored: {error}");
    }
}
