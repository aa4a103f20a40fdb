//! A soak of seeds: dumps through a proxy that breaks connections, beside a writer that keeps an invariant, with sessions
//! killed, signals, restarts. Only two ends are allowed: exit 0 with a dump that loads, satisfies the invariant and matches its
//! recorded position, or another exit code with a sentence and no manifest.
//!
//! Owns the run over the seeds. What a seed stands for is in `schedule.rs`, where it plays in `scene.rs`, what is done beside
//! the dump in `player.rs`, what may come of it in `verdict.rs`. `RDUMP_SOAK_SEEDS` is their number, `RDUMP_SOAK_FIRST` the
//! first; `make soak SEEDS=100 FIRST=1` sets them.

mod dice;
mod player;
mod scene;
mod schedule;
mod verdict;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Run, Running, Writer, announce, number_of_environment};
use player::{Diary, Done, Player};
use scene::{Scene, Servers};
use schedule::Schedule;
use verdict::{Outcome, Played};

/// All retries with all their pauses and read timeouts end before.
const HUNG: Duration = Duration::from_secs(120);
const LIMIT: Duration = Duration::from_secs(60);
/// So many failures are enough to look at.
const FAILURES: usize = 5;

#[test]
fn every_seed_ends_with_a_whole_dump_or_with_a_sentence() {
    let first = number_of_environment("RDUMP_SOAK_FIRST", 1);
    let seeds = number_of_environment("RDUMP_SOAK_SEEDS", 4);
    let servers = Servers::start();
    let (mut ends, mut failures) = (Vec::new(), Vec::new());
    for seed in first..first + seeds {
        let schedule = Schedule::of(seed, &servers.kinds());
        let diary = Diary::new();
        let started = Instant::now();
        let played = catch_unwind(AssertUnwindSafe(|| play(&servers, &schedule, &diary)));
        let took = started.elapsed();
        match played {
            Ok(end) => {
                announce(&format!("soak: seed {seed}, {took:.1?}: {end:?}"));
                ends.push(end);
            }
            Err(panic) => {
                let why = text(panic.as_ref());
                announce(&format!("soak: seed {seed}, {took:.1?}: BROKEN: {why}"));
                failures.push(format!("{schedule}\n{}\n{why}", diary.text()));
            }
        }
        if failures.len() == FAILURES {
            break;
        }
    }
    announce(&format!("soak: {}", tally(&ends)));
    assert!(
        failures.is_empty(),
        "{} seeds failed\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

/// What came of a seed.
#[derive(Debug)]
struct End {
    outcome: Outcome,
    /// How many struck.
    faults: u64,
}

fn play(servers: &Servers, schedule: &Schedule, diary: &Diary) -> End {
    let scene = Scene::new(servers.of(schedule.kind));
    let proxy = scene.proxy(schedule);
    let writer = Writer::start_with_pauses(
        &scene.database,
        schedule.writers,
        Duration::from_millis(schedule.pause),
    );
    writer.await_transactions(5, LIMIT);
    let command = scene.command(schedule, &proxy).time_limit(HUNG);
    let over = AtomicBool::new(false);
    let (started, running) = (Instant::now(), command.spawn());
    diary.note("started");
    let player = Player {
        server: scene.server(),
        account: &scene.account,
        proxy: &proxy,
        writer: &writer,
        signaller: running.signaller(),
        over: &over,
        diary,
    };
    let (run, done) = play_beside(running, &player, schedule);
    diary.note(&format!("ended: {:?}", proxy.counters()));
    let faults = proxy.counters().faults;
    let verdict = Played {
        scene: &scene,
        schedule,
        proxy: &proxy,
        run: &run,
        ended: started + run.duration,
        done,
    };
    match catch_unwind(AssertUnwindSafe(|| verdict.judge(writer))) {
        Ok(outcome) => End { outcome, faults },
        Err(broken) => {
            diary.note(&run.report());
            resume_unwind(broken)
        }
    }
}

/// The dump to its end, and the acts beside it.
fn play_beside(running: Running, player: &Player, schedule: &Schedule) -> (Run, Done) {
    thread::scope(|scope| {
        let acts = scope.spawn(|| player.play(&schedule.acts));
        let ended = catch_unwind(AssertUnwindSafe(|| running.wait()));
        player.over.store(true, Ordering::SeqCst);
        player.proxy.wake();
        let done = acts.join().expect("the acts beside the dump");
        match ended {
            Ok(run) => (run, done),
            Err(hung) => resume_unwind(hung),
        }
    })
}

fn tally(ends: &[End]) -> String {
    let count = |wanted: fn(&End) -> bool| ends.iter().filter(|end| wanted(end)).count();
    format!(
        "{} seeds passed: {} whole ({} of them in spite of faults), {} failed with a sentence, {} signalled",
        ends.len(),
        count(|end| end.outcome == Outcome::Whole),
        count(|end| end.outcome == Outcome::Whole && end.faults > 0),
        count(|end| matches!(end.outcome, Outcome::Failed(_))),
        count(|end| end.outcome == Outcome::Signalled)
    )
}

/// What a panic said.
fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}
