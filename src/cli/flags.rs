//! The flags of a dump, exactly as typed.
//!
//! Owns names, letters, help lines and defaults, and the checks of single values. What the flags mean together `dump.rs` and
//! `connection.rs` decide. Names and letters are Dumpling's where it has the flag.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser};
use log::LevelFilter;

use super::names::{parse_databases, parse_definer, parse_tables, parse_variables};
use super::output::{LogFormat, ReportFormat};
use super::place::S3Args;
use super::size::{MeasureError, parse_duration, parse_size};
use crate::catalog::ident::ObjectName;
use crate::compress::Compression;
use crate::dump::config::{ConsistencyMode, Definer};
use crate::format::CsvBinary;
use crate::secret::Secret;
use crate::server::TlsMode;

/// Smaller files would cost more than they hold.
const SMALLEST_FILE_BYTES: u64 = 4096;
/// More workers than any server has connections for.
const MOST_THREADS: usize = 1000;

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
    pub s3: S3Args,
    #[command(flatten)]
    pub dumpling: DumplingArgs,
}

/// How to reach the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Server's name or address [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST")]
    pub host: Option<String>,
    /// TCP port [default: 3306]
    #[arg(short = 'P', long, value_name = "PORT", value_parser = port)]
    pub port: Option<u16>,
    /// Account [default: root]
    #[arg(short, long, value_name = "USER")]
    pub user: Option<String>,
    /// Its password, as -pVALUE; -p alone asks for it
    #[arg(short, long, value_name = "VALUE", require_equals = true, value_parser = secret)]
    pub password: Option<Secret>,
    /// What `argv.rs` makes of `-p` alone
    #[arg(long, hide = true)]
    pub ask_password: bool,
    /// Unix socket, instead of host and port
    #[arg(short = 'S', long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Certificate of the CA, PEM
    #[arg(long, alias = "ssl-ca", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Certificate of this client, PEM
    #[arg(long, alias = "ssl-cert", value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Key of this client, PEM
    #[arg(long, alias = "ssl-key", value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// As in mysql [default: PREFERRED, with --ca VERIFY_CA]
    #[arg(long, value_name = "MODE", value_parser = tls_mode)]
    pub ssl_mode: Option<TlsMode>,
    /// Longest wait for the server's next bytes
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = wait)]
    pub read_timeout: Duration,
    /// Longest wait for a connection
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait)]
    pub connect_timeout: Duration,
    /// Longest wait for a query's first row [default: read timeout]
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub first_row_timeout: Option<Duration>,
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
    /// Directory or s3:// URL [default: ./export-<UTC time>]
    #[arg(short, long, value_name = "PLACE")]
    pub output: Option<PathBuf>,
    /// Data files' names [default: {db}.{table}.{chunk}]
    #[arg(long, value_name = "NAME")]
    pub output_filename_template: Option<String>,
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
    /// Connect and plan, print the plan, read no rows
    #[arg(long)]
    pub dry_run: bool,
    /// Print the version
    #[arg(short = 'V', long = "version", action = ArgAction::Version)]
    version: Option<bool>,
    /// Print this help; -? prints less
    #[arg(long = "help", action = ArgAction::Help)]
    help: Option<bool>,
    /// Words without a flag; there must be none
    #[arg(hide = true)]
    pub words: Vec<String>,
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
    /// Never so
    #[arg(long, hide = true)]
    pub allow_cleartext_passwords: bool,
    /// There is no such server
    #[arg(long, hide = true)]
    pub status_addr: Option<String>,
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

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "a port is a number from 1 to 65535".to_owned())
}

/// Cannot fail, but must wrap the text before anything could print it.
#[allow(clippy::unnecessary_wraps)] // clap wants a Result
fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret::new(text))
}

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok();
    threads
        .filter(|threads| (1..=MOST_THREADS).contains(threads))
        .ok_or_else(|| format!("it must be a number from 1 to {MOST_THREADS}"))
}

fn spare_connections(text: &str) -> Result<usize, String> {
    let spare = text.parse().ok();
    spare
        .filter(|spare| *spare <= MOST_THREADS)
        .ok_or_else(|| format!("it must be a number from 0 to {MOST_THREADS}"))
}

fn at_least_one(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it must be a number, at least 1".to_owned())
}

fn tries(text: &str) -> Result<u32, String> {
    let tries = text.parse().ok().filter(|tries| *tries > 0);
    tries.ok_or_else(|| "it must be a number, at least 1: the first try counts".to_owned())
}

fn some_size(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("it must not be 0".to_owned()),
        size => Ok(size),
    }
}

/// Dumpling's rule: a number without a unit is MiB.
fn file_size(text: &str) -> Result<u64, String> {
    let size = match text.parse::<u64>() {
        Ok(mebibytes) => mebibytes.checked_mul(1 << 20).ok_or(MeasureError::TooLarge),
        Err(_) => parse_size(text),
    };
    match size.map_err(|error| error.to_string())? {
        ..SMALLEST_FILE_BYTES => Err("a file must hold at least 4KiB".to_owned()),
        size => Ok(size),
    }
}

/// A limit of a wait: no wait is without end, and none without a beginning.
fn wait(text: &str) -> Result<Duration, String> {
    let wait = parse_duration(text).map_err(|error| error.to_string())?;
    if wait.is_zero() {
        return Err("it must not be 0".to_owned());
    }
    Ok(wait)
}

fn compression(text: &str) -> Result<Compression, String> {
    let text = match text {
        // As Dumpling calls them.
        "" | "no-compression" => "none",
        "gz" => "gzip",
        "zst" => "zstd",
        _ => text,
    };
    text.parse::<Compression>()
        .map_err(|error| format!("{error}; use none, gzip or zstd, with :LEVEL if need be"))
}

/// Text with the escapes that a shell makes hard to type.
fn escaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, (c == '\\').then(|| chars.next()).flatten()) {
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('0')) => out.push('\0'),
            ('\\', Some('\\')) => out.push('\\'),
            ('\\', _) => return Err(r"a backslash needs one of r n t 0 \ behind it".to_owned()),
            _ => out.push(c),
        }
    }
    if out.is_empty() {
        return Err("it must not be empty".to_owned());
    }
    Ok(out)
}

/// Whether a switch is on, in the words of Dumpling, MySQL and people.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" | "on" | "yes" => Ok(true),
        "false" | "f" | "0" | "off" | "no" => Ok(false),
        _ => Err("use true or false".to_owned()),
    }
}

/// The mode of that name, in any case and with `-` for `_`.
pub fn tls_mode(text: &str) -> Result<TlsMode, String> {
    let modes = [
        ("DISABLED", TlsMode::Disabled),
        ("PREFERRED", TlsMode::Preferred),
        ("REQUIRED", TlsMode::Required),
        ("VERIFY_CA", TlsMode::VerifyCa),
        ("VERIFY_IDENTITY", TlsMode::VerifyIdentity),
    ];
    choose(&text.replace('-', "_"), &modes)
}

fn file_type(text: &str) -> Result<FileType, String> {
    choose(text, &[("sql", FileType::Sql), ("csv", FileType::Csv)])
}

fn csv_binary(text: &str) -> Result<CsvBinary, String> {
    let ways = [
        ("hex", CsvBinary::Hex),
        ("base64", CsvBinary::Base64),
        ("raw", CsvBinary::Raw),
    ];
    choose(text, &ways)
}

fn consistency(text: &str) -> Result<ConsistencyMode, String> {
    let modes = [
        ("auto", ConsistencyMode::Auto),
        ("flush", ConsistencyMode::Flush),
        ("snapshot", ConsistencyMode::Snapshot),
        ("lock", ConsistencyMode::Lock),
        ("none", ConsistencyMode::None),
    ];
    choose(text, &modes)
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

fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| format!("use one of {}", names.join(", ")))
}
