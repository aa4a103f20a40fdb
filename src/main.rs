//! The `rdump` command: parse, run, report, exit code. Everything else is in the library.

use std::net::SocketAddr;
use std::time::Instant;

use rdump::cancel::CancelToken;
use rdump::cli::exit::Exit;
use rdump::cli::metrics::MetricsFile;
use rdump::cli::output::Telling;
use rdump::cli::report::Outlet;
use rdump::cli::signals::SignalWatch;
use rdump::cli::{Command, UsageError, asks_for_json, output, parse, report};
use rdump::error::Error;
use rdump::progress::status::StatusServer;
use rdump::progress::{Display, Mode, Progress, Screen};
use rdump::{backup, dump, load, verify};

fn main() -> Exit {
    let words: Vec<_> = std::env::args_os().collect();
    let json = asks_for_json(&words);
    match parse(words) {
        Ok(Command::Dump(command)) => {
            let (config, around) = (command.config, command.backup);
            let journey =
                |progress: &_, cancel: &_| backup::run(&around, &config, progress, cancel);
            let aftermath = "what was written is not a dump";
            let mut run = Run::new(command.telling, config.threads, aftermath);
            (run.status, run.metrics) = (command.status, command.metrics);
            run.go(journey, report::dumped)
        }
        Ok(Command::Check(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| dump::check(&config, progress, cancel);
            let aftermath = "not everything was looked at";
            Run::new(command.telling, config.threads, aftermath).go(journey, report::checked)
        }
        Ok(Command::Load(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| load::run(&config, progress, cancel);
            let aftermath = "the same command goes on where it stood";
            Run::new(command.telling, config.threads, aftermath).go(journey, report::loaded)
        }
        Ok(Command::Verify(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| verify::run(&config, progress, cancel);
            let aftermath = "not everything was looked at";
            Run::new(command.telling, config.threads, aftermath).go(journey, report::verified)
        }
        Ok(Command::Answer(text)) => report::answer(&text),
        Err(error) => report::usage_error(&error, json),
    }
}

/// What is around every journey.
struct Run {
    telling: Telling,
    /// How many tables are shown by name.
    tables: usize,
    /// What the user is told after a signal.
    aftermath: &'static str,
    status: Option<SocketAddr>,
    metrics: Option<MetricsFile>,
}

impl Run {
    fn new(telling: Telling, tables: usize, aftermath: &'static str) -> Self {
        Self {
            telling,
            tables,
            aftermath,
            status: None,
            metrics: None,
        }
    }

    /// Runs a journey, and tells how it ended.
    fn go<T>(
        self,
        journey: impl FnOnce(&Progress, &CancelToken) -> Result<T, Error>,
        tell: impl FnOnce(&T, &Outlet) -> Exit,
    ) -> Exit {
        let (progress, cancel, telling) = (Progress::new(), CancelToken::new(), self.telling);
        let started = Instant::now();
        let outlet = Outlet {
            screen: Screen::new(),
            format: telling.report,
            quiet: telling.quiet,
        };
        let refuse = |what: &str, error: std::io::Error, exit| {
            let sentence = UsageError::new(what).caused_by(error);
            report::failure(&sentence, None, exit, &outlet)
        };
        let signals = match SignalWatch::start(&cancel, self.aftermath) {
            Ok(signals) => signals,
            Err(error) => return refuse("cannot watch for signals", error, Exit::FAILED),
        };
        let serve = |address| StatusServer::start(address, &progress, started);
        let _status = match self.status.map(serve).transpose() {
            Ok(server) => server,
            Err(error) => {
                return refuse("cannot listen at --status-addr", error, Exit::USAGE);
            }
        };
        output::start_log(telling.log, &outlet.screen);
        for warning in &telling.warnings {
            log::warn!("{warning}");
        }
        let mode = Mode::choose(telling.quiet);
        let display = Display::start(mode, &progress, &outlet.screen, self.tables);
        let result = journey(&progress, &cancel);
        drop(display);
        let exit = match (result, signals.stopped()) {
            (Ok(done), _) => tell(&done, &outlet),
            (Err(error), Some(stopped)) => {
                log::debug!("the run ended with: {error}");
                report::failure(&stopped, None, stopped.exit(), &outlet)
            }
            (Err(error), None) => {
                let exit = Exit::of(error.exit_code());
                report::failure(&error, error.hint().as_deref(), exit, &outlet)
            }
        };
        if let Some(file) = &self.metrics
            && let Err(error) = file.write(&progress.counts(), started.elapsed(), exit)
        {
            log::warn!("the metrics file could not be written: {error}");
        }
        exit
    }
}
