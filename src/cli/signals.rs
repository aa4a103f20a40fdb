//! INT, TERM and HUP: the first stops the run in order, the second at once.
//!
//! Owns the handlers and the memory of which signal came. A thread that sleeps in the kernel is woken by the first one and
//! cancels the token; what that means is up to the run. SIGHUP stays ignored where it is, so that `nohup` works.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

use super::exit::Exit;
use crate::cancel::CancelToken;

/// A signal that ended the run, and what the user is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped by {name}; {aftermath}")]
pub struct Stopped {
    name: &'static str,
    aftermath: &'static str,
    exit: Exit,
}

impl Stopped {
    /// The exit code of a process that this signal ended.
    pub const fn exit(self) -> Exit {
        self.exit
    }
}

/// Watches for signals until it is dropped.
#[derive(Debug)]
pub struct SignalWatch {
    received: Arc<AtomicUsize>,
    aftermath: &'static str,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalWatch {
    /// Begins to watch; the first signal cancels `cancel`. `aftermath` is what the user is told of what is left.
    pub fn start(cancel: &CancelToken, aftermath: &'static str) -> io::Result<Self> {
        let mut watched = vec![SIGINT, SIGTERM];
        if !hangup_is_ignored() {
            watched.push(SIGHUP);
        }
        let stopping = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicUsize::new(0));
        for &signal in &watched {
            // The handlers run in this order: only a second signal finds the flag set.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stopping))?;
            flag::register(signal, Arc::clone(&stopping))?;
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, Arc::clone(&received), number)?;
        }
        let mut signals = Signals::new(&watched)?;
        let handle = signals.handle();
        let cancel = cancel.clone();
        let wait = move || {
            for _ in signals.forever() {
                cancel.cancel();
            }
        };
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(wait)?;
        Ok(Self {
            received,
            aftermath,
            handle,
            thread: Some(thread),
        })
    }

    /// The signal that came, if one did.
    pub fn stopped(&self) -> Option<Stopped> {
        let by = |name, exit| {
            Some(Stopped {
                name,
                aftermath: self.aftermath,
                exit,
            })
        };
        match i32::try_from(self.received.load(Ordering::SeqCst)) {
            Ok(SIGHUP) => by("SIGHUP", Exit::HANGUP),
            Ok(SIGINT) => by("SIGINT", Exit::INTERRUPTED),
            Ok(SIGTERM) => by("SIGTERM", Exit::TERMINATED),
            _ => None,
        }
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.handle.close();
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            log::warn!("the watch for signals failed");
        }
    }
}

/// Whether the process was started with SIGHUP ignored. The kernel's list is asked, since asking `sigaction` is unsafe.
pub fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (SIGHUP - 1) != 0)
}
