//! Who may write where, and the log.
//!
//! Owns the flags that every command has for it ([`TellingArgs`]), and the decision: standard output carries data and `--report json`, and nothing else; standard error carries progress, log
//! lines, the report and errors, through one [`Screen`]; with `--logfile` the log lines go there instead. A log that cannot be
//! opened is refused at the start; one that fails later is told once and never stops a dump.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgAction, Args};
use log::{Level, LevelFilter, Log, Metadata, Record};
use time::OffsetDateTime;
use time::macros::format_description;

use super::usage::UsageError;
use super::values::choose;
use crate::progress::Screen;

/// What a command tells its user, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct TellingArgs {
    /// debug, info, warn or error
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub loglevel: LevelFilter,
    /// Write the log to a file [default: standard error]
    #[arg(short = 'L', long, value_name = "FILE")]
    pub logfile: Option<PathBuf>,
    /// Log lines as text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = log_format)]
    pub logfmt: LogFormat,
    /// Neither progress nor report; warnings and errors only
    #[arg(short, long)]
    pub quiet: bool,
    /// json writes the final report to standard output
    #[arg(long, value_name = "FORMAT", value_parser = report_format)]
    pub report: Option<ReportFormat>,
    /// Print the version
    #[arg(short = 'V', long = "version", action = ArgAction::Version)]
    version: Option<bool>,
    /// Print this help; -? prints less
    #[arg(long = "help", action = ArgAction::Help)]
    help: Option<bool>,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Time, level, text.
    Text,
    /// An object with the same.
    Json,
}

/// How the final report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportFormat {
    /// Lines for people, on standard error.
    #[default]
    Text,
    /// An object, on standard output.
    Json,
}

/// What is logged, how and where.
#[derive(Debug)]
pub struct LogOptions {
    /// The least important level.
    pub level: LevelFilter,
    /// How lines look.
    pub format: LogFormat,
    /// The file; without one standard error.
    pub file: Option<File>,
    /// Whether standard error is for warnings and errors only.
    pub quiet: bool,
}

/// How a command tells its user what it does.
#[derive(Debug)]
pub struct Telling {
    /// Where the log goes.
    pub log: LogOptions,
    /// How the final report looks.
    pub report: ReportFormat,
    /// Whether progress and report are left out.
    pub quiet: bool,
    /// What is odd about the flags, one sentence each.
    pub warnings: Vec<String>,
}

impl Telling {
    /// What the flags ask for. The log file is opened, so that a bad one is told before anything else happens.
    pub(super) fn new(args: &TellingArgs, warnings: Vec<String>) -> Result<Self, UsageError> {
        if args.report == Some(ReportFormat::Json) && stdout_was_closed() {
            return Err(
                UsageError::new("--report json has no standard output to be written to")
                    .with_hint("it is closed; lead it to a file, or to /dev/null by >/dev/null"),
            );
        }
        Ok(Self {
            log: LogOptions {
                level: args.loglevel,
                format: args.logfmt,
                file: open_log_file(args.logfile.as_deref())?,
                quiet: args.quiet,
            },
            report: args.report.unwrap_or_default(),
            quiet: args.quiet,
            warnings,
        })
    }
}

/// Whether the process was started without a standard output. Rust's runtime then opens `/dev/null` in its place, for reading and
/// writing, which a shell's `>/dev/null` never is, and every write would seem to succeed.
fn stdout_was_closed() -> bool {
    let stdout = io::stdout();
    let both_ways = rustix::fs::fcntl_getfl(&stdout)
        .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::RDWR));
    let is_null = || {
        let stat = rustix::fs::fstat(&stdout);
        let null = rustix::fs::stat("/dev/null");
        stat.is_ok_and(|ours| {
            null.is_ok_and(|null| ours.st_rdev == null.st_rdev && ours.st_rdev != 0)
        })
    };
    both_ways && is_null()
}

/// Opens the log file, at its end.
pub fn open_log_file(path: Option<&Path>) -> Result<Option<File>, UsageError> {
    // Dumpling's default is an empty name.
    let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else {
        return Ok(None);
    };
    let opened = File::options().append(true).create(true).open(path);
    let file = opened.map_err(|error| {
        UsageError::new(format!("cannot write the log file {}", path.display())).caused_by(error)
    })?;
    Ok(Some(file))
}

fn level(text: &str) -> Result<LevelFilter, String> {
    let levels = [
        ("debug", LevelFilter::Debug),
        ("info", LevelFilter::Info),
        ("warn", LevelFilter::Warn),
        ("error", LevelFilter::Error),
    ];
    // Dumpling knows three more, all above errors.
    let text = match text {
        "dpanic" | "panic" | "fatal" => "error",
        "warning" => "warn",
        _ => text,
    };
    choose(text, &levels)
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    choose(
        text,
        &[("text", LogFormat::Text), ("json", LogFormat::Json)],
    )
}

fn report_format(text: &str) -> Result<ReportFormat, String> {
    let formats = [("text", ReportFormat::Text), ("json", ReportFormat::Json)];
    choose(text, &formats)
}

/// Makes the log go where the options say.
pub fn start_log(options: LogOptions, screen: &Screen) {
    let level = if options.file.is_none() && options.quiet {
        options.level.min(LevelFilter::Warn)
    } else {
        options.level
    };
    let logger = Logger {
        level,
        format: options.format,
        sink: match options.file {
            Some(file) => Sink::Stream(Mutex::new(Box::new(file))),
            None => Sink::Screen,
        },
        screen: screen.clone(),
        failed: AtomicBool::new(false),
    };
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(level);
    }
}

/// The target of log lines that repeat what the user is told at the end: they go to a log file, since a log without the end
/// of the run is of little use, but not to standard error, where the same stands already.
pub const OUTCOME: &str = "rdump::outcome";

/// The sentence of an error, then a `caused by:` line for each cause, then the hint.
pub fn error_text(error: &dyn Error, hint: Option<&str>) -> String {
    let mut lines = vec![format!("error: {error}")];
    lines.extend(
        causes(error)
            .iter()
            .map(|cause| format!("  caused by: {cause}")),
    );
    lines.extend(hint.map(|hint| format!("  hint: {hint}")));
    lines.join("\n") + "\n"
}

/// What an error was caused by, outermost first.
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    causes
}

enum Sink {
    Stream(Mutex<Box<dyn Write + Send>>),
    Screen,
}

struct Logger {
    level: LevelFilter,
    format: LogFormat,
    sink: Sink,
    screen: Screen,
    failed: AtomicBool,
}

impl Logger {
    fn line(&self, record: &Record<'_>) -> String {
        let format = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
        );
        let time = OffsetDateTime::now_utc()
            .format(&format)
            .unwrap_or_default();
        match self.format {
            LogFormat::Text => format!("{time} {:5} {}\n", record.level(), record.args()),
            LogFormat::Json => {
                let level = record.level().as_str().to_ascii_lowercase();
                let object = serde_json::json!({
                    "time": time,
                    "level": level,
                    "target": record.target(),
                    "message": record.args().to_string(),
                });
                format!("{object}\n")
            }
        }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        match &self.sink {
            Sink::Screen => self.screen.write(line),
            Sink::Stream(stream) => {
                let mut stream = stream
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                // One write for one line, so that lines of several processes in one file stay whole.
                stream.write_all(line.as_bytes())
            }
        }
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The libraries below talk much, and only their worries are of interest.
        let own = metadata.target().starts_with("rdump");
        let told_twice = metadata.target() == OUTCOME && matches!(self.sink, Sink::Screen);
        metadata.level() <= self.level && !told_twice && (own || metadata.level() <= Level::Warn)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if let Err(error) = self.write(&self.line(record)) {
            let told = self.failed.swap(true, Ordering::Relaxed);
            if !told && matches!(self.sink, Sink::Stream(_)) {
                let text = format!("warning: the log is incomplete: {error}\n");
                // If standard error is gone too, nobody is left to be told.
                self.screen.write(&text).unwrap_or_default();
            }
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logger(format: LogFormat, stream: impl Write + Send + 'static) -> Logger {
        Logger {
            level: LevelFilter::Info,
            format,
            sink: Sink::Stream(Mutex::new(Box::new(stream))),
            screen: Screen::new(),
            failed: AtomicBool::new(false),
        }
    }

    fn log(logger: &Logger, target: &str, level: Level, text: &str) {
        let arguments = format_args!("{text}");
        let record = Record::builder()
            .target(target)
            .level(level)
            .args(arguments)
            .build();
        logger.log(&record);
    }

    #[test]
    fn text_lines_have_time_level_and_message() {
        let stream = Shared::default();
        let logger = logger(LogFormat::Text, stream.clone());
        log(&logger, "rdump::dump", Level::Info, "a message");
        log(&logger, "rdump::dump", Level::Debug, "too much");
        log(&logger, "rustls::client", Level::Info, "of no interest");
        let text = String::from_utf8(stream.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.ends_with("Z INFO  a message\n"), "{text}");
    }

    #[test]
    fn the_outcome_is_logged_in_a_file_only() {
        let stream = Shared::default();
        let mut logger = logger(LogFormat::Text, stream.clone());
        log(&logger, OUTCOME, Level::Error, "failed");
        assert!(stream.0.lock().unwrap().ends_with(b"ERROR failed\n"));
        logger.sink = Sink::Screen;
        let metadata = Metadata::builder()
            .target(OUTCOME)
            .level(Level::Error)
            .build();
        assert!(!logger.enabled(&metadata));
    }

    #[test]
    fn json_lines_are_objects_whatever_the_message_holds() {
        let stream = Shared::default();
        let logger = logger(LogFormat::Json, stream.clone());
        log(&logger, "rdump", Level::Warn, "a \"quoted\"\nmessage");
        let text = stream.0.lock().unwrap().clone();
        let line: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(line["level"], "warn");
        assert_eq!(line["message"], "a \"quoted\"\nmessage");
    }

    #[test]
    fn a_log_that_fails_stops_nothing() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let logger = logger(LogFormat::Text, full);
        log(&logger, "rdump", Level::Info, "lost");
        log(&logger, "rdump", Level::Info, "lost too");
        assert!(logger.failed.load(Ordering::Relaxed));
    }

    #[test]
    fn an_error_is_a_sentence_its_causes_and_a_hint() {
        let error = UsageError::new("cannot write the log file x")
            .caused_by(io::Error::from(io::ErrorKind::PermissionDenied));
        let expected = "error: cannot write the log file x\n  \
                        caused by: permission denied\n  hint: try another\n";
        assert_eq!(error_text(&error, Some("try another")), expected);
    }
}
