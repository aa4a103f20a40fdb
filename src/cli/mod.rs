//! The command line: the only place that knows clap, and the only one that prints.
//!
//! Owns the way from words to a [`Command`]: `argv.rs` rewrites what clap cannot say, `flags.rs` is what was typed, `dump.rs`
//! what it means. `output.rs` and `report.rs` decide who writes where. What a dump does it leaves to `dump/`.

mod argv;
mod condition;
mod connection;
mod dump;
pub mod exit;
mod flags;
mod help;
mod names;
mod option_file;
pub mod output;
mod password;
mod place;
pub mod report;
mod shape;
pub mod signals;
mod size;
mod template;
mod usage;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, FromArgMatches};

use crate::dump::config::DumpConfig;
use flags::{DumpArgs, boolean};
pub use usage::UsageError;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    /// A dump.
    Dump(Box<DumpCommand>),
    /// An answer that is ready to be printed.
    Answer(String),
}

/// A dump, and how its user wants to be told of it.
#[derive(Debug)]
pub struct DumpCommand {
    /// What to do.
    pub config: DumpConfig,
    /// Where the log goes.
    pub log: output::LogOptions,
    /// How the final report looks.
    pub report: output::ReportFormat,
    /// Whether progress and report are left out.
    pub quiet: bool,
    /// What is odd about the flags, one sentence each.
    pub warnings: Vec<String>,
}

/// Reads the command line, the program's name included.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut command = command();
    let rewritten = argv::rewrite(&command, words);
    if rewritten.asks_for_short_help {
        return Ok(Command::Answer(help::short_help(&command)));
    }
    let args = match command.try_get_matches_from_mut(rewritten.words) {
        Ok(matches) => DumpArgs::from_arg_matches(&matches),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                return Ok(Command::Answer(error.to_string()));
            }
            _ => Err(error),
        },
    };
    let args = args.map_err(|error| UsageError::from_clap(&error))?;
    if rewritten.word_after_password {
        let sentence =
            "the word after -p belongs to no flag (it is not shown, as it may be a password)";
        let hint =
            "-pVALUE without a blank is a password, -p alone asks for one; -B names a database";
        return Err(UsageError::new(sentence).with_hint(hint));
    }
    dump::convert(&args).map(|dump| Command::Dump(Box::new(dump)))
}

/// clap's description of all flags.
fn command() -> clap::Command {
    let command = DumpArgs::command()
        .args_override_self(true)
        .mut_args(with_optional_value);
    let help = help::long_help(&command);
    command.override_help(help)
}

/// Lets a switch be given a value, as Dumpling's can: `--no-views=false`.
fn with_optional_value(arg: clap::Arg) -> clap::Arg {
    let default = match arg.get_action() {
        ArgAction::SetTrue => "false",
        // Switches that are on by default say so in `flags.rs`; no other flag has this default.
        ArgAction::Set if arg.get_default_values() == ["true"] => "true",
        _ => return arg,
    };
    arg.action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .value_name("BOOL")
        .value_parser(boolean)
        .default_value(default)
        .default_missing_value("true")
}

/// Flags as a test types them.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
fn typed(words: &[&str]) -> DumpArgs {
    let words = std::iter::once(&"rdump").chain(words);
    let matches = command().try_get_matches_from(words).unwrap();
    DumpArgs::from_arg_matches(&matches).unwrap()
}
