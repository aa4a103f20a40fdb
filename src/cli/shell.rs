//! `rdump completions` and `rdump man`: what a shell and a manual need to know of the flags.
//!
//! Owns the answers, made from the same list of flags as the help, so that none can be missing. Where files go `make install` knows.

use std::ffi::OsString;

use clap::ValueHint;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::flags::DumpArgs;
use super::help::{self, Page};
use super::load::{self, LoadArgs};
use super::usage::UsageError;
use super::verify::{self, VerifyArgs};
use super::{Command, check, command};

const SHELLS: [(&str, Shell); 3] = [
    ("bash", Shell::Bash),
    ("zsh", Shell::Zsh),
    ("fish", Shell::Fish),
];

/// `rdump completions SHELL`.
pub fn completions(words: Vec<OsString>) -> Result<Command, UsageError> {
    let names = SHELLS.map(|(name, _)| name).join(", ");
    let hint = format!("rdump completions SHELL prints a script for one of {names}");
    let words: Vec<OsString> = words.into_iter().skip(1).collect();
    let [word] = words.as_slice() else {
        return Err(UsageError::new("completions are for one shell").with_hint(hint));
    };
    let Some((_, shell)) = SHELLS.iter().find(|(name, _)| word == name) else {
        let sentence = format!("there are no completions for {}", word.to_string_lossy());
        return Err(UsageError::new(sentence).with_hint(hint));
    };
    let mut text = Vec::new();
    generate(*shell, &mut whole(), "rdump", &mut text);
    Ok(answer(text))
}

/// `rdump man [COMMAND]`.
pub fn man(words: Vec<OsString>) -> Result<Command, UsageError> {
    let hint = "rdump man, rdump man load, rdump man verify and rdump man check print a page each";
    let words: Vec<OsString> = words.into_iter().skip(1).collect();
    let (page, command) = match words.as_slice() {
        [] => (&help::DUMP, command::<DumpArgs>(&help::DUMP)),
        [word] if word == "load" => (&load::PAGE, command::<LoadArgs>(&load::PAGE)),
        [word] if word == "verify" => (&verify::PAGE, command::<VerifyArgs>(&verify::PAGE)),
        [word] if word == "check" => (&check::PAGE, command::<DumpArgs>(&check::PAGE)),
        _ => return Err(UsageError::new("there is no such manual page").with_hint(hint)),
    };
    let written = manual(page, command);
    let text = written
        .map_err(|error| UsageError::new("the page could not be written").caused_by(error))?;
    Ok(answer(text))
}

fn answer(text: Vec<u8>) -> Command {
    // It was made of texts.
    Command::Answer(String::from_utf8(text).unwrap_or_default())
}

/// All commands as one.
fn whole() -> clap::Command {
    let sub = |name: &'static str, command: clap::Command| with_hints(command).name(name);
    let of_shells = SHELLS.map(|(name, _)| name);
    with_hints(command::<DumpArgs>(&help::DUMP))
        .subcommand(sub("load", command::<LoadArgs>(&load::PAGE)))
        .subcommand(sub("verify", command::<VerifyArgs>(&verify::PAGE)))
        .subcommand(sub("check", command::<DumpArgs>(&check::PAGE)))
        .subcommand(
            clap::Command::new("completions").arg(clap::Arg::new("shell").value_parser(of_shells)),
        )
        .subcommand(clap::Command::new("man"))
}

/// Tells the shell which values are paths, by the words that the help has for them.
fn with_hints(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let hint = match arg.get_value_names().and_then(|names| names.first()) {
            Some(name) if name == "FILE" || name == "PATH" => ValueHint::FilePath,
            Some(name) if name == "DIR" || name == "SOURCE" => ValueHint::DirPath,
            Some(name) if name == "COMMAND" => ValueHint::CommandString,
            Some(name) if name == "HOST" => ValueHint::Hostname,
            _ => return arg,
        };
        arg.value_hint(hint)
    })
}

fn manual(page: &Page, command: clap::Command) -> std::io::Result<Vec<u8>> {
    let title = command.get_name().replace(' ', "-");
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let man = Man::new(command)
        .title(&title)
        .source("rdump")
        .manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    let usage = page.usage.trim_start_matches("Usage: ");
    for (heading, lines) in [
        ("NAME", &*format!("{title} - {about}")),
        ("SYNOPSIS", usage),
    ] {
        section(&mut text, heading, lines);
    }
    man.render_options_section(&mut text)?;
    section(
        &mut text,
        "EXAMPLES",
        page.examples.trim_start_matches("Examples:\n"),
    );
    section(&mut text, "NOTES", page.notes);
    let others =
        "rdump(1), rdump-load(1), rdump-verify(1), rdump-check(1), mysqldump(1), mariadb-dump(1)";
    section(&mut text, "SEE ALSO", others);
    Ok(text)
}

/// Lines as they are; a point or quote at their beginning would be a command, and a backslash an escape.
fn section(text: &mut Vec<u8>, heading: &str, lines: &str) {
    text.extend(format!(".SH {heading}\n.nf\n").bytes());
    for line in lines.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        text.extend(format!("{guard}{line}\n").bytes());
    }
    text.extend(b".fi\n");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn text(command: Result<Command, UsageError>) -> String {
        match command.unwrap() {
            Command::Answer(text) => text,
            other => panic!("{other:?}"),
        }
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        let words = [&["rdump"], words].concat();
        words.into_iter().map(OsString::from).collect()
    }

    #[test]
    fn every_flag_is_in_completions_and_manual() {
        for shell in ["bash", "zsh", "fish"] {
            let script = text(completions(words(&[shell])));
            let manual = text(man(words(&[])));
            for arg in DumpArgs::command()
                .get_arguments()
                .filter(|arg| !arg.is_hide_set())
            {
                let Some(long) = arg.get_long() else { continue };
                assert!(script.contains(long), "{shell}: {long}");
                assert!(manual.contains(&long.replace('-', "\\-")), "{long}");
            }
        }
    }

    #[test]
    fn what_there_is_not_is_told() {
        for (made, hint) in [
            (completions(words(&[])), "bash, zsh, fish"),
            (completions(words(&["csh"])), "bash, zsh, fish"),
            (man(words(&["dump"])), "rdump man load"),
        ] {
            assert!(made.unwrap_err().hint().unwrap().contains(hint));
        }
    }
}
