//! The text of `--help` and `-?`.
//!
//! Owns the layout: flags under headings, one line each, defaults in brackets. It is made from clap's own list of flags, so
//! that no flag can be missing; clap's layout would need two lines for many.

use clap::{Arg, ArgAction, Command};

/// The column at which explanations begin.
const COLUMN: usize = 39;

const USAGE: &str = "Usage: rdump [FLAGS]";

const EXAMPLES: &str = "\
Examples:
  rdump -h db1 -u backup -p -o /backup/today       every database; asks for the password
  rdump -B shop -t 8 -c zstd                       one database, eight workers, compressed
  rdump -T shop.orders --where 'id > 1000'         some rows of one table
  rdump -f 'shop*.*' -f '!*.tmp_*' --dry-run       what a filter would dump, and how
";

const OUTCOMES: &str = "\
The password comes from -p, RDUMP_PASSWORD, MYSQL_PWD or ~/.my.cnf, in this order; host, port, user,
socket and certificates from flags, then from the groups [client] and [rdump] of ~/.my.cnf.
Times are 500ms, 10s, 15m or 1h30m. Sizes are 64KiB, 1MB or 256M (= MiB); -F without a unit is MiB.
Flags without a value may be given one: --no-views=false.
Exit codes: 0 whole, 1 failed, 2 usage, 4 differs, 75 locked by another run,
129, 130 and 143 stopped by HUP, INT and TERM.
";

/// Everything there is to say.
pub fn long_help(command: &Command) -> String {
    let mut text = format!("{}\n\n{USAGE}\n", about(command));
    let mut heading = None;
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            text.push_str(&["\n", heading.unwrap_or_default(), ":\n"].concat());
        }
        text.push_str(&line(arg));
    }
    [text.as_str(), "\n", EXAMPLES, "\n", OUTCOMES].concat()
}

/// What most people need.
pub fn short_help(command: &Command) -> String {
    let about = about(command);
    format!("{about}\n\n{USAGE}\n\n{EXAMPLES}\nrdump --help lists all flags.\n")
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn line(arg: &Arg) -> String {
    let mut left = match arg.get_short() {
        Some(letter) => format!("  -{letter}, "),
        None => "      ".to_owned(),
    };
    left.push_str("--");
    left.push_str(arg.get_long().unwrap_or_default());
    let default = arg.get_default_values().first();
    let default = default.map(|value| value.to_string_lossy());
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let names = arg.get_value_names().filter(|_| takes_value);
    if let Some(name) = names.and_then(|names| names.first()) {
        match (arg.is_require_equals_set(), default.as_deref()) {
            (false, _) => left.push_str(&[" ", name.as_str()].concat()),
            // A switch that is off by default is turned on by its name alone.
            (true, Some("false")) => {}
            (true, _) => left.push_str(&["[=", name.as_str(), "]"].concat()),
        }
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let default = match default.as_deref() {
        None | Some("false") => String::new(),
        Some(default) => format!(" [default: {default}]"),
    };
    format!("{left:COLUMN$}{help}{default}\n")
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn every_flag_has_one_line_and_no_line_is_wider_than_100() {
        let help = long_help(&command());
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        for arg in command().get_arguments().filter(|arg| !arg.is_hide_set()) {
            let flag = format!("--{}", arg.get_long().unwrap_or_default());
            let names = |line: &&str| {
                let name = line.get(6..COLUMN).unwrap_or_default();
                name.split([' ', '[']).next() == Some(flag.as_str())
            };
            let lines: Vec<_> = help.lines().filter(names).collect();
            assert_eq!(lines.len(), 1, "{flag}: {lines:?}");
        }
    }
}
