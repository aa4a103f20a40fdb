//! The `rdump` command: parse, run, report, exit code. Everything else is in the library.

use std::time::Instant;

use rdump::backup;
use rdump::cancel::CancelToken;
use rdump::cli::exit::Exit;
use rdump::cli::signals::SignalWatch;
use rdump::cli::{Command, DumpCommand, UsageError, output, parse, report};
use rdump::progress::status::StatusServer;
use rdump::progress::{Display, Mode, Progress, Screen};

fn main() -> Exit {
    match parse(std::env::args_os()) {
        Ok(Command::Dump(command)) => run(*command),
        Ok(Command::Answer(text)) => report::answer(&text),
        Err(error) => report::usage_error(&error),
    }
}

fn run(command: DumpCommand) -> Exit {
    let (progress, cancel, screen) = (Progress::new(), CancelToken::new(), Screen::new());
    let started = Instant::now();
    let refuse = |error: &UsageError, exit| {
        report::failure(error, error.hint(), exit, command.report, &screen)
    };
    let signals = match SignalWatch::start(&cancel) {
        Ok(signals) => signals,
        Err(error) => {
            let sentence = UsageError::new("cannot watch for signals").caused_by(error);
            return refuse(&sentence, Exit::FAILED);
        }
    };
    let status = |address| StatusServer::start(address, &progress, started);
    let _status = match command.status.map(status).transpose() {
        Ok(server) => server,
        Err(error) => {
            let sentence = UsageError::new("--status-addr cannot be listened to").caused_by(error);
            return refuse(&sentence, Exit::USAGE);
        }
    };
    output::start_log(command.log, &screen);
    for warning in &command.warnings {
        log::warn!("{warning}");
    }
    let mode = Mode::choose(command.quiet);
    let display = Display::start(mode, &progress, &screen, command.config.threads);
    let result = backup::run(&command.backup, &command.config, &progress, &cancel);
    drop(display);
    let exit = match (result, signals.stopped()) {
        (Ok(done), _) => report::success(&done, command.report, command.quiet, &screen),
        (Err(error), Some(stopped)) => {
            log::debug!("the run ended with: {error}");
            report::failure(&stopped, None, stopped.exit(), command.report, &screen)
        }
        (Err(error), None) => {
            let (exit, hint) = (Exit::of(error.exit_code()), error.hint());
            report::failure(&error, hint.as_deref(), exit, command.report, &screen)
        }
    };
    if let Some(file) = &command.metrics
        && let Err(error) = file.write(&progress.counts(), started.elapsed(), exit)
    {
        log::warn!("the metrics file could not be written: {error}");
    }
    exit
}
