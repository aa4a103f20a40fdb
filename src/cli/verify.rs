//! `rdump verify`: its flags, and from them to a [`VerifyConfig`].
//!
//! Owns names, help lines and defaults, and every check that needs no server. What is compared it leaves to `verify/`.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::connection::{Connection, ConnectionArgs, Connects};
use super::defaults::Defaults;
use super::help::Page;
use super::output::{Telling, TellingArgs};
use super::place::{StoreArgs, source};
use super::usage::UsageError;
use super::values::{threads, tries};
use super::{Command, VerifyCommand, read};
use crate::retry::RetryPolicy;
use crate::verify::config::VerifyConfig;

/// What the help says beside the flags.
pub const PAGE: Page = Page {
    usage: "Usage: rdump verify SOURCE [FLAGS]",
    examples: "\
Examples:
  rdump verify /backup/today                       is every file there, as it was written?
  rdump verify /backup/today --against -h db1 -p   and are its rows those of the server?
",
    notes: "\
SOURCE is a directory or s3:// URL that rdump or Dumpling wrote to. Without --against it needs no
server.
Exit codes: 0 no difference, 1 could not be told, 2 usage, 4 differs,
129, 130 and 143 stopped by HUP, INT and TERM.
",
};

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(
    name = "rdump verify",
    version,
    disable_help_flag = true,
    disable_version_flag = true
)]
#[command(about = "Proves that a dump is whole, and equal to a server")]
pub struct VerifyArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    way: VerifyWayArgs,
    #[command(flatten)]
    telling: TellingArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// The directory of the dump, or s3://bucket/prefix
    #[arg(value_name = "SOURCE")]
    words: Vec<PathBuf>,
}

/// What to compare.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verify")]
struct VerifyWayArgs {
    /// Compare with the rows of the server, too
    #[arg(long)]
    against: bool,
    /// Compare a dump of one database with this one
    #[arg(short = 'B', long, value_name = "NAME")]
    database: Option<String>,
    /// Files or chunks that are read at the same time
    #[arg(short, long, value_name = "N", default_value = "4", value_parser = threads)]
    threads: usize,
    /// Tries of each chunk, the first included
    #[arg(long, value_name = "N", default_value = "10", value_parser = tries)]
    retries: u32,
}

/// Reads the words of the command.
pub fn parse(words: Vec<OsString>) -> Result<Command, UsageError> {
    read(&PAGE, words, |args: VerifyArgs, defaults| {
        convert(&args, defaults).map(|verify| Command::Verify(Box::new(verify)))
    })
}

impl Connects for VerifyArgs {
    fn connection(&self) -> Option<&ConnectionArgs> {
        self.way.against.then_some(&self.connection)
    }
}

fn convert(args: &VerifyArgs, defaults: Defaults) -> Result<VerifyCommand, UsageError> {
    let way = &args.way;
    let source = source(&args.words, &args.store)?;
    if way.database.is_some() && !way.against {
        return Err(UsageError::new("-B is of no use without --against"));
    }
    let (connection, warnings) = if way.against {
        let warnings = args.connection.warnings(&defaults);
        let connection = Connection::new(&args.connection, defaults, Vec::new())?;
        (Some(connection), warnings)
    } else {
        (None, Vec::new())
    };
    let telling = Telling::new(&args.telling, warnings)?;
    let against = connection.map(Connection::with_password).transpose()?;
    let config = VerifyConfig {
        source,
        against,
        database: way.database.clone(),
        threads: way.threads,
        retry: RetryPolicy::with_attempts(way.retries),
    };
    Ok(VerifyCommand { config, telling })
}
