//! The command line, seen from outside: what it refuses, what it answers, and that it keeps secrets.
//!
//! Nothing here reaches a server: every refusal must come before the first connection.

#![allow(clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs rdump in a directory that is also its home, without anything of the caller's environment.
fn rdump(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().expect("rdump runs")
}

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdump"));
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory for the test");
    fs::write(home.path().join("file"), "").expect("a file");
    fs::create_dir(home.path().join("full")).expect("a directory");
    fs::write(home.path().join("full/x"), "").expect("a file");
    home
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts exit code 2, the sentence, the hint (empty for none), a silent standard output, and that nothing was written.
fn refused(args: &[&str], sentence: &str, hint: &str) {
    let home = home();
    let output = rdump(home.path(), args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    let mut lines = stderr.lines();
    let expected = format!("error: {sentence}");
    assert_eq!(lines.next(), Some(expected.as_str()), "{args:?}");
    let said = lines.find_map(|line| line.strip_prefix("  hint: "));
    assert_eq!(said.unwrap_or_default(), hint, "{args:?}");
    let entries = fs::read_dir(home.path()).expect("the home").count();
    assert_eq!(entries, 2, "{args:?} wrote something");
}

#[test]
fn impossible_values_are_refused() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["--threads", "0"],
            "invalid value `0` for --threads: it must be a number from 1 to 1000",
        ),
        (
            &["-t1001"],
            "invalid value `1001` for --threads: it must be a number from 1 to 1000",
        ),
        (
            &["-r", "0"],
            "invalid value `0` for --rows: it must be a number, at least 1",
        ),
        (
            &["-F", "5x"],
            "invalid value `5x` for --filesize: a size is a number with a unit, as 64KiB, 1MB or 256M",
        ),
        (
            &["-F", "0"],
            "invalid value `0` for --filesize: a file must hold at least 4KiB",
        ),
        (
            &["-F", "1KiB"],
            "invalid value `1KiB` for --filesize: a file must hold at least 4KiB",
        ),
        (
            &["-s0"],
            "invalid value `0` for --statement-size: it must not be 0",
        ),
        (
            &["--csv-separator="],
            "invalid value `` for --csv-separator: it must not be empty",
        ),
        (
            &["--csv-line-terminator=\\x"],
            "invalid value `\\x` for --csv-line-terminator: a backslash needs one of r n t 0 \\ behind it",
        ),
        (
            &["--filetype", "xml"],
            "invalid value `xml` for --filetype: use one of sql, csv",
        ),
        (
            &["--read-timeout", "0"],
            "invalid value `0` for --read-timeout: it must not be 0",
        ),
        (
            &["--consistency=x"],
            "invalid value `x` for --consistency: use one of auto, flush, snapshot, lock, none",
        ),
        (
            &["-P", "0"],
            "invalid value `0` for --port: a port is a number from 1 to 65535",
        ),
        (
            &["--ssl-mode=on"],
            "invalid value `on` for --ssl-mode: use one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY",
        ),
        (
            &["--no-views=maybe"],
            "invalid value `maybe` for --no-views: use true or false",
        ),
        (
            &["-T", "orders"],
            "invalid value `orders` for --tables-list: it has `orders`, which names no database; write db.table",
        ),
        (
            &["-B", "a,,b"],
            "invalid value `a,,b` for --database: it has an empty name",
        ),
        (
            &["--params", "x"],
            "invalid value `x` for --params: it has `x`, which is not of the form name=value",
        ),
        (
            &["--retries=0"],
            "invalid value `0` for --retries: it must be a number, at least 1: the first try counts",
        ),
        (
            &["-B", "information_schema"],
            "information_schema holds no data of its own and cannot be dumped",
        ),
    ];
    for (args, sentence) in cases {
        refused(args, sentence, "");
    }
}

#[test]
fn an_unknown_compression_is_refused() {
    let output = rdump(home().path(), &["-c", "lzma"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("error: invalid value `lzma` for --compress: "),
        "{stderr}"
    );
}

#[test]
fn unknown_flags_and_left_over_words_are_refused_with_a_way_out() {
    refused(
        &["--thread", "4"],
        "unknown flag --thread",
        "did you mean --threads?",
    );
    refused(
        &["--single-transaction"],
        "unknown flag --single-transaction",
        "the default --consistency auto gives one point in time",
    );
    refused(&["-Z"], "unknown flag -Z", "rdump --help lists all flags");
    refused(
        &["-B"],
        "--database needs a value",
        "rdump --help lists all flags",
    );
    refused(
        &["shop"],
        "unexpected word `shop`",
        "a database is named by -B shop, a table by -T db.table",
    );
    refused(
        &["--no-views", "false"],
        "unexpected word `false`",
        "a switch takes its value after a `=`, as --no-views=false",
    );
    refused(
        &["-S", "SELECT 1"],
        "-S is the unix socket, not a query",
        "use --sql",
    );
}

#[test]
fn conditions_that_cannot_stand_in_brackets_are_refused() {
    let quote = "quote the whole condition for the shell, as --where 'id > 10'";
    refused(
        &["--where", "(a=1"],
        "--where has a bracket that is never closed",
        quote,
    );
    refused(
        &["--where", "a=1) OR (1"],
        "--where closes a bracket that it did not open",
        quote,
    );
    refused(
        &["--where", "a='x"],
        "--where has a ' that is never closed",
        quote,
    );
    refused(&["--where", "-- x"], "--where is empty", quote);
    refused(
        &["--where", "a=1;"],
        "--where has a `;`",
        "a condition is no statement; leave out the `;`",
    );
    refused(
        &["--where", "WHERE a=1"],
        "--where begins with the word WHERE",
        "leave out the word WHERE",
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    refused(
        &["--snapshot", "1", "--consistency", "flush"],
        "--snapshot needs --consistency snapshot",
        "",
    );
    refused(&["-d", "-m"], "with -d and -m there is nothing to dump", "");
    for (flag, value) in [
        ("-B", "a"),
        ("-T", "a.b"),
        ("-f", "a.*"),
        ("--where", "a=1"),
    ] {
        refused(
            &["--sql", "SELECT 1", flag, value],
            &format!("--sql and {flag} cannot be used together"),
            "say it in the query",
        );
    }
    for (flag, value) in [
        ("--csv-separator", ";"),
        ("--csv-delimiter", "'"),
        ("--csv-null-value", "x"),
        ("--csv-line-terminator", "\\n"),
        ("--csv-binary", "raw"),
    ] {
        refused(
            &["--filetype", "sql", flag, value],
            &format!("{flag} is of no use in SQL files"),
            "add --filetype csv",
        );
    }
    refused(
        &["-T", "a.b", "-f", "a.*"],
        "-T and -f cannot be used together",
        "name tables in the filter, as -f 'db.table'",
    );
    refused(
        &["-B", "x", "-T", "a.b"],
        "-T names `a`.`b`, whose database is not among those of -B",
        "leave out -B, or name it there too",
    );
    refused(
        &["--output-filename-template", "{db}.{table}"],
        "--output-filename-template has no {chunk}, so that two files would get the same name",
        "use {db}, {table} and {chunk}, as '{db}.{table}.{chunk}'",
    );
}

#[test]
fn filters_are_refused_with_the_place_of_the_error() {
    refused(
        &["-f", "a.b c"],
        "the filter `a.b c`: unexpected `c` after the table pattern at character 5",
        "",
    );
    refused(
        &["-f", "/(/.b"],
        "the filter `/(/.b`: the pattern is no regular expression (unclosed group) at character 1",
        "",
    );
    refused(
        &["-f", "@nowhere"],
        "cannot read the filter file nowhere",
        "",
    );
}

#[test]
fn paths_that_cannot_be_used_are_refused() {
    let hint = "name a directory that is new or empty";
    refused(
        &["-o", "file"],
        "the output file is, or goes through, a file",
        hint,
    );
    refused(
        &["-o", "file/x"],
        "the output file/x is, or goes through, a file",
        hint,
    );
    refused(&["-o", "full"], "the output full is not empty", hint);
    refused(
        &["-o", "gs://bucket/x"],
        "cannot write to gs://",
        "use s3://bucket/prefix, or a local directory and copy it from there",
    );
    refused(&["--ca", "nowhere"], "cannot read --ca nowhere", "");
    refused(
        &["--cert", "full"],
        "--cert full is a directory, not a file",
        "",
    );
    refused(
        &["--key", "file"],
        "--key needs --cert",
        "a client shows its certificate together with the key",
    );
    refused(
        &["-L", "nowhere/log"],
        "cannot write the log file nowhere/log",
        "",
    );
    let output = rdump(home().path(), &["-L", "nowhere/log"]);
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("\n  caused by: No such file or directory"),
        "{stderr}"
    );
}

#[test]
fn a_word_after_a_lone_p_is_no_password_and_is_not_shown() {
    for args in [
        &["-p", "hunter2"][..],
        &["--password", "hunter2"],
        &["-dp", "hunter2"],
    ] {
        let output = rdump(home().path(), args);
        assert_eq!(output.status.code(), Some(2));
        let shown = text(&output.stderr) + &text(&output.stdout);
        assert!(
            shown.contains("the word after -p belongs to no flag"),
            "{shown}"
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let output = rdump(
        home().path(),
        &["-phunter2", "--password=hunter2", "--bogus"],
    );
    assert!(!text(&output.stderr).contains("hunter2"));
}

#[test]
fn a_slip_in_the_option_file_is_told_with_its_line_but_not_its_value() {
    let home = home();
    let path = home.path().join(".my.cnf");
    fs::write(&path, "[client]\nquick\n[rdump]\npasswd=hunter2\n").expect("an option file");
    let output = rdump(home.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("/.my.cnf, line 4: [rdump] does not know `passwd`"),
        "{stderr}"
    );
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn help_lists_every_group_and_default() {
    let output = rdump(home().path(), &["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    let help = text(&output.stdout);
    for heading in [
        "Connection",
        "Selection",
        "Shape",
        "Consistency",
        "Output",
        "Examples",
    ] {
        assert!(help.contains(&format!("\n{heading}:\n")), "{heading}");
    }
    let line = |flag: &str| {
        let flag = format!("--{flag}");
        let names = |line: &&str| line.split([' ', '[']).any(|word| word == flag);
        help.lines().find(names).unwrap_or_default()
    };
    for (flag, default) in [
        ("host", "127.0.0.1"),
        ("port", "3306"),
        ("user", "root"),
        ("ssl-mode", "PREFERRED, with --ca VERIFY_CA"),
        ("read-timeout", "15m"),
        ("connect-timeout", "10s"),
        ("first-row-timeout", "read timeout"),
        ("database", "all but system"),
        ("threads", "4"),
        ("rows", "as many as make about 64 MiB"),
        ("filesize", "one per chunk"),
        ("statement-size", "1MB"),
        ("filetype", "sql; with --sql csv"),
        ("compress", "none"),
        ("escape-backslash", "true"),
        ("csv-separator", ","),
        ("csv-delimiter", "\""),
        ("csv-null-value", "\\N"),
        ("csv-line-terminator", "\\r\\n"),
        ("csv-binary", "hex"),
        ("order-by-primary-key", "true"),
        ("consistency", "auto"),
        ("lock-wait-timeout", "5s"),
        ("long-query-guard", "1s"),
        ("spare-connections", "2"),
        ("locked-data-limit", "64MB"),
        ("retries", "10"),
        ("output", "./export-<UTC time>"),
        ("output-filename-template", "{db}.{table}.{chunk}"),
        ("loglevel", "info"),
        ("logfile", "standard error"),
        ("logfmt", "text"),
    ] {
        let line = line(flag);
        assert!(
            line.ends_with(&format!(" [default: {default}]")),
            "{flag}: {line}"
        );
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn version_and_short_help_are_answers_too() {
    let version = rdump(home().path(), &["-V"]);
    assert_eq!(
        text(&version.stdout),
        concat!("rdump ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let short = rdump(home().path(), &["-?"]);
    assert_eq!(short.status.code(), Some(0));
    assert!(text(&short.stdout).lines().count() < 20);
}

#[test]
fn a_reader_that_went_away_is_answered_with_1_and_silence() {
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = command(home().path(), &["--help"]).stdout(full).output();
    let output = output.expect("rdump runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
}
