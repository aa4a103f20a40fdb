//! The `rdump` command: parse, run, report, exit code. Everything else is in the library.

use rdump::cancel::CancelToken;
use rdump::cli::exit::Exit;
use rdump::cli::output::Telling;
use rdump::cli::report::Outlet;
use rdump::cli::signals::SignalWatch;
use rdump::cli::{Command, UsageError, output, parse, report};
use rdump::error::Error;
use rdump::progress::{Display, Mode, Progress, Screen};
use rdump::{dump, load, verify};

fn main() -> Exit {
    match parse(std::env::args_os()) {
        Ok(Command::Dump(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| dump::run(&config, progress, cancel);
            let run = Run {
                telling: command.telling,
                tables: config.threads,
                aftermath: "what was written is not a dump",
            };
            run.go(journey, report::dumped)
        }
        Ok(Command::Load(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| load::run(&config, progress, cancel);
            let run = Run {
                telling: command.telling,
                tables: config.threads,
                aftermath: "the same command goes on where it stood",
            };
            run.go(journey, report::loaded)
        }
        Ok(Command::Verify(command)) => {
            let config = command.config;
            let journey = |progress: &_, cancel: &_| verify::run(&config, progress, cancel);
            let run = Run {
                telling: command.telling,
                tables: config.threads,
                aftermath: "not everything was looked at",
            };
            run.go(journey, report::verified)
        }
        Ok(Command::Answer(text)) => report::answer(&text),
        Err(error) => report::usage_error(&error),
    }
}

/// What is around every journey.
struct Run {
    telling: Telling,
    /// How many tables are shown by name.
    tables: usize,
    /// What the user is told after a signal.
    aftermath: &'static str,
}

impl Run {
    /// Runs a journey, and tells how it ended.
    fn go<T>(
        self,
        journey: impl FnOnce(&Progress, &CancelToken) -> Result<T, Error>,
        tell: impl FnOnce(&T, &Outlet) -> Exit,
    ) -> Exit {
        let (progress, cancel, telling) = (Progress::new(), CancelToken::new(), self.telling);
        let outlet = Outlet {
            screen: Screen::new(),
            format: telling.report,
            quiet: telling.quiet,
        };
        let signals = match SignalWatch::start(&cancel, self.aftermath) {
            Ok(signals) => signals,
            Err(error) => {
                let sentence = UsageError::new("cannot watch for signals").caused_by(error);
                return report::failure(&sentence, None, Exit::FAILED, &outlet);
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
        match (result, signals.stopped()) {
            (Ok(done), _) => tell(&done, &outlet),
            (Err(error), Some(stopped)) => {
                log::debug!("the run ended with: {error}");
                report::failure(&stopped, None, stopped.exit(), &outlet)
            }
            (Err(error), None) => {
                let exit = Exit::of(error.exit_code());
                report::failure(&error, error.hint().as_deref(), exit, &outlet)
            }
        }
    }
}
