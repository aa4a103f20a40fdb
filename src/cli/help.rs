//! The text of `--help` and `-?`.
//!
//! Owns the layout: flags under headings, one line each, defaults in brackets. It is made from clap's own list of flags, so
//! that no flag can be missing; clap's layout would need two lines for many.

use clap::{Arg, ArgAction, Command};

/// The column at which explanations begin.
const COLUMN: usize = 39;

/// What the help of a command says beside its flags.
pub struct Page {
    /// How it is called.
    pub usage: &'static str,
    /// Some command lines.
    pub examples: &'static str,
    /// What else there is to know.
    pub notes: &'static str,
}

/// The dump.
pub const DUMP: Page = Page {
    usage: "Usage: rdump [FLAGS]
       rdump load SOURCE [FLAGS]      put a dump back; rdump load --help
       rdump verify SOURCE [FLAGS]    prove that a dump is whole; rdump verify --help
       rdump check [FLAGS]            would this dump run, and how?
       rdump completions bash|zsh|fish, rdump man",
    examples: EXAMPLES,
    notes: OUTCOMES,
};

const EXAMPLES: &str = "\
Examples:
  rdump -h db1 -u backup -p -o /backup/today       every database; asks for the password
  rdump -B shop -t 8 -c zstd                       one database, eight workers, compressed
  rdump -T shop.orders --where 'id > 1000'         some rows of one table
  rdump -f 'shop*.*' -f '!*.tmp_*' --dry-run       what a filter would dump, and how
";

const OUTCOMES: &str = "\
The password comes from -p, --password-command, RDUMP_PASSWORD, MYSQL_PWD or an option file, in this
order. Host, port, user, socket and certificates come from flags, from a URL (mysql://user@host/db),
from option files, and from MYSQL_HOST, MYSQL_TCP_PORT and MYSQL_UNIX_PORT. Option files are
/etc/my.cnf, /etc/mysql/my.cnf and ~/.my.cnf, with the groups [client], [client-server],
[client-mariadb] and [rdump]; in [rdump] every long flag may stand. localhost is a unix socket.
Times are 500ms, 10s, 15m or 1h30m. Sizes are 64KiB, 1MB or 256M (= MiB); -F without a unit is MiB.
Flags without a value may be given one: --no-views=false.
Exit codes: 0 whole, 1 failed, 2 usage, 4 differs, 75 locked by another run,
129, 130 and 143 stopped by HUP, INT and TERM.
";

/// Everything there is to say.
pub fn long_help(page: &Page, command: &Command) -> String {
    let mut text = format!("{}\n\n{}\n", about(command), page.usage);
    let mut heading = None;
    let is_flag = |arg: &&Arg| !arg.is_hide_set() && !arg.is_positional();
    for arg in command.get_arguments().filter(is_flag) {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            text.push_str(&["\n", heading.unwrap_or_default(), ":\n"].concat());
        }
        text.push_str(&line(arg));
    }
    [text.as_str(), "\n", page.examples, "\n", page.notes].concat()
}

/// What most people need.
pub fn short_help(page: &Page, command: &Command) -> String {
    let about = about(command);
    let (usage, examples, name) = (page.usage, page.examples, command.get_name());
    format!("{about}\n\n{usage}\n\n{examples}\n{name} --help lists all flags.\n")
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
    use super::super::flags::DumpArgs;
    use super::super::{command, load, verify};
    use super::*;

    #[test]
    fn every_flag_has_one_line_and_no_line_is_wider_than_100() {
        check(&DUMP, &command::<DumpArgs>(&DUMP));
        check(&load::PAGE, &command::<load::LoadArgs>(&load::PAGE));
        check(&verify::PAGE, &command::<verify::VerifyArgs>(&verify::PAGE));
    }

    fn check(page: &Page, command: &Command) {
        let help = long_help(page, command);
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        let is_flag = |arg: &&Arg| !arg.is_hide_set() && !arg.is_positional();
        for arg in command.get_arguments().filter(is_flag) {
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
