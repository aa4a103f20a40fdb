//! The flags of a dump, exactly as typed.
//!
//! Owns names, letters, help lines and defaults. What one value means `values.rs` knows, what the flags mean together `dump.rs` and
//! `backup.rs` decide. The flags that every command has are in `connection.rs` and `output.rs`. Names and letters are Dumpling's
//! where it has the flag.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser};

use super::connection::{ConnectionArgs, Connects};
use super::names::{parse_databases, parse_definer, parse_tables, parse_variables};
use super::output::TellingArgs;
use super::place::{ObjectArgs, StoreArgs};
use super::size::{parse_duration, parse_size};
use super::values::{
    at_least_one, compression, conditions, consistency, csv_binary, escaped, file_size, file_type,
    keep, rate, some_size, spare_connections, status_address, threads, tries, wait,
};
use crate::backup::retention::Keep;
use crate::catalog::ident::ObjectName;
use crate::compress::Compression;
use crate::dump::config::{Condition, ConsistencyMode, Definer};
use crate::format::CsvBinary;

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(
    name = "rdump",
    version,
    disable_help_flag = true,
    disable_version_flag = true
)]
#[command(about = "Dumps MySQL, MariaDB and TiDB in parallel, at one point in time")]
pub struct DumpArgs {
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub shape: ShapeArgs,
    #[command(flatten)]
    pub consistency: ConsistencyArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub backup: BackupArgs,
    #[command(flatten)]
    pub telling: TellingArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub objects: ObjectArgs,
    #[command(flatten)]
    pub dumpling: DumplingArgs,
}

impl Connects for DumpArgs {
    fn connection(&self) -> Option<&ConnectionArgs> {
        Some(&self.connection)
    }
}

/// What to dump.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
#[allow(clippy::struct_excessive_bools)] // they are the flags
pub struct SelectionArgs {
    /// Only these databases; comma list [default: all but system]
    #[arg(short = 'B', long, value_name = "NAMES", value_parser = parse_databases)]
    pub database: Vec<Vec<String>>,
    /// Only these tables, as db.table; comma list
    #[arg(short = 'T', long, value_name = "NAMES", value_parser = parse_tables)]
    pub tables_list: Vec<Vec<ObjectName>>,
    /// Table filter: 'db.t*', '!db.t', /regex/./regex/, @file
    #[arg(short, long, value_name = "RULES", allow_hyphen_values = true)]
    pub filter: Vec<String>,
    /// Filters heed upper and lower case
    #[arg(long)]
    pub case_sensitive: bool,
    /// Only rows that meet this condition, in every table
    #[arg(long, value_name = "SQL", allow_hyphen_values = true)]
    pub r#where: Option<String>,
    /// Dump the result of a query, as CSV, instead of tables
    #[arg(long, value_name = "SQL", allow_hyphen_values = true)]
    pub sql: Option<String>,
    /// No rows
    #[arg(short = 'd', long)]
    pub no_data: bool,
    /// No CREATE statements
    #[arg(short = 'm', long)]
    pub no_schemas: bool,
    /// No views
    #[arg(short = 'W', long)]
    pub no_views: bool,
    /// No triggers
    #[arg(long)]
    pub no_triggers: bool,
    /// No procedures, functions and packages
    #[arg(long)]
    pub no_routines: bool,
    /// No events
    #[arg(long)]
    pub no_events: bool,
    /// No sequences
    #[arg(long)]
    pub no_sequences: bool,
    /// Accounts, roles and grants too
    #[arg(long)]
    pub users: bool,
    /// MariaDB: past versions of versioned rows too
    #[arg(long)]
    pub history: bool,
    /// Definers: keep, skip or USER@HOST
    #[arg(long, value_name = "WHOSE", default_value = "keep", value_parser = parse_definer)]
    pub definer: Definer,
}

/// How the files look.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shape")]
#[allow(clippy::struct_excessive_bools)] // they are the flags
pub struct ShapeArgs {
    /// Workers, each with a connection
    #[arg(short, long, value_name = "N", default_value = "4", value_parser = threads)]
    pub threads: usize,
    /// Rows in a chunk [default: as many as make about 64 MiB]
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    pub rows: Option<u64>,
    /// Begin a new file after this size [default: one per chunk]
    #[arg(short = 'F', long, value_name = "SIZE", value_parser = file_size)]
    pub filesize: Option<u64>,
    /// Begin a new INSERT after this size
    #[arg(short, long, value_name = "SIZE", default_value = "1MB", value_parser = some_size)]
    pub statement_size: u64,
    /// sql or csv [default: sql; with --sql csv]
    #[arg(long, value_name = "TYPE", value_parser = file_type)]
    pub filetype: Option<FileType>,
    /// none, gzip or zstd, with :LEVEL if need be
    #[arg(short, long, value_name = "HOW", default_value = "none", value_parser = compression)]
    pub compress: Compression,
    /// Name the columns in every INSERT
    #[arg(long)]
    pub complete_insert: bool,
    /// Escape by backslash; =false doubles quotes
    #[arg(long, default_value = "true", action = ArgAction::Set)]
    pub escape_backslash: bool,
    /// CSV: between two values [default: ,]
    #[arg(long, value_name = "TEXT", value_parser = escaped, allow_hyphen_values = true)]
    pub csv_separator: Option<String>,
    /// CSV: around text; may be empty [default: "]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub csv_delimiter: Option<String>,
    /// CSV: for NULL [default: \N]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub csv_null_value: Option<String>,
    /// CSV: after each row; takes \r \n \t \0 \\ [default: \r\n]
    #[arg(long, value_name = "TEXT", value_parser = escaped, allow_hyphen_values = true)]
    pub csv_line_terminator: Option<String>,
    /// CSV: binary as hex, base64 or raw [default: hex]
    #[arg(long, value_name = "HOW", value_parser = csv_binary)]
    pub csv_binary: Option<CsvBinary>,
    /// CSV: no line with the columns' names
    #[arg(long)]
    pub no_header: bool,
    /// Rows in the order of the key
    #[arg(long, default_value = "true", action = ArgAction::Set)]
    pub order_by_primary_key: bool,
    /// Session variables, as name=value; comma list
    #[arg(long, value_name = "LIST", value_parser = parse_variables)]
    pub params: Vec<Vec<(String, String)>>,
}

/// How all tables are read at one point in time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Consistency")]
pub struct ConsistencyArgs {
    /// auto, flush, snapshot, lock or none
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = consistency)]
    pub consistency: ConsistencyMode,
    /// TiDB: the TSO or time to read at
    #[arg(long, value_name = "WHEN")]
    pub snapshot: Option<String>,
    /// Longest wait of one lock request
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wait)]
    pub lock_wait_timeout: Duration,
    /// MySQL: no global lock beside older queries
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub long_query_guard: Duration,
    /// Connections that can take over for a broken one
    #[arg(long, value_name = "N", default_value = "2", value_parser = spare_connections)]
    pub spare_connections: usize,
    /// Most MyISAM data to read under the lock
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = parse_size)]
    pub locked_data_limit: u64,
    /// Dump MyISAM and alike even if they change meanwhile
    #[arg(long)]
    pub inconsistent_tables: bool,
    /// MySQL: keep LOCK INSTANCE FOR BACKUP to the end
    #[arg(long)]
    pub backup_lock: bool,
    /// Tries of each chunk, the first included
    #[arg(long, value_name = "N", default_value = "10", value_parser = tries)]
    pub retries: u32,
}

/// Where files, logs and reports go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Directory or s3:// URL; {date} [default: ./export-<UTC time>]
    #[arg(short, long, value_name = "PLACE")]
    pub output: Option<PathBuf>,
    /// Data files' names [default: {db}.{table}.{chunk}]
    #[arg(long, value_name = "NAME")]
    pub output_filename_template: Option<String>,
    /// Connect and plan, print the plan, read no rows
    #[arg(long)]
    pub dry_run: bool,
    /// Words without a flag; there must be none
    #[arg(hide = true)]
    pub words: Vec<String>,
}

/// For a dump that is made again and again.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backup")]
pub struct BackupArgs {
    /// Dumps of this job to keep: a number, or an age as 14d
    #[arg(long, value_name = "N|AGE", value_parser = keep)]
    pub keep: Option<Keep>,
    /// Have this symbolic link lead to the new dump
    #[arg(long, value_name = "PATH")]
    pub latest_link: Option<PathBuf>,
    /// Held while running [default: one per job, with {date} in -o]
    #[arg(long, value_name = "FILE")]
    pub lock_file: Option<PathBuf>,
    /// Write the outcome for Prometheus' textfile collector
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    /// Answer /metrics and /status; :PORT is of loopback
    #[arg(long, value_name = "ADDRESS", value_parser = status_address)]
    pub status_addr: Option<SocketAddr>,
    /// Most bytes in a second, before compression
    #[arg(long, value_name = "SIZE", value_parser = rate)]
    pub max_rate: Option<u64>,
    /// Pause while so, as 'Threads_running>40'; comma list
    #[arg(long, value_name = "CONDITIONS", value_parser = conditions)]
    pub throttle: Vec<Vec<Condition>>,
    /// Pause while this replica is further behind
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_replica_lag: Option<Duration>,
    /// End when less is free; 0 does not even look before
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub min_free_space: Option<u64>,
}

/// Flags of Dumpling that mean something else here, or nothing.
#[derive(Debug, Args)]
pub struct DumplingArgs {
    /// Always so
    #[arg(long, hide = true, default_value = "true", action = ArgAction::Set)]
    pub dump_empty_database: bool,
    /// Always so
    #[arg(long, hide = true, default_value = "true", action = ArgAction::Set)]
    pub transactional_consistency: bool,
    /// A session variable
    #[arg(long, hide = true)]
    pub tidb_mem_quota_query: Option<u64>,
}

/// The type of data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// INSERT statements.
    Sql,
    /// Comma-separated values.
    Csv,
}
