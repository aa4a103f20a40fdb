//! A store that fails now and then, for a while, or for good.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::scene::Scene;
use crate::harness::{HttpRequest, ObjectStore, Verdict};

/// True for the first request that meets the condition.
struct Once(AtomicU64);

impl Once {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn is_first(&self, meets: bool) -> bool {
        meets && self.0.fetch_add(1, Ordering::SeqCst) == 0
    }
}

#[test]
fn requests_that_fail_now_and_then_lose_nothing() {
    let Some(scene) = Scene::new("now_and_then") else {
        return;
    };
    let proxy = scene.assert_survives(|request| match request.number {
        number if number.is_multiple_of(10) => Verdict::error(503, "SlowDown"),
        number if number.is_multiple_of(25) || number == 7 => Verdict::ResetInBody,
        number if number.is_multiple_of(8) => Verdict::CutAnswer,
        _ => Verdict::Pass,
    });
    assert!(proxy.seen().len() > 25, "{} requests", proxy.seen().len());
}

/// Case B112: the pauses grow, so that an outage is outlasted.
#[test]
fn outage_is_outlasted_with_growing_pauses() {
    const OUTAGE: Duration = Duration::from_secs(4);
    let Some(scene) = Scene::new("outage") else {
        return;
    };
    let begun = std::sync::OnceLock::new();
    let proxy = scene.assert_survives(move |request| {
        // From the first part on, for a time.
        let begun = match begun.get() {
            None if request.is_part() => begun.get_or_init(Instant::now),
            None => return Verdict::Pass,
            Some(begun) => begun,
        };
        if begun.elapsed() < OUTAGE {
            Verdict::Refuse
        } else {
            Verdict::Pass
        }
    });
    let seen = proxy.seen();
    let first: Vec<_> = seen
        .iter()
        .filter(|request| request.is_part() && request.target.contains("partNumber=1&"))
        .map(|request| request.arrived)
        .collect();
    let pauses: Vec<_> = first.windows(2).map(|two| two[1] - two[0]).collect();
    assert!((3..12).contains(&pauses.len()), "{pauses:?}");
    let (early, late) = (pauses[0], pauses[pauses.len() - 1]);
    assert!(late > early * 2, "{pauses:?}");
}

/// Case B107: what was done without an answer is not done twice, and an error in a success is one.
#[test]
fn completion_whose_answer_is_lost_or_an_error_is_made_good() {
    let Some(mut scene) = Scene::new("completion") else {
        return;
    };
    let verdicts: [fn() -> Verdict; 4] = [
        || Verdict::LoseAnswer,
        || Verdict::CutAnswer,
        || Verdict::error(200, "InternalError"),
        || Verdict::error(500, "InternalError"),
    ];
    for verdict in verdicts {
        let once = Once::new();
        let proxy = scene.assert_survives(move |request| {
            if once.is_first(request.is_complete()) {
                verdict()
            } else {
                Verdict::Pass
            }
        });
        let seen = proxy.seen();
        let completions = seen.iter().filter(|request| request.is_complete());
        assert_eq!(completions.count(), 2);
        scene.store.remove(&scene.prefix);
        scene.prefix = ObjectStore::prefix("completion");
    }
}

#[test]
fn other_answers_that_are_lost_double_nothing() {
    let Some(mut scene) = Scene::new("lost") else {
        return;
    };
    let requests: [fn(&HttpRequest) -> bool; 3] = [
        |request| request.method == "PUT" && !request.target.contains("partNumber"),
        |request| request.method == "POST" && request.target.contains("uploads"),
        HttpRequest::is_part,
    ];
    for is_meant in requests {
        let once = Once::new();
        scene.assert_survives(move |request| {
            // The first upload of all is the proof of writability.
            let is_probe = request.target.contains(".rdump-probe");
            if once.is_first(is_meant(request) && !is_probe) {
                Verdict::LoseAnswer
            } else {
                Verdict::Pass
            }
        });
        scene.store.remove(&scene.prefix);
        scene.prefix = ObjectStore::prefix("lost");
    }
}

#[test]
fn failures_that_last_end_the_dump_with_the_stores_words() {
    type Judge = fn(&HttpRequest) -> Verdict;
    let Some(mut scene) = Scene::new("for_good") else {
        return;
    };
    let failures: [(Judge, &[&str]); 6] = [
        (
            |request| {
                if request.is_complete() {
                    Verdict::error(500, "InternalError")
                } else {
                    Verdict::Pass
                }
            },
            &["complete the upload of s3://rdump/", "500 InternalError"],
        ),
        (
            |request| {
                if request.is_complete() {
                    Verdict::error(200, "AccessDenied")
                } else {
                    Verdict::Pass
                }
            },
            &["complete the upload of s3://rdump/", "AccessDenied"],
        ),
        (
            |request| {
                if request.is_part() && request.target.contains("partNumber=2&") {
                    Verdict::error(403, "AccessDenied")
                } else {
                    Verdict::Pass
                }
            },
            &["write a part of s3://rdump/", "403 AccessDenied"],
        ),
        (
            |request| {
                if request.is_part() {
                    Verdict::ResetInBody
                } else {
                    Verdict::Pass
                }
            },
            &["write a part of s3://rdump/", "caused by:"],
        ),
        (
            |request| {
                if request.method == "HEAD" {
                    Verdict::Rewrite("Content-Length: ", "Content-Length: 1")
                } else {
                    Verdict::Pass
                }
            },
            &["is not what it was", "bytes instead of"],
        ),
        (
            |request| {
                if request.target.contains("manifest.json") {
                    Verdict::error(403, "AccessDenied")
                } else {
                    Verdict::Pass
                }
            },
            &["manifest.json", "403 AccessDenied"],
        ),
    ];
    for (judge, words) in failures {
        let proxy = scene.proxy(judge);
        let run = scene
            .dump_by(&proxy.endpoint())
            .args(["--s3.retry-time", "1s"])
            .run();
        scene.assert_failed(&run, words);
        scene.store.remove(&scene.prefix);
        scene.prefix = ObjectStore::prefix("for_good");
    }
}
