//! What may come of a seed: a whole dump that is what it says, or a sentence and no manifest. Nothing else, and in either case
//! nothing is left behind.

use std::time::{Duration, Instant};

use super::player::Done;
use super::scene::{Scene, UNTOUCHED, WRITTEN};
use super::schedule::{Link, Schedule};
use crate::harness::{
    Proxy, Run, Server, Writer, assert_invariant, assert_no_temporary_files, checksums,
    replay_binlog, restore,
};

/// What a client's sessions may still take to go away after its end. The tests' machine is busy.
const GONE_SOON: Duration = Duration::from_secs(3);
/// What a signalled dump may take to end.
const PROMPT: Duration = Duration::from_secs(5);
/// When a signal may have come too late to be heeded.
const ENDING: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(60);

/// The allowed ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Whole,
    /// With this error and its causes.
    Failed(String),
    Signalled,
}

/// A dump that has ended, and what still stands around it.
pub struct Played<'a> {
    pub scene: &'a Scene,
    pub schedule: &'a Schedule,
    pub proxy: &'a Proxy,
    pub run: &'a Run,
    pub ended: Instant,
    pub done: Done,
}

impl Played<'_> {
    #[track_caller]
    pub fn judge(&self, writer: Writer) -> Outcome {
        self.assert_nothing_is_left(&writer);
        let code = self.run.status.code();
        if let Some(signalled) = self.done.signalled {
            let took = self.ended - signalled.at;
            let heeded = code == Some(128 + signalled.signal.as_raw());
            let limit = if heeded { PROMPT } else { ENDING };
            assert!(took < limit, "went on for {took:?}\n{}", self.run.report());
            if heeded {
                self.assert_failed(128 + signalled.signal.as_raw());
                return Outcome::Signalled;
            }
        }
        if code == Some(0) {
            self.assert_whole(writer);
            return Outcome::Whole;
        }
        self.assert_failed(1);
        self.assert_has_a_cause();
        Outcome::Failed(self.sentence())
    }

    /// No session on the server, though the proxy still holds the dead connections, no lock, no unfinished file.
    #[track_caller]
    fn assert_nothing_is_left(&self, writer: &Writer) {
        // A session whose connection fell silent before the answer to its first question, its id, cannot be ended. The
        // answer has come by 378 (MySQL) or 426 bytes (MariaDB), by 3203 or 3259 with TLS.
        let first_answer_bytes = match self.schedule.link {
            Link::Tls => 3270,
            Link::Tcp | Link::Socket => 440,
        };
        let server = self.scene.server();
        server.await_sessions_of(&self.scene.account, GONE_SOON, |count| {
            count <= self.proxy.open_below(first_answer_bytes)
        });
        assert_no_temporary_files(self.run.output());
        writer.resume();
        writer.await_transactions(20, LIMIT);
    }

    #[track_caller]
    fn assert_failed(&self, code: i32) {
        let run = self.run;
        run.assert_fails(code);
        let mut lines = run.stderr.lines();
        assert!(
            lines.any(|line| line.starts_with("error: ")),
            "no sentence\n{}",
            run.report()
        );
        let names = run.files().into_iter();
        for name in names.filter(|name| name.contains(".sql")) {
            let content = run.read(&name);
            assert!(content.ends_with(b";\n"), "{name} has no end");
        }
    }

    /// Where nothing happened, a dump is whole. (With a short read timeout, a busy machine is cause enough.)
    #[track_caller]
    fn assert_has_a_cause(&self) {
        let struck = self.done.harm || self.proxy.counters().faults > 0;
        assert!(
            struck || self.schedule.read_timeout.is_some(),
            "failed without a cause\n{}",
            self.run.report()
        );
    }

    /// The error with its causes, on one line.
    fn sentence(&self) -> String {
        let lines = self.run.stderr.lines();
        let error = lines.skip_while(|line| !line.starts_with("error: "));
        let sentence: Vec<_> = error.map(str::trim_start).collect();
        sentence.join("; ")
    }

    /// It loads, and with what the binlog holds from its position on it is the source.
    #[track_caller]
    fn assert_whole(&self, writer: Writer) {
        let (run, schedule) = (self.run, self.schedule);
        run.assert_ok();
        writer.finish();
        let (server, name) = (self.scene.server(), self.scene.database.name());
        let target = Server::target(server.kind()).unwrap();
        let _restored = restore(run.output(), &target);
        let assert_equal = |tables: &[&str]| {
            let (source, copy) = (
                checksums(server, name, tables),
                checksums(&target, name, tables),
            );
            assert_eq!(source, copy, "the copy differs\n{}", run.report());
        };
        assert_equal(&[UNTOUCHED]);
        let manifest = run.manifest();
        let reached = &manifest["consistency"]["mode"];
        assert!(
            schedule.mode == "auto" || reached == schedule.mode,
            "{reached}"
        );
        for table in manifest["tables"].as_array().unwrap() {
            let count = format!("SELECT COUNT(*) FROM {name}.{}", table["name"]);
            let count = target.value(&count.replace('"', "`"));
            assert_eq!(table["rows"].to_string(), count, "{table}");
        }
        if schedule.mode != "none" {
            assert_invariant(&target, name);
            replay_binlog(run, &self.scene.database, &target);
            assert_equal(&WRITTEN);
        }
    }
}
