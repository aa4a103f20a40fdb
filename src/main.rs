//! The `rdump` command: parse, run, report, exit code. Everything else is in the library.

use rdump::cancel::CancelToken;
use rdump::cli::exit::Exit;
use rdump::cli::signals::SignalWatch;
use rdump::cli::{Command, DumpCommand, UsageError, output, parse, report};
use rdump::dump;
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
    let signals = match SignalWatch::start(&cancel) {
        Ok(signals) => signals,
        Err(error) => {
            let sentence = UsageError::new("cannot watch for signals").caused_by(error);
            return report::failure(&sentence, None, Exit::FAILED, command.report, &screen);
        }
    };
    output::start_log(command.log, &screen);
    for warning in &command.warnings {
        log::warn!("{warning}");
    }
    let mode = Mode::choose(command.quiet);
    let display = Display::start(mode, &progress, &screen, command.config.threads);
    let result = dump::run(&command.config, &progress, &cancel);
    drop(display);
    match (result, signals.stopped()) {
        (Ok(done), _) => report::success(&done, command.report, command.quiet, &screen),
        (Err(error), Some(stopped)) => {
            log::debug!("the run ended with: {error}");
            report::failure(&stopped, None, stopped.exit(), command.report, &screen)
        }
        (Err(error), None) => {
            let exit = Exit::of(error.exit_code());
            report::failure(
                &error,
                error.hint().as_deref(),
                exit,
                command.report,
                &screen,
            )
        }
    }
}
