//! How far a run is, and how a person sees it.
//!
//! Owns the counters and their display: bars on a terminal, a plain line every 30 s elsewhere, nothing when quiet. One thread
//! reads the counters and draws; it sleeps on a channel and ends at once when the display does. Standard error is shared
//! through [`Screen`], so that a log line never tears a bar. Programs read the same counters as metrics ([`metrics`]), over HTTP
//! while a dump runs ([`status`]). Imports nothing of the rest of the crate.

mod bars;
mod counters;
pub mod figures;
mod lines;
pub mod metrics;
mod pace;
pub mod status;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bars::Bars;
pub use counters::{ActiveTable, Attempt, Counts, Progress, TableProgress};
pub use pace::Pace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Between two drawings of the bars.
const BARS_EVERY: Duration = Duration::from_millis(250);
/// Over which the speed beside the bars is taken.
const BARS_WINDOW: Duration = Duration::from_secs(5);
/// Between two plain lines.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Bars that are drawn anew.
    Bars {
        /// Whether they have colours.
        colour: bool,
    },
    /// A line now and then.
    Lines,
    /// Nothing.
    Quiet,
}

impl Mode {
    /// Bars if standard error is a terminal that can draw them, lines if not. Colours unless `NO_COLOR` is set.
    pub fn choose(quiet: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() && !dumb {
            Self::Bars {
                colour: !set("NO_COLOR"),
            }
        } else {
            Self::Lines
        }
    }
}

/// Standard error, shared by the bars and everybody who writes lines. Clones are the same screen.
#[derive(Debug, Clone, Default)]
pub struct Screen(Arc<Mutex<Option<Bars>>>);

impl Screen {
    /// Standard error without bars so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes whole lines, above the bars if there are any.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let write = || write_to_stderr(text.as_bytes());
        // The lock is held while writing: else the bars could be cleared, or drawn, in the middle of the text.
        match &*self.lock() {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    fn draw(&self, counts: &Counts, pace: &Pace, active: &[ActiveTable], paused: Option<&str>) {
        if let Some(bars) = &mut *self.lock() {
            bars.draw(counts, pace, active, paused);
        }
    }

    fn begin_bars(&self, colour: bool) {
        *self.lock() = Some(Bars::new(colour));
    }

    fn end_bars(&self) -> io::Result<()> {
        self.lock().take().map_or(Ok(()), |bars| bars.clear())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Bars>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a pipe that nobody empties is waited for. After that lines are lost, and not the dump.
const PATIENCE: Duration = Duration::from_secs(2);
/// A pipe that is ready takes so much at once (POSIX, PIPE_BUF on Linux).
const PIPE_PIECE: usize = 4096;

/// Writes to standard error. A person who stops a terminal means it; the reader of a pipe that has gone to sleep does not.
fn write_to_stderr(bytes: &[u8]) -> io::Result<()> {
    static STUCK: AtomicBool = AtomicBool::new(false);
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        return stderr.write_all(bytes);
    }
    for piece in bytes.chunks(PIPE_PIECE) {
        let patience = if STUCK.load(Ordering::Relaxed) {
            Duration::ZERO
        } else {
            PATIENCE
        };
        let limit = Timespec::try_from(patience).unwrap_or_default();
        let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
        let is_ready = poll(&mut ready, Some(&limit)).is_ok_and(|count| count > 0);
        STUCK.store(!is_ready, Ordering::Relaxed);
        if !is_ready {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stderr.write_all(piece)?;
    }
    Ok(())
}

/// The thread that shows progress. Dropping it ends the display and clears the bars.
#[derive(Debug)]
pub struct Display {
    screen: Screen,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// Begins to show `progress`; at most `tables` tables by name.
    pub fn start(mode: Mode, progress: &Progress, screen: &Screen, tables: usize) -> Self {
        let (every, window) = match mode {
            Mode::Quiet => {
                return Self {
                    screen: screen.clone(),
                    thread: None,
                };
            }
            Mode::Bars { colour } => {
                screen.begin_bars(colour);
                (BARS_EVERY, BARS_WINDOW)
            }
            Mode::Lines => (LINES_EVERY, LINES_EVERY),
        };
        let (stop, stopped) = mpsc::channel();
        let (progress, shown) = (progress.clone(), screen.clone());
        let show = move || {
            let mut pace = Pace::new(window);
            pace.note(Instant::now(), progress.counts());
            // An end of the channel is the event; nothing is ever sent.
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let (counts, active) = (progress.counts(), progress.active_tables(tables));
                pace.note(Instant::now(), counts);
                let paused = progress.paused();
                let paused = paused.as_deref();
                if mode != Mode::Lines {
                    shown.draw(&counts, &pace, &active, paused);
                } else if shown
                    .write(&(lines::line(&counts, &pace, &active, paused) + "\n"))
                    .is_err()
                {
                    // Nobody reads standard error; the dump goes on without an audience.
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let thread = match thread.spawn(show) {
            Ok(handle) => Some((stop, handle)),
            Err(error) => {
                log::warn!("no progress is shown: {error}");
                None
            }
        };
        Self {
            screen: screen.clone(),
            thread,
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            if thread.join().is_err() {
                log::warn!("the progress display failed");
            }
        }
        if let Err(error) = self.screen.end_bars() {
            log::debug!("the bars could not be cleared: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_ends_at_once_however_rarely_it_shows_something() {
        let begun = Instant::now();
        let display = Display::start(Mode::Lines, &Progress::new(), &Screen::new(), 4);
        drop(display);
        assert!(begun.elapsed() < LINES_EVERY / 2);
    }

    #[test]
    fn quiet_wins_over_everything() {
        assert_eq!(Mode::choose(true), Mode::Quiet);
        let display = Display::start(Mode::Quiet, &Progress::new(), &Screen::new(), 4);
        assert!(display.thread.is_none());
    }
}
