//! From what was typed to a [`DumpConfig`]: one conversion, with every check that needs no server.
//!
//! Owns what the flags mean together. Each check ends in one sentence and a hint. Nothing is written but the log file, which
//! is opened here so that a bad one is told before anything else happens; the password is asked for last.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;

use super::DumpCommand;
use super::backup;
use super::condition::{ConditionError, check_condition};
use super::connection::Connection;
use super::defaults::Defaults;
use super::flags::{ConsistencyArgs, DumpArgs, DumplingArgs, OutputArgs, SelectionArgs};
use super::metrics::MetricsFile;
use super::output::Telling;
use super::place::{is_remote, remote_place, shown};
use super::shape::format;
use super::template::{Scope, parse_template};
use super::usage::UsageError;
use crate::backup::series::Series;
use crate::catalog::filter::TableFilter;
use crate::dump::config::{ConsistencyMode, ConsistencyOptions, DumpConfig, Objects, Selection};
use crate::format::{Format, SqlOptions};
use crate::retry::RetryPolicy;
use crate::storage::Location;

/// Databases that hold no data of their own, so that a dump of them makes no sense.
const VIRTUAL_DATABASES: [&str; 4] = [
    "information_schema",
    "performance_schema",
    "metrics_schema",
    "inspection_schema",
];

/// Turns the flags into a command, or says what is wrong with them.
pub fn convert(args: &DumpArgs, defaults: Defaults) -> Result<DumpCommand, UsageError> {
    let mut warnings = args.connection.warnings(&defaults);
    check_left_over_words(&args.output.words)?;
    let selection = selection(&args.selection)?;
    let objects = objects(&args.selection, args.selection.sql.is_some())?;
    let query = query(&args.selection)?;
    let where_clause = where_clause(args.selection.r#where.as_deref())?;
    let format = format(&args.shape, query.is_some(), &mut warnings)?;
    let format = with_history(format, objects.history)?;
    let consistency = consistency(&args.consistency)?;
    let variables = session_variables(args)?;
    let file_name_template = template(&args.output, &selection, query.is_some())?;
    let (output, series) = place(args)?;
    let backup = backup::backup(&args.backup, series)?;
    let watch = backup::watch(&args.backup, query.is_some())?;

    let connection = Connection::new(&args.connection, defaults, variables)?;
    let telling = Telling::new(&args.telling, warnings)?;
    let config = DumpConfig {
        connection: connection.with_password()?,
        selection,
        objects,
        definer: args.selection.definer.clone(),
        where_clause,
        query,
        threads: args.shape.threads,
        chunk_rows: args.shape.rows,
        file_size_bytes: args.shape.filesize,
        format,
        compression: args.shape.compress,
        order_by_primary_key: args.shape.order_by_primary_key,
        consistency,
        output,
        file_name_template,
        retry: RetryPolicy::with_attempts(args.consistency.retries),
        max_rate: args.backup.max_rate,
        watch,
        dry_run: args.output.dry_run,
    };
    Ok(DumpCommand {
        config,
        backup,
        metrics: args.backup.metrics_file.clone().map(MetricsFile::new),
        status: args.backup.status_addr,
        telling,
    })
}

fn check_left_over_words(words: &[String]) -> Result<(), UsageError> {
    let Some(word) = words.first() else {
        return Ok(());
    };
    if word.contains("://") {
        // It may hold a password.
        return Err(UsageError::new("unexpected word that looks like a URL")
            .with_hint("one server is named by mysql://user@host:3306/database"));
    }
    let hint = match word.as_str() {
        "true" | "false" => format!("a switch takes its value after a `=`, as --no-views={word}"),
        _ => match super::near_command(word) {
            Some(command) => {
                format!("did you mean rdump {command}? A database is named by -B {word}")
            }
            None => format!("a database is named by -B {word}, a table by -T db.table"),
        },
    };
    // A URL may hold keys behind its place.
    let word = shown(word);
    Err(UsageError::new(format!("unexpected word `{word}`")).with_hint(hint))
}

fn selection(args: &SelectionArgs) -> Result<Selection, UsageError> {
    let databases: Vec<String> = args.database.concat();
    let tables = args.tables_list.concat();
    if let Some(name) = databases
        .iter()
        .chain(tables.iter().map(|t| &t.database))
        .find(|name| VIRTUAL_DATABASES.contains(&name.to_lowercase().as_str()))
    {
        let sentence = format!("{name} holds no data of its own and cannot be dumped");
        return Err(UsageError::new(sentence));
    }
    if !tables.is_empty() && !args.filter.is_empty() {
        return Err(UsageError::new("-T and -f cannot be used together")
            .with_hint("name tables in the filter, as -f 'db.table'"));
    }
    let outside = |database: &String| !databases.is_empty() && !databases.contains(database);
    if let Some(table) = tables.iter().find(|table| outside(&table.database)) {
        let sentence = format!("-T names {table}, whose database is not among those of -B");
        return Err(UsageError::new(sentence).with_hint("leave out -B, or name it there too"));
    }
    let filter = if args.filter.is_empty() {
        TableFilter::all_but_system()
    } else {
        let parsed = TableFilter::parse(&args.filter, args.case_sensitive);
        parsed.map_err(|error| UsageError::from_error(&error))?
    };
    let named: Vec<&str> = databases
        .iter()
        .map(String::as_str)
        .chain(tables.iter().map(|table| table.database.as_str()))
        .collect();
    let filter = filter.opening(&named);
    Ok(Selection {
        databases,
        tables,
        filter,
    })
}

fn objects(args: &SelectionArgs, query: bool) -> Result<Objects, UsageError> {
    if args.no_data && args.no_schemas {
        return Err(UsageError::new("with -d and -m there is nothing to dump"));
    }
    if args.no_data && query {
        return Err(UsageError::new(
            "with -d and --sql there is nothing to dump",
        ));
    }
    if args.users && (args.no_schemas || query) {
        return Err(UsageError::new(
            "--users needs CREATE statements, which -m and --sql leave out",
        ));
    }
    if args.history && (args.no_data || query) {
        return Err(UsageError::new(
            "--history is about the rows of tables, which -d and --sql leave out",
        ));
    }
    Ok(Objects {
        schemas: !args.no_schemas,
        data: !args.no_data,
        views: !args.no_views,
        triggers: !args.no_triggers,
        routines: !args.no_routines,
        events: !args.no_events,
        sequences: !args.no_sequences,
        users: args.users,
        history: args.history,
    })
}

/// CSV has no place for the setting without which a server refuses past versions of rows.
fn with_history(format: Format, history: bool) -> Result<Format, UsageError> {
    match format {
        Format::Sql(options) => Ok(Format::Sql(SqlOptions { history, ..options })),
        Format::Csv(_) if history => Err(UsageError::new("--history is for SQL files")
            .with_hint("leave out --history or --filetype csv")),
        Format::Csv(_) => Ok(format),
    }
}

fn query(args: &SelectionArgs) -> Result<Option<String>, UsageError> {
    let Some(text) = &args.sql else {
        return Ok(None);
    };
    let rivals = [
        ("-B", !args.database.is_empty()),
        ("-T", !args.tables_list.is_empty()),
        ("-f", !args.filter.is_empty()),
        ("--where", args.r#where.is_some()),
    ];
    if let Some((flag, _)) = rivals.iter().find(|(_, given)| *given) {
        let sentence = format!("--sql and {flag} cannot be used together");
        return Err(UsageError::new(sentence).with_hint("say it in the query"));
    }
    let query = text.trim().trim_end_matches(';').trim_end();
    if query.is_empty() {
        return Err(UsageError::new("--sql is empty"));
    }
    Ok(Some(query.to_owned()))
}

fn where_clause(text: Option<&str>) -> Result<Option<String>, UsageError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let checked = check_condition(text).map_err(|error| {
        let hint = match error {
            ConditionError::Where => "leave out the word WHERE",
            ConditionError::Semicolon => "a condition is no statement; leave out the `;`",
            _ => "quote the whole condition for the shell, as --where 'id > 10'",
        };
        UsageError::new(format!("--where {error}")).with_hint(hint)
    });
    checked.map(Some)
}

fn consistency(args: &ConsistencyArgs) -> Result<ConsistencyOptions, UsageError> {
    let reads_snapshots = matches!(
        args.consistency,
        ConsistencyMode::Auto | ConsistencyMode::Snapshot
    );
    if args.snapshot.is_some() && !reads_snapshots {
        return Err(UsageError::new("--snapshot needs --consistency snapshot"));
    }
    if args
        .snapshot
        .as_deref()
        .is_some_and(|text| text.trim().is_empty())
    {
        return Err(UsageError::new("--snapshot is empty").with_hint("give a TSO or a time"));
    }
    Ok(ConsistencyOptions {
        mode: args.consistency,
        snapshot: args.snapshot.clone(),
        lock_wait_timeout: args.lock_wait_timeout,
        long_query_guard: args.long_query_guard,
        spare_connections: args.spare_connections,
        locked_data_limit_bytes: args.locked_data_limit,
        inconsistent_tables: args.inconsistent_tables,
        backup_lock: args.backup_lock,
    })
}

/// `--params`, and what Dumpling has flags for.
fn session_variables(args: &DumpArgs) -> Result<Vec<(String, String)>, UsageError> {
    let DumplingArgs {
        dump_empty_database,
        transactional_consistency,
        tidb_mem_quota_query,
    } = &args.dumpling;
    if !dump_empty_database {
        return Err(UsageError::new("empty databases are always dumped")
            .with_hint("leave one out by -f '*.*' -f '!db.*'"));
    }
    if !transactional_consistency {
        let sentence = "--transactional-consistency=false is not known here";
        return Err(UsageError::new(sentence).with_hint("use --consistency lock"));
    }
    let mut variables = args.shape.params.concat();
    if let Some(quota) = tidb_mem_quota_query {
        variables.push(("tidb_mem_quota_query".to_owned(), quota.to_string()));
    }
    Ok(variables)
}

fn template(
    args: &OutputArgs,
    selection: &Selection,
    query: bool,
) -> Result<Option<String>, UsageError> {
    let Some(text) = args
        .output_filename_template
        .as_deref()
        .filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    let mut databases: Vec<&str> = selection.databases.iter().map(String::as_str).collect();
    databases.extend(selection.tables.iter().map(|table| table.database.as_str()));
    databases.dedup();
    let scope = match (query, selection.tables.len(), databases.len()) {
        (true, _, _) | (false, 1, _) => Scope::Table,
        (false, _, 1) => Scope::Database,
        (false, _, _) => Scope::Server,
    };
    let parsed = parse_template(text, scope).map_err(|error| {
        UsageError::new(format!("--output-filename-template {error}"))
            .with_hint("use {db}, {table} and {chunk}, as '{db}.{table}.{chunk}'")
    });
    parsed.map(Some)
}

/// Where the dump shall be, and the series of directories that it belongs to.
fn place(args: &DumpArgs) -> Result<(Location, Option<Series>), UsageError> {
    let output = args.output.output.clone();
    let Some(url) = output.filter(|output| is_remote(output)) else {
        let (path, series) = output_directory(&args.output)?;
        return Ok((Location::Directory(path), series));
    };
    let backup = &args.backup;
    for (flag, given) in [
        ("--keep", backup.keep.is_some()),
        ("--latest-link", backup.latest_link.is_some()),
    ] {
        if given {
            let sentence = format!("{flag} is for dumps in directories");
            return Err(UsageError::new(sentence)
                .with_hint("let the bucket's lifecycle rules remove old dumps"));
        }
    }
    // The settings behind the place may be secret, and stay as they are.
    let text = url.to_string_lossy();
    let (place, settings) = text.split_at(shown(&text).len());
    let (place, _) = backup::output_of_run(PathBuf::from(place))?;
    let url = [&place.to_string_lossy(), settings].concat();
    let location = remote_place(Path::new(&url), &args.store, &args.objects)?;
    Ok((location, None))
}

/// The directory, which must be new or empty. A dry run writes nothing and does not look.
fn output_directory(args: &OutputArgs) -> Result<(PathBuf, Option<Series>), UsageError> {
    let path = match &args.output {
        Some(path) => local_path(path)?,
        None => PathBuf::from(format!("./export-{}", file_time())),
    };
    let (path, series) = backup::output_of_run(path)?;
    // Of a series another run may be at work, which the lock is to tell.
    if args.dry_run || series.is_some() {
        return Ok((path, series));
    }
    let unusable = |problem: &str| {
        let sentence = format!("the output {} {problem}", path.display());
        UsageError::new(sentence).with_hint("name a directory that is new or empty")
    };
    match std::fs::read_dir(&path) {
        Ok(mut entries) => match entries.next() {
            None => Ok((path, series)),
            Some(_) => Err(unusable("is not empty")),
        },
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound => Ok((path, series)),
            std::io::ErrorKind::NotADirectory => Err(unusable("is, or goes through, a file")),
            _ => Err(unusable("cannot be read").caused_by(error)),
        },
    }
}

fn local_path(path: &Path) -> Result<PathBuf, UsageError> {
    let text = path.to_string_lossy();
    if text.is_empty() {
        return Err(UsageError::new("-o is empty"));
    }
    if text == "-" {
        return Err(UsageError::new(
            "a dump cannot be written to standard output yet",
        ));
    }
    match text.split_once("://") {
        None => Ok(path.to_owned()),
        Some(("file" | "local", rest)) => Ok(PathBuf::from(rest)),
        Some((scheme, _)) => Err(UsageError::new(format!("cannot write to {scheme}://"))
            .with_hint("use s3://bucket/prefix, or a local directory and copy it from there")),
    }
}

/// The time in UTC without the colons of RFC 3339, which some file systems and many commands take amiss.
fn file_time() -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]-[minute]-[second]Z");
    let now = OffsetDateTime::now_utc();
    now.format(&format)
        .unwrap_or_else(|_| now.unix_timestamp().to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::typed;
    use super::*;
    use crate::catalog::ident::ObjectName;
    use crate::compress::Compression;
    use crate::format::Format;

    fn config(words: &[&str]) -> DumpConfig {
        // What is typed wins over the password of whoever runs the tests.
        let words = [&["--password=x"], words].concat();
        convert(&typed(&words), Defaults::default()).unwrap().config
    }

    #[test]
    fn without_flags_everything_but_the_system_is_dumped_as_sql() {
        let config = config(&[]);
        assert!(config.selection.databases.is_empty() && config.selection.tables.is_empty());
        assert!(config.selection.filter.matches("shop", "orders"));
        assert!(!config.selection.filter.matches("mysql", "user"));
        assert_eq!(
            (config.threads, config.chunk_rows, config.file_size_bytes),
            (4, None, None)
        );
        assert_eq!(config.compression, Compression::None);
        let Format::Sql(sql) = config.format else {
            panic!("not SQL");
        };
        assert_eq!(sql.statement_size_bytes, 1_000_000);
        assert!(sql.escape_backslash && !sql.complete_insert);
        let name = config.output.to_string();
        assert!(
            name.starts_with("./export-20") && name.ends_with('Z'),
            "{name}"
        );
        assert!(!name.contains(':'), "{name}");
    }

    #[test]
    fn a_system_schema_that_is_named_is_dumped() {
        let by_database = config(&["-B", "mysql,shop"]).selection;
        assert!(by_database.filter.matches("mysql", "user"));
        assert!(!by_database.filter.matches("sys", "x"));
        let by_table = config(&["-T", "mysql.user,shop.`a,b`"]).selection;
        assert!(by_table.filter.matches("mysql", "user"));
        assert_eq!(by_table.tables[1], ObjectName::new("shop", "a,b"));
    }

    #[test]
    fn switches_take_values_and_the_last_one_counts() {
        let objects = |words: &[&str]| config(words).objects;
        assert!(!objects(&["-W"]).views);
        assert!(objects(&["--no-views", "-W=false"]).views);
        assert!(!objects(&["--no-events=1"]).events);
        assert!(!config(&["--order-by-primary-key=false"]).order_by_primary_key);
        assert!(config(&["--order-by-primary-key"]).order_by_primary_key);
        assert_eq!(config(&["-t", "8", "-t2"]).threads, 2);
    }

    #[test]
    fn a_query_is_written_as_csv() {
        let config = config(&[
            "--sql",
            " SELECT 1; ",
            "--output-filename-template",
            "r.{{.Index}}",
        ]);
        assert_eq!(config.query.as_deref(), Some("SELECT 1"));
        assert_eq!(config.file_name_template.as_deref(), Some("r.{chunk}"));
        let Format::Csv(csv) = config.format else {
            panic!("not CSV");
        };
        assert_eq!(csv.null_value, b"\\N");
        assert_eq!(csv.line_terminator, b"\r\n");
    }

    #[test]
    fn the_flags_of_dumpling_are_understood() {
        let words = [
            "-F256",
            "-c",
            "no-compression",
            "--status-addr=:8281",
            "--tidb-mem-quota-query=1024",
            "--params",
            "time_zone=+00:00",
            "--dump-empty-database",
            "--loglevel=fatal",
            "-o",
            "local:///nowhere/dump",
        ];
        let command = convert(&typed(&words), Defaults::default()).unwrap();
        assert_eq!(command.telling.warnings.len(), 0);
        assert_eq!(command.status.unwrap().to_string(), "127.0.0.1:8281");
        let config = command.config;
        assert_eq!(config.file_size_bytes, Some(256 << 20));
        assert_eq!(config.output.to_string(), "/nowhere/dump");
        let expected = [("time_zone", "'+00:00'"), ("tidb_mem_quota_query", "1024")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(config.connection.session_variables, expected);
    }

    #[test]
    fn a_dry_run_does_not_look_at_the_output() {
        assert!(config(&["--dry-run", "-o", "/"]).dry_run);
    }

    #[test]
    fn the_debug_text_holds_no_password() {
        let args = typed(&["--password=hunter2"]);
        let command = convert(&args, Defaults::default()).unwrap();
        assert!(!format!("{args:?} {command:?}").contains("hunter2"));
    }
}
