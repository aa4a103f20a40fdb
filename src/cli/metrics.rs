//! `--metrics-file`: how the run ended, for Prometheus' textfile collector.
//!
//! Owns the file: it is exchanged in one step, so that no half of it is ever read, and the time of the last success outlives
//! failures. Names and text are `progress/metrics.rs`'s. A file that cannot be written is a warning: it says nothing of the dump.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::exit::Exit;
use crate::progress::Counts;
use crate::progress::metrics::{LastRun, last_success, of_ended};

/// Where the metrics of a run go.
#[derive(Debug, Clone)]
pub struct MetricsFile(PathBuf);

impl MetricsFile {
    /// Nothing is written yet.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes how the run ended. A run that another one kept out leaves the file to that one.
    pub fn write(&self, counts: &Counts, duration: Duration, exit: Exit) -> io::Result<()> {
        if exit == Exit::LOCKED {
            return Ok(());
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let ended = since_1970.map_or(0, |time| time.as_secs());
        let before = fs::read_to_string(&self.0).unwrap_or_default();
        let run = LastRun {
            exit_code: exit.code(),
            ended,
            last_success: match exit {
                Exit::WHOLE => Some(ended),
                _ => last_success(&before),
            },
            duration,
        };
        self.exchange(of_ended(counts, &run).as_bytes())
    }

    /// The collector reads names that end in `.prom` only, so that it passes over the new file until it is whole.
    fn exchange(&self, bytes: &[u8]) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new(""));
        let fresh = folder.join(format!(".rdump-metrics-{}", std::process::id()));
        let written = || -> io::Result<()> {
            let mut file = fs::File::create(&fresh)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&fresh, &self.0)
        };
        written().inspect_err(|_| {
            // The first error is the one that counts.
            fs::remove_file(&fresh).ok();
        })
    }
}
