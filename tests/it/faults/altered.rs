//! Tables that are altered while they are dumped. Most such changes give no error to an old snapshot, and would leave a torn
//! table in the dump.

use std::thread;
use std::time::{Duration, Instant};

use super::scene::{LIMIT, SOON};
use crate::harness::{
    Fault, Kind, Proxy, Query as _, Rdump, Run, Running, Server, TestDb, Trigger, announce,
};

const ROWS: u64 = 40_000;
/// Of 200 KB each.
const CHUNK_ROWS: &str = "1000";

/// What happens to `t` between two of its chunks.
const CHANGES: [&str; 6] = [
    "ALTER TABLE t ADD COLUMN extra INT, ALGORITHM=INSTANT",
    "ALTER TABLE t DROP PARTITION p3",
    "ALTER TABLE t EXCHANGE PARTITION p3 WITH TABLE w",
    "RENAME TABLE t TO t_old, t_new TO t",
    "TRUNCATE TABLE t",
    "ALTER TABLE t RENAME COLUMN v TO v2",
];

/// Two large tables, `t` cut into partitions, and two small ones.
fn database(server: &Server) -> TestDb {
    let database = TestDb::new(server, "altered");
    database.exec("CREATE TABLE u (id INT PRIMARY KEY, v CHAR(200) NOT NULL)");
    let numbers = format!(
        "INSERT INTO u WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {ROWS}) \
         SELECT id, REPEAT(CHAR(97 + id % 26), 190) FROM n"
    );
    let mut session = database.connect();
    // Each kind of server has its own name for the same limit.
    for limit in ["cte_max_recursion_depth", "max_recursive_iterations"] {
        session
            .try_rows(&format!("SET SESSION {limit} = 1000000"))
            .ok();
    }
    session.execute(&numbers);
    for statement in [
        "CREATE TABLE t (id INT PRIMARY KEY, v CHAR(200) NOT NULL) PARTITION BY RANGE (id) \
         (PARTITION p1 VALUES LESS THAN (15000), PARTITION p2 VALUES LESS THAN (30000), \
          PARTITION p3 VALUES LESS THAN MAXVALUE)",
        "INSERT INTO t SELECT * FROM u",
        "CREATE TABLE w (id INT PRIMARY KEY, v CHAR(200) NOT NULL)",
        "CREATE TABLE t_new LIKE w",
        "ANALYZE TABLE t, u",
    ] {
        session.rows(statement);
    }
    database
}

fn servers() -> Vec<Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get).collect()
}

/// A dump over a line that takes some seconds for each of the two tables.
fn slow_dump(database: &TestDb, arguments: &[&str]) -> (Proxy, Running) {
    let proxy = Proxy::to_port(database.server().port());
    proxy.inject(Fault::Throttle(1 << 20), Trigger::all());
    let running = Rdump::dump(database.server())
        .port(proxy.port())
        .database(database.name())
        .args(["-r", CHUNK_ROWS])
        .args(arguments)
        .time_limit(LIMIT)
        .spawn();
    (proxy, running)
}

fn files_of(run: &Run, table: &str) -> usize {
    let part = format!(".{table}.0");
    let files = run.files();
    files.iter().filter(|name| name.contains(&part)).count()
}

#[test]
fn table_altered_between_its_chunks_fails_and_is_named_and_the_others_are_finished() {
    for server in servers() {
        for change in CHANGES {
            let database = database(&server);
            let other = "-f=*.*,!*.t_new,!*.t_old,!*.w";
            let (proxy, running) = slow_dump(&database, &[other]);
            proxy.await_counters(SOON, |counters| counters.bytes_to_client > 3 << 20);
            let begun = Instant::now();
            database.exec(change);
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(5), "{change} took {took:?}");
            let run = running.wait();
            run.assert_fails(1);
            let named = format!("`{}`.`t`", database.name());
            assert!(run.stderr.contains(&named), "{change}\n{}", run.report());
            let innocent = format!("`{}`.`u` cannot be dumped", database.name());
            assert!(
                !run.stderr.contains(&innocent),
                "{change}\n{}",
                run.report()
            );
            assert!(
                !run.stderr.contains("trying again"),
                "{change}\n{}",
                run.report()
            );
            let whole = ROWS / CHUNK_ROWS.parse::<u64>().unwrap();
            let of_u = files_of(&run, "u") as u64;
            assert!(
                of_u >= whole / 2,
                "{change}: {of_u} files of u\n{}",
                run.report()
            );
            assert_eq!(rows_in_files(&run, &database, "u"), ROWS, "{change}");
        }
    }
}

fn rows_in_files(run: &Run, database: &TestDb, table: &str) -> u64 {
    let data = run.table_data(database.name(), table);
    data.split(|byte| *byte == b'\n')
        .filter(|line| line.starts_with(b"("))
        .count() as u64
}

/// A transaction keeps every table it has read locked against ALTER, and all queries of that table queue behind one that
/// waits; rdump gives them back after each chunk.
#[test]
fn table_whose_chunks_are_done_can_be_altered_at_once() {
    for server in servers() {
        let database = database(&server);
        // Longer than `u`, so that it is dumped first.
        database.exec("INSERT INTO t SELECT id + 1000000, v FROM u");
        database.rows("ANALYZE TABLE t");
        let (_proxy, running) = slow_dump(&database, &["-f=*.t,*.u", "--consistency", "snapshot"]);
        let of_u = format!("{}.u.0", database.name());
        let folder = running.output().to_owned();
        let begun = Instant::now();
        let under_way = || {
            crate::harness::list_files(&folder)
                .iter()
                .filter(|name| name.starts_with(&of_u))
                .count()
                >= 8
        };
        while !under_way() {
            assert!(begun.elapsed() < LIMIT, "no files of u");
            thread::sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        database.exec("ALTER TABLE t ADD COLUMN extra INT");
        database.value("SELECT COUNT(*) FROM t WHERE id = 1");
        let took = begun.elapsed();
        announce(&format!(
            "ALTER beside a dump on {:?}: {took:.0?}",
            server.kind()
        ));
        let run = running.wait();
        run.assert_ok();
        assert!(took < Duration::from_secs(2), "{took:?}\n{}", run.report());
        assert!(run.duration > begun.elapsed(), "the dump was over before");
    }
}

/// An ALTER waits for the lock that the dump stands on, and all who ask for the table later wait behind it: the workers must
/// not be among them.
#[test]
fn alter_that_waits_for_the_table_locks_stops_no_worker() {
    for server in servers() {
        let database = database(&server);
        let (proxy, running) = slow_dump(&database, &["-f=*.t,*.u", "--consistency", "lock"]);
        proxy.await_counters(SOON, |counters| counters.bytes_to_client > 2 << 20);
        let mut session = database.connect();
        let alter = thread::spawn(move || {
            for table in ["t", "u"] {
                session.execute(&format!("ALTER TABLE {table} ADD COLUMN extra INT"));
            }
        });
        let run = running.wait();
        run.assert_ok();
        assert!(!run.stderr.contains("trying again"), "{}", run.report());
        assert_eq!(rows_in_files(&run, &database, "t"), ROWS);
        assert_eq!(rows_in_files(&run, &database, "u"), ROWS);
        alter.join().unwrap();
    }
}
