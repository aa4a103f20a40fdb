//! `CancelToken`: one flag that every wait in the program can hear.
//!
//! Owns the flag, the wake-up of sleepers and the list of open sockets. Cancelling shuts the sockets down, so that a read
//! that is blocked in the kernel returns at once instead of draining what the server still has to say. What a socket is,
//! it leaves to whoever registers one; why a run is cancelled, it leaves to the coordinator.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Something that can be made to stop blocking, from any thread.
pub trait Interrupt: Send + Sync {
    /// Makes pending and later reads and writes return at once. Called at most a few times; must not block.
    fn interrupt(&self);
}

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    next_id: AtomicU64,
    sockets: Mutex<Vec<(u64, Arc<dyn Interrupt>)>>,
    woken: Condvar,
}

/// A cloneable handle on the flag. All clones see the same cancellation.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

/// Keeps a socket registered; dropping it takes the socket off the list.
pub struct Registration {
    token: CancelToken,
    id: u64,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag, interrupts every registered socket and wakes every sleeper.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let sockets = self.lock().clone();
        for (_, socket) in sockets {
            socket.interrupt();
        }
        self.0.woken.notify_all();
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Sleeps for `pause`, or until the token is cancelled. Returns whether it is cancelled.
    pub fn sleep(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut guard = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_cancelled() || left.is_zero() {
                return self.is_cancelled();
            }
            guard = self
                .0
                .woken
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Puts a socket on the list. If the token is cancelled already, the socket is interrupted before this returns.
    pub fn register(&self, socket: Arc<dyn Interrupt>) -> Registration {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let late = Arc::clone(&socket);
        self.lock().push((id, socket));
        // After the push: a cancel between the two finds the socket on the list, or is seen here.
        if self.is_cancelled() {
            late.interrupt();
        }
        Registration {
            token: self.clone(),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Arc<dyn Interrupt>)>> {
        // The list stays valid whatever a panicking holder did: it only pushes and removes.
        self.0
            .sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// The token it is registered with.
    pub fn token(&self) -> &CancelToken {
        &self.token
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.token.lock().retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counter(AtomicU64);

    impl Interrupt for Counter {
        fn interrupt(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn cancelling_interrupts_what_is_registered_and_nothing_else() {
        let token = CancelToken::new();
        let (kept, gone) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
        let _kept = token.register(kept.clone());
        drop(token.register(gone.clone()));
        token.cancel();
        assert_eq!(kept.0.load(Ordering::SeqCst), 1);
        assert_eq!(gone.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_socket_registered_too_late_is_interrupted_at_once() {
        let token = CancelToken::new();
        token.cancel();
        let late = Arc::new(Counter::default());
        let _late = token.register(late.clone());
        assert_eq!(late.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_sleeper_wakes_when_the_token_is_cancelled() {
        let token = CancelToken::new();
        let sleeper = {
            let token = token.clone();
            std::thread::spawn(move || token.sleep(Duration::from_secs(60)))
        };
        token.cancel();
        assert!(sleeper.join().is_ok_and(|cancelled| cancelled));
    }

    #[test]
    fn a_sleep_ends_by_itself() {
        assert!(!CancelToken::new().sleep(Duration::from_millis(1)));
    }
}
