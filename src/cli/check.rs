//! `rdump check`: the flags of a dump, looked at instead of run.
//!
//! Owns what its help says. The flags are those of the dump, so that the line of a crontab needs one word more to be tried.

use std::ffi::OsString;

use super::flags::DumpArgs;
use super::help::Page;
use super::usage::UsageError;
use super::{Command, dump, read, with_url};

/// What the help says beside the flags.
pub const PAGE: Page = Page {
    usage: "Usage: rdump check [FLAGS OF A DUMP]",
    examples: "\
Examples:
  rdump check -h db1 -u backup -p -o /backup/today   would this dump run, and how?
",
    notes: "\
Connects, takes the locks and the snapshot of the dump for a moment, and reads no rows. Prints the
server, the account and what it lacks (with the GRANT that mends it), the tables, the mode that
--consistency comes to and why, the chunks, and the free space.
Exit codes: 0 a dump would run, 1 it would not, 2 usage.
",
};

/// Reads the words of the command.
pub fn parse(words: Vec<OsString>) -> Result<Command, UsageError> {
    read(&PAGE, words, |args: DumpArgs, defaults| {
        let args = with_url(args)?;
        dump::convert(&args, defaults).map(|dump| Command::Check(Box::new(dump)))
    })
}
