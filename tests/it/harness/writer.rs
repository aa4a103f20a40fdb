//! A background writer over the `invariant` schema of `scripts/seed`: each transaction moves an amount between two
//! accounts and writes both halves to the ledger, so every consistent read satisfies `assert_invariant`.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, TxOpts};

use super::database::TestDb;
use super::query::{Query, identifier};
use super::server::Server;

/// Writes until it is dropped.
pub struct Writer {
    progress: Arc<Progress>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

impl Progress {
    /// Waits for the pause to be over, and while the writer rests; false when it is to stop.
    fn goes_on(&self, pause: Duration) -> bool {
        let state = self.state.lock().unwrap();
        let paused = self
            .changed
            .wait_timeout_while(state, pause, |state| !state.stopping);
        let rested = self
            .changed
            .wait_while(paused.unwrap().0, |state| state.resting && !state.stopping);
        !rested.unwrap().stopping
    }
}

#[derive(Default)]
struct State {
    transactions: u64,
    stopping: bool,
    resting: bool,
    /// The first error that a writer may not meet; raised in the test's own thread.
    failure: Option<String>,
}

impl Writer {
    /// As fast as the server takes it.
    pub fn start(database: &TestDb, threads: u32) -> Self {
        Self::start_with_pauses(database, threads, Duration::ZERO)
    }

    /// With a pause after each transaction, where every one of them is replayed in the end.
    pub fn start_with_pauses(database: &TestDb, threads: u32, pause: Duration) -> Self {
        let progress = Arc::new(Progress::default());
        let spawn = |number| {
            let opts = database.server().opts().db_name(Some(database.name()));
            let progress = Arc::clone(&progress);
            thread::spawn(move || write(&opts, &progress, number, pause))
        };
        let threads = (0..threads).map(spawn).collect();
        Self { progress, threads }
    }

    /// Committed so far.
    pub fn transactions(&self) -> u64 {
        self.progress.state.lock().unwrap().transactions
    }

    /// Waits for `count` more transactions.
    #[track_caller]
    pub fn await_transactions(&self, count: u64, limit: Duration) {
        let state = self.progress.state.lock().unwrap();
        let wanted = state.transactions + count;
        let going_on = |state: &mut State| state.transactions < wanted && state.failure.is_none();
        let (state, _) = self
            .progress
            .changed
            .wait_timeout_while(state, limit, going_on)
            .unwrap();
        let done = state.transactions >= wanted;
        assert_no_failure(state);
        assert!(done, "fewer than {count} transactions in {limit:?}");
    }

    /// Has the writer stand still after the transaction it is at, until `resume`.
    pub fn rest(&self) {
        self.progress.state.lock().unwrap().resting = true;
    }

    pub fn resume(&self) {
        self.progress.state.lock().unwrap().resting = false;
        self.progress.changed.notify_all();
    }

    /// Stops, and returns how many transactions were committed.
    #[track_caller]
    pub fn finish(mut self) -> u64 {
        self.stop();
        let state = self.progress.state.lock().unwrap();
        let transactions = state.transactions;
        assert_no_failure(state);
        transactions
    }

    fn stop(&mut self) {
        self.progress.state.lock().unwrap().stopping = true;
        self.progress.changed.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

/// A panic under the lock would poison it for the writers.
#[track_caller]
fn assert_no_failure(state: MutexGuard<State>) {
    let failure = state.failure.clone();
    drop(state);
    assert!(
        failure.is_none(),
        "the writer failed: {}",
        failure.unwrap_or_default()
    );
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn write(opts: &OptsBuilder, progress: &Progress, writer: u32, pause: Duration) {
    let mut session: Option<Conn> = None;
    // A small generator is enough to visit all accounts; equal seeds give equal sequences.
    let mut random = u64::from(writer) * 2_654_435_761 + 1;
    while progress.goes_on(pause) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let connected = match session.take() {
            Some(conn) => Ok(conn),
            None => Conn::new(opts.clone()),
        };
        let outcome = connected.and_then(|mut conn| {
            let outcome = transfer(&mut conn, random >> 16);
            session = Some(conn);
            outcome
        });
        let mut state = progress.state.lock().unwrap();
        match outcome {
            Ok(()) => state.transactions += 1,
            // Nothing was committed.
            Err(mysql::Error::MySqlError(error)) if is_passing(error.code) => {}
            // A test may restart the server, so a lost connection is made anew. A commit whose answer was lost is
            // not counted, but keeps the invariant all the same.
            Err(
                mysql::Error::IoError(_)
                | mysql::Error::CodecError(_)
                | mysql::Error::DriverError(_),
            ) => session = None,
            Err(error) => {
                state.failure.get_or_insert(error.to_string());
                state.stopping = true;
            }
        }
        progress.changed.notify_all();
    }
}

/// Lock wait timeout, deadlock, definition changed, server shutting down, connection killed.
fn is_passing(code: u16) -> bool {
    matches!(code, 1205 | 1213 | 1412 | 1053 | 1927 | 1317)
}

fn transfer(session: &mut Conn, random: u64) -> mysql::Result<()> {
    const ACCOUNTS: u64 = 100;
    let first = random % (ACCOUNTS - 1) + 1;
    let second = first + 1 + (random >> 8) % (ACCOUNTS - first);
    let amount = random % 1000;
    let mut transaction = session.start_transaction(TxOpts::default())?;
    // Always in the order of ids, so that two writers never deadlock.
    transaction.query_drop(format!(
        "UPDATE account SET balance = balance - {amount} WHERE id = {first}"
    ))?;
    transaction.query_drop(format!(
        "UPDATE account SET balance = balance + {amount} WHERE id = {second}"
    ))?;
    transaction.query_drop(format!(
        "INSERT INTO ledger (account_id, amount) VALUES ({first}, -{amount}), ({second}, {amount})"
    ))?;
    transaction.commit()
}

/// Within each table the sums are zero, and each account's balance is the sum of its ledger: a copy that mixes two
/// moments fails one of them.
#[track_caller]
pub fn assert_invariant(server: &Server, database: &str) {
    let mut session = server.connect();
    session.execute(&format!("USE {}", identifier(database)));
    session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    assert_eq!(
        session.value("SELECT SUM(balance) FROM account"),
        "0",
        "the balances' sum"
    );
    assert_eq!(
        session.value("SELECT IFNULL(SUM(amount), 0) FROM ledger"),
        "0",
        "the ledger's sum"
    );
    let torn = "SELECT COUNT(*) FROM account a WHERE a.balance <> \
                (SELECT IFNULL(SUM(l.amount), 0) FROM ledger l WHERE l.account_id = a.id)";
    assert_eq!(
        session.value(torn),
        "0",
        "accounts whose ledger is of another moment"
    );
}
