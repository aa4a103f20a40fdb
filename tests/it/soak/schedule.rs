//! What a seed stands for: how rdump is called, what happens to its connections, and what is done beside it and when.
//!
//! Owns the odds. Points in time are bytes that have come from the server so far; no clock is asked.

use std::fmt;
use std::time::Duration;

use rustix::process::Signal;

use super::dice::Dice;
use super::scene::DUMP_BYTES;
use crate::harness::{Fault, Kind, Trigger};

/// A connection that has carried so much is set up and has done some work, so that a fault of every connection that comes
/// later leaves rdump a way to end on the server what it gives up.
const AT_WORK_BYTES: u64 = 16 << 10;

/// How the server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Tcp,
    Tls,
    Socket,
}

/// Something that is done once so many bytes have come from the server.
#[derive(Debug)]
pub struct Act {
    pub at_bytes: u64,
    pub deed: Deed,
}

#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// KILL of one of the account's sessions, by a number that picks it.
    Kill(u64),
    /// To all connections that live.
    Strike(Fault),
    /// So many connections are refused from now on.
    Refuse(u64),
    Signal(Signal),
    RestartServer,
    RestWriter,
    ResumeWriter,
}

impl Deed {
    /// Whether it is an excuse for a dump that is not whole.
    pub fn does_harm(self) -> bool {
        !matches!(self, Self::RestWriter | Self::ResumeWriter)
    }
}

#[derive(Debug)]
pub struct Schedule {
    pub seed: u64,
    pub kind: Kind,
    pub link: Link,
    pub mode: &'static str,
    pub threads: u64,
    pub rows: u64,
    pub spares: u64,
    pub compression: &'static str,
    /// None is rdump's own number.
    pub retries: Option<u64>,
    /// In seconds, where a server may fall silent.
    pub read_timeout: Option<u64>,
    /// Bytes per second of each connection.
    pub rate: Option<u64>,
    pub writers: u32,
    /// Between two transactions of a writer, in milliseconds.
    pub pause: u64,
    pub faults: Vec<(Fault, Trigger)>,
    /// In the order of their points.
    pub acts: Vec<Act>,
}

impl Schedule {
    pub fn of(seed: u64, kinds: &[Kind]) -> Self {
        let mut dice = Dice::new(seed);
        let threads = dice.between(1..=6);
        let mut schedule = Self {
            seed,
            kind: dice.pick(kinds),
            link: dice.pick(&[Link::Tcp, Link::Tls, Link::Socket]),
            mode: dice.pick(&["auto", "flush", "snapshot", "lock", "none"]),
            threads,
            rows: dice.spread(50..=5000),
            spares: dice.between(0..=3),
            compression: dice.pick(&["none", "gzip", "zstd"]),
            retries: dice.one_in(3).then(|| dice.between(1..=4)),
            read_timeout: None,
            // The whole takes one to four seconds.
            rate: (!dice.one_in(3)).then(|| DUMP_BYTES / threads / dice.between(1..=4)),
            writers: dice.pick(&[1, 2]),
            pause: dice.spread(1..=32),
            faults: Vec::new(),
            acts: Vec::new(),
        };
        for _ in 0..dice.between(0..=6) {
            schedule.add_trouble(&mut dice);
        }
        if dice.one_in(8) {
            let signal = dice.pick(&[Signal::INT, Signal::TERM]);
            schedule.act(traffic(&mut dice), Deed::Signal(signal));
        }
        if dice.one_in(25) {
            schedule.act(traffic(&mut dice), Deed::RestartServer);
        }
        schedule.acts.sort_by_key(|act| act.at_bytes);
        schedule
    }

    fn act(&mut self, at_bytes: u64, deed: Deed) {
        self.acts.push(Act { at_bytes, deed });
    }

    fn add_trouble(&mut self, dice: &mut Dice) {
        match dice.between(0..=19) {
            0..=9 => self.add_fault(dice),
            10..=12 => self.act(traffic(dice), Deed::Kill(dice.between(0..=99))),
            13..=15 => {
                let fault = self.some_fault(dice);
                self.act(traffic(dice), Deed::Strike(fault));
            }
            16..=17 => self.act(traffic(dice), Deed::Refuse(dice.between(1..=4))),
            _ => {
                // From before the snapshots on: what is lost meanwhile finds nothing written, and so a proof for others.
                let early = dice.between(0..=8 << 10);
                let rest = if dice.one_in(2) { early } else { traffic(dice) };
                if dice.one_in(2) {
                    self.spares = 0;
                }
                self.act(rest, Deed::RestWriter);
                self.act(rest + dice.between(0..=DUMP_BYTES), Deed::ResumeWriter);
            }
        }
    }

    /// After some bytes on one connection, or on many.
    fn add_fault(&mut self, dice: &mut Dice) {
        let fault = self.some_fault(dice);
        let share = DUMP_BYTES / self.threads;
        let early = dice.one_in(3);
        let bytes = dice.between(if early {
            0..=AT_WORK_BYTES / 2
        } else {
            AT_WORK_BYTES..=share
        });
        let trigger = match dice.between(0..=5) {
            0 => {
                if is_silent(fault) {
                    // Each try takes the read timeout.
                    self.retries = Some(dice.between(1..=3));
                }
                Trigger::every(dice.between(1..=3)).after_bytes(bytes.max(AT_WORK_BYTES))
            }
            1 => Trigger::first_past(bytes),
            _ => {
                let connections = self.threads + self.spares + 6;
                Trigger::only(dice.between(1..=connections)).after_bytes(bytes)
            }
        };
        self.faults.push((fault, trigger));
    }

    /// Sets a read timeout if it falls silent.
    fn some_fault(&mut self, dice: &mut Dice) -> Fault {
        let seconds = self.read_timeout.unwrap_or_else(|| dice.between(1..=3));
        let longer = Duration::from_millis(seconds * 1000 + dice.between(200..=1500));
        let shorter = Duration::from_millis(dice.between(50..=600));
        let fault = dice.pick(&[
            Fault::Reset,
            Fault::Finish,
            Fault::HalfClose,
            Fault::BlackHole,
            Fault::Stall(shorter),
            Fault::Stall(longer),
        ]);
        if is_silent(fault) {
            self.read_timeout = Some(seconds);
        }
        fault
    }
}

fn is_silent(fault: Fault) -> bool {
    matches!(fault, Fault::BlackHole | Fault::Stall(_))
}

/// A point of the dump: often while it begins, where most is at stake, but never before it listens to signals.
fn traffic(dice: &mut Dice) -> u64 {
    if dice.one_in(4) {
        dice.between(1..=60 << 10)
    } else {
        dice.between(60 << 10..=DUMP_BYTES)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{self:#?}")?;
        write!(f, "again: make soak SEEDS=1 FIRST={}", self.seed)
    }
}
