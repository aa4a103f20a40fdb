//! Carries out what is done beside a dump, each act at its point of the traffic.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable as _;
use rustix::process::Signal;

use super::schedule::{Act, Deed};
use crate::harness::{Fault, Proxy, Server, Signaller, Trigger, Writer};

/// Longer than any dump may take.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// What was done and when, for the report of a failure.
pub struct Diary {
    started: Instant,
    lines: Mutex<Vec<String>>,
}

impl Diary {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            lines: Mutex::default(),
        }
    }

    pub fn note(&self, what: &str) {
        let line = format!("{:>8.3} s: {what}", self.started.elapsed().as_secs_f64());
        self.lines.lock().unwrap().push(line);
    }

    pub fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

pub struct Player<'a> {
    pub server: &'a Server,
    pub account: &'a str,
    pub proxy: &'a Proxy,
    pub writer: &'a Writer,
    pub signaller: Signaller,
    /// Set when the dump has ended.
    pub over: &'a AtomicBool,
    pub diary: &'a Diary,
}

/// What was done that bears on the end.
#[derive(Default)]
pub struct Done {
    pub signalled: Option<Signalled>,
    /// Whether any of it is an excuse for a dump that is not whole.
    pub harm: bool,
}

/// A signal that reached a running dump.
#[derive(Clone, Copy)]
pub struct Signalled {
    pub signal: Signal,
    pub at: Instant,
}

impl Player<'_> {
    /// Until the last act or the end of the dump.
    pub fn play(&self, acts: &[Act]) -> Done {
        let mut done = Done::default();
        for act in acts {
            let due = |bytes| bytes >= act.at_bytes || self.over.load(Ordering::SeqCst);
            self.proxy
                .await_counters(FOR_EVER, |counters| due(counters.bytes_to_client));
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            self.diary.note(&format!("{:?}", act.deed));
            done.harm |= act.deed.does_harm();
            match act.deed {
                Deed::Kill(number) => self.kill(number),
                Deed::Strike(fault) => self.proxy.strike(fault),
                Deed::Refuse(connections) => {
                    for number in 1..=connections {
                        self.proxy.inject(Fault::Refuse, Trigger::only(number));
                    }
                }
                Deed::Signal(signal) => {
                    let at = Instant::now();
                    if self.signaller.signal(signal) {
                        done.signalled = Some(Signalled { signal, at });
                    }
                }
                Deed::RestartServer => self.server.restart(),
                Deed::RestWriter => self.writer.rest(),
                Deed::ResumeWriter => self.writer.resume(),
            }
        }
        done
    }

    fn kill(&self, number: u64) {
        let sessions = self.server.sessions_of(self.account);
        let Some(id) = sessions.get(usize::try_from(number).unwrap() % sessions.len().max(1))
        else {
            return;
        };
        self.diary.note(&format!("session {id} of {sessions:?}"));
        // It may have ended by itself meanwhile.
        self.server.connect().query_drop(format!("KILL {id}")).ok();
    }
}
