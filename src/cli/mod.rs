//! The command line: the only place that knows clap, and the only one that prints.
//!
//! Owns the way from words to a [`Command`]: `argv.rs` rewrites what clap cannot say, `flags.rs` is what was typed,
//! `defaults.rs` what the option files add, `dump.rs` what it means; a command beside the dump has a file for both and a line in
//! `SUBCOMMANDS`. `output.rs` and `report.rs` decide who writes where. What a dump does it leaves to `dump/`.

mod argv;
mod backup;
mod check;
mod condition;
mod connection;
mod defaults;
mod dump;
mod elsewhere;
pub mod exit;
mod flags;
mod help;
mod load;
pub mod metrics;
mod names;
mod option_file;
pub mod output;
mod password;
mod place;
mod prompt;
pub mod report;
mod shape;
mod shell;
pub mod signals;
mod size;
mod template;
mod url;
mod usage;
mod values;
mod verify;

use std::collections::HashSet;
use std::ffi::OsString;
use std::net::SocketAddr;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, FromArgMatches};

use crate::backup::BackupConfig;
use crate::dump::config::DumpConfig;
use crate::load::config::LoadConfig;
use crate::verify::config::VerifyConfig;
use connection::Connects;
use defaults::Defaults;
use flags::DumpArgs;
pub use usage::UsageError;
use values::boolean;

/// What the user wants.
#[derive(Debug)]
pub enum Command {
    /// A dump.
    Dump(Box<DumpCommand>),
    /// A dump looked at before it is made.
    Check(Box<DumpCommand>),
    /// A dump put back.
    Load(Box<LoadCommand>),
    /// A dump looked at.
    Verify(Box<VerifyCommand>),
    /// An answer that is ready to be printed.
    Answer(String),
}

/// A dump, and how its user wants to be told of it.
#[derive(Debug)]
pub struct DumpCommand {
    /// What to do.
    pub config: DumpConfig,
    /// What comes around it.
    pub backup: BackupConfig,
    /// Where the outcome is written for a monitoring system.
    pub metrics: Option<metrics::MetricsFile>,
    /// Where the run is asked how far it is.
    pub status: Option<SocketAddr>,
    /// How the user is told.
    pub telling: output::Telling,
}

/// A load, and how its user wants to be told of it.
#[derive(Debug)]
pub struct LoadCommand {
    /// What to do.
    pub config: LoadConfig,
    /// How the user is told.
    pub telling: output::Telling,
}

/// A verification, and how its user wants to be told of it.
#[derive(Debug)]
pub struct VerifyCommand {
    /// What to do.
    pub config: VerifyConfig,
    /// How the user is told.
    pub telling: output::Telling,
}

/// Reads the words of one command, of which the first is the program's name.
type Parse = fn(Vec<OsString>) -> Result<Command, UsageError>;

/// The commands beside the dump: the word that stands first, and what reads the words behind it. A database or a directory of
/// such a name is given by a flag.
const SUBCOMMANDS: [(&str, Parse); 5] = [
    ("check", check::parse),
    ("completions", shell::completions),
    ("load", load::parse),
    ("man", shell::man),
    ("verify", verify::parse),
];

/// The command that a word is a slip of: a letter too few, too many, wrong, or two that changed places.
fn near_command(word: &str) -> Option<&'static str> {
    let is_near = |name: &&str| {
        let both = || word.bytes().zip(name.bytes());
        let head = both().take_while(|(a, b)| a == b).count();
        let rest = word.len().min(name.len()) - head;
        let backwards = word.bytes().rev().zip(name.bytes().rev()).take(rest);
        let same = head + backwards.take_while(|(a, b)| a == b).count();
        word.len().max(name.len()) - same <= 2 && same > 0
    };
    SUBCOMMANDS.iter().map(|(name, _)| *name).find(is_near)
}

/// Reads the command line, the program's name included.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let first = words.get(1);
    let named = first.and_then(|word| SUBCOMMANDS.iter().find(|(name, _)| word == name));
    match named {
        Some((_, parse)) => {
            words.remove(1);
            parse(words)
        }
        None => read(&help::DUMP, words, |args: DumpArgs, defaults| {
            let args = with_url(args)?;
            dump::convert(&args, defaults).map(|dump| Command::Dump(Box::new(dump)))
        }),
    }
}

/// The flags, and what a URL among the words says where none was typed.
fn with_url(mut args: DumpArgs) -> Result<DumpArgs, UsageError> {
    let words = &mut args.output.words;
    if let Some(at) = words.iter().position(|word| url::is_url(word)) {
        let url = words.remove(at);
        url::fill_in(&mut args, &url)?;
    }
    Ok(args)
}

/// Whether the words ask for JSON: a command line that makes no sense is told of in the same way.
pub fn asks_for_json(words: &[OsString]) -> bool {
    let joined = words.iter().any(|word| word == "--report=json");
    let apart = words
        .windows(2)
        .any(|two| two[0] == "--report" && two[1] == "json");
    joined || apart
}

/// Reads the flags of one command, or answers what they ask.
fn read<A: CommandFactory + FromArgMatches + Connects>(
    page: &help::Page,
    words: Vec<OsString>,
    convert: impl FnOnce(A, Defaults) -> Result<Command, UsageError>,
) -> Result<Command, UsageError> {
    let mut command = command::<A>(page);
    let rewritten = argv::rewrite(&command, words);
    if rewritten.asks_for_short_help {
        return Ok(Command::Answer(help::short_help(page, &command)));
    }
    let matches = match command.try_get_matches_from_mut(&rewritten.words) {
        Ok(matches) => matches,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                return Ok(Command::Answer(error.to_string()));
            }
            _ => return Err(UsageError::from_clap(&error)),
        },
    };
    if rewritten.word_after_password {
        let sentence =
            "the word after -p belongs to no flag (it is not shown, as it may be a password)";
        let hint =
            "-pVALUE without a blank is a password, -p alone asks for one; -B names a database";
        return Err(UsageError::new(sentence).with_hint(hint));
    }
    let (args, defaults) = with_defaults(command, &rewritten.words, &matches)?;
    convert(args, defaults)
}

/// The flags, with those of the option files where none was typed.
fn with_defaults<A: FromArgMatches + Connects>(
    mut command: clap::Command,
    words: &[OsString],
    matches: &clap::ArgMatches,
) -> Result<(A, Defaults), UsageError> {
    let from_matches = |matches: &clap::ArgMatches| {
        A::from_arg_matches(matches).map_err(|error| UsageError::from_clap(&error))
    };
    let is_typed = |id: &&clap::Id| {
        matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    let typed: HashSet<String> = matches
        .ids()
        .filter(is_typed)
        .map(ToString::to_string)
        .collect();
    let mut args = from_matches(matches)?;
    let Some(connection) = args.connection() else {
        return Ok((args, Defaults::default()));
    };
    let defaults = Defaults::read(connection, &command, &typed)?;
    if let ([name, typed @ ..], false) = (words, defaults.words.is_empty()) {
        let words = std::iter::once(name)
            .chain(&defaults.words)
            .chain(typed)
            .cloned();
        let matches = command.try_get_matches_from_mut(words);
        args = from_matches(&matches.map_err(|error| UsageError::from_clap(&error))?)?;
    }
    Ok((args, defaults))
}

/// clap's description of all flags of a command.
fn command<A: CommandFactory>(page: &help::Page) -> clap::Command {
    let command = A::command()
        .args_override_self(true)
        .mut_args(with_optional_value);
    let help = help::long_help(page, &command);
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
    let matches = command::<DumpArgs>(&help::DUMP)
        .try_get_matches_from(words)
        .unwrap();
    DumpArgs::from_arg_matches(&matches).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_a_command_is_recognised() {
        for (word, command) in [
            ("verfy", "verify"),
            ("laod", "load"),
            ("chek", "check"),
            ("mann", "man"),
        ] {
            assert_eq!(near_command(word), Some(command));
        }
        for word in ["shop", "orders", "x", ""] {
            assert_eq!(near_command(word), None, "{word}");
        }
    }
}
