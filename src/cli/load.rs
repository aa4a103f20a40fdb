//! `rdump load`: its flags, and from them to a [`LoadConfig`].
//!
//! Owns names, help lines and defaults, and every check that needs no server. What a load does it leaves to `load/`.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::connection::{Connection, ConnectionArgs, Connects};
use super::defaults::Defaults;
use super::help::Page;
use super::names::{parse_tables, parse_variables};
use super::output::{Telling, TellingArgs};
use super::place::{StoreArgs, source};
use super::usage::UsageError;
use super::values::{choose, some_size, threads, tries};
use super::{Command, LoadCommand, read};
use crate::catalog::filter::TableFilter;
use crate::catalog::ident::ObjectName;
use crate::load::config::{Existing, LoadConfig};
use crate::retry::RetryPolicy;

/// What the help says beside the flags.
pub const PAGE: Page = Page {
    usage: "Usage: rdump load SOURCE [FLAGS]",
    examples: "\
Examples:
  rdump load /backup/today -h db2 -u root -p       everything, into databases of the same names
  rdump load dump --database shop_copy             a dump of one database, under another name
  rdump load dump -T shop.orders --existing drop   one table, made anew
",
    notes: "\
SOURCE is a directory or s3:// URL that rdump or Dumpling wrote to. The same command goes on with a
load that was interrupted. Sizes and times are written as for rdump itself; see rdump --help.
Exit codes: 0 loaded, 1 failed, 2 usage, 129, 130 and 143 stopped by HUP, INT and TERM.
",
};

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(
    name = "rdump load",
    version,
    disable_help_flag = true,
    disable_version_flag = true
)]
#[command(about = "Puts a dump back into MySQL, MariaDB or TiDB, in parallel")]
pub struct LoadArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    selection: LoadSelectionArgs,
    #[command(flatten)]
    way: LoadWayArgs,
    #[command(flatten)]
    telling: TellingArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// The directory of the dump, or s3://bucket/prefix
    #[arg(value_name = "SOURCE")]
    words: Vec<PathBuf>,
}

/// What to load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
#[allow(clippy::struct_excessive_bools)] // they are the flags
struct LoadSelectionArgs {
    /// Load a dump of one database into this one
    #[arg(short = 'B', long, value_name = "NAME")]
    database: Option<String>,
    /// Only these tables, as db.table; comma list
    #[arg(short = 'T', long, value_name = "NAMES", value_parser = parse_tables)]
    tables_list: Vec<Vec<ObjectName>>,
    /// Table filter: 'db.t*', '!db.t', /regex/./regex/, @file
    #[arg(short, long, value_name = "RULES", allow_hyphen_values = true)]
    filter: Vec<String>,
    /// Filters heed upper and lower case
    #[arg(long)]
    case_sensitive: bool,
    /// No rows
    #[arg(short = 'd', long)]
    no_data: bool,
    /// No CREATE statements: the tables must be there
    #[arg(short = 'm', long)]
    no_schemas: bool,
    /// Accounts, roles and grants too
    #[arg(long)]
    users: bool,
}

/// How to load it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
#[allow(clippy::struct_excessive_bools)] // they are the flags
struct LoadWayArgs {
    /// Workers, each with a connection
    #[arg(short, long, value_name = "N", default_value = "4", value_parser = threads)]
    threads: usize,
    /// If there already: fail, skip, drop, truncate
    #[arg(long, value_name = "HOW", default_value = "fail", value_parser = existing)]
    existing: Existing,
    /// Begin a new transaction after this size
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = some_size)]
    max_transaction_size: u64,
    /// Make secondary indexes and foreign keys after the rows
    #[arg(long)]
    defer_indexes: bool,
    /// Keep the load out of the target's binlog
    #[arg(long)]
    skip_binlog: bool,
    /// Set the target's GTID state from the dump, to seed a replica
    #[arg(long)]
    set_gtid: bool,
    /// Session variables, as name=value; comma list
    #[arg(long, value_name = "LIST", value_parser = parse_variables)]
    set: Vec<Vec<(String, String)>>,
    /// Database of the table rdump_checkpoint [default: the first]
    #[arg(long, value_name = "NAME")]
    checkpoint_db: Option<String>,
    /// Forget an interrupted load and start over
    #[arg(long)]
    restart: bool,
    /// Load into tables that have triggers, which then fire
    #[arg(long)]
    with_triggers: bool,
    /// Run whatever the files hold
    #[arg(long)]
    trust: bool,
    /// Tries of each piece, the first included
    #[arg(long, value_name = "N", default_value = "10", value_parser = tries)]
    retries: u32,
}

/// Reads the words of the command.
pub fn parse(words: Vec<OsString>) -> Result<Command, UsageError> {
    read(&PAGE, words, |args: LoadArgs, defaults| {
        convert(&args, defaults).map(|load| Command::Load(Box::new(load)))
    })
}

impl Connects for LoadArgs {
    fn connection(&self) -> Option<&ConnectionArgs> {
        Some(&self.connection)
    }
}

fn convert(args: &LoadArgs, defaults: Defaults) -> Result<LoadCommand, UsageError> {
    let (selection, way) = (&args.selection, &args.way);
    let source = source(&args.words, &args.store)?;
    if selection.no_data && selection.no_schemas {
        return Err(UsageError::new("with -d and -m there is nothing to load"));
    }
    if selection.no_schemas && selection.users {
        return Err(UsageError::new(
            "--users needs CREATE statements, which -m leaves out",
        ));
    }
    if way.defer_indexes && matches!(way.existing, Existing::Skip | Existing::Truncate) {
        let sentence = "--defer-indexes is for tables that are made anew";
        return Err(UsageError::new(sentence).with_hint("use --existing drop, or leave it out"));
    }
    if way.defer_indexes && selection.no_schemas {
        return Err(UsageError::new(
            "--defer-indexes and -m cannot be used together",
        ));
    }
    let tables = selection.tables_list.concat();
    if !tables.is_empty() && !selection.filter.is_empty() {
        return Err(UsageError::new("-T and -f cannot be used together")
            .with_hint("name tables in the filter, as -f 'db.table'"));
    }
    let filter = if selection.filter.is_empty() {
        TableFilter::all_but_system()
    } else {
        TableFilter::parse(&selection.filter, selection.case_sensitive)
            .map_err(|error| UsageError::from_error(&error))?
    };
    let named: Vec<&str> = tables.iter().map(|table| table.database.as_str()).collect();
    let filter = filter.opening(&named);
    let warnings = args.connection.warnings(&defaults);
    let connection = Connection::new(&args.connection, defaults, way.set.concat())?;
    let telling = Telling::new(&args.telling, warnings)?;
    let config = LoadConfig {
        connection: connection.with_password()?,
        source,
        threads: way.threads,
        database: selection.database.clone(),
        tables,
        filter,
        existing: way.existing,
        skip_binlog: way.skip_binlog,
        schemas: !selection.no_schemas,
        data: !selection.no_data,
        users: selection.users,
        defer_indexes: way.defer_indexes,
        max_transaction_bytes: way.max_transaction_size,
        checkpoint_database: way.checkpoint_db.clone(),
        restart: way.restart,
        with_triggers: way.with_triggers,
        trust: way.trust,
        set_gtid: way.set_gtid,
        retry: RetryPolicy::with_attempts(way.retries),
    };
    Ok(LoadCommand { config, telling })
}

fn existing(text: &str) -> Result<Existing, String> {
    let ways = [
        ("fail", Existing::Fail),
        ("skip", Existing::Skip),
        ("drop", Existing::Drop),
        ("truncate", Existing::Truncate),
    ];
    choose(text, &ways)
}
