//! Every row in exactly one chunk, for every kind of key, on real servers; each chunk read by its key; chunks even; probes
//! bounded by the number of chunks.
//!
//! The plans are those of the library. What a chunk holds, and how the server finds it, is asked over a session of the
//! test's own. Which keys are tried is in `chunks/tables.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use mysql::Conn;
use rdump::cancel::CancelToken;
use rdump::catalog::table::Table;
use rdump::catalog::{Catalog, Kinds, Selection};
use rdump::chunk::{Chunk, ChunkOptions, KeyProbe, KeyRange, SessionProbe, TableKey, TablePlanner};
use rdump::secret::{Secret, SecretSource};
use rdump::server::connector::Connector;
use rdump::server::error::ServerError;
use rdump::server::session::{Purpose, Session};
use rdump::server::{ConnectOptions, TlsMode, TlsOptions};

use crate::harness::{Query as _, Row, Server, TestDb, identifier};

mod tables;

/// So many chunk queries of a plan are explained: the first ones, and the last.
const EXPLAINED: usize = 25;

/// A table of fewer rows may be read in any way.
const FEW_ROWS: usize = 50;

/// Counts the questions.
struct Counted<'a> {
    inner: SessionProbe<'a>,
    questions: usize,
}

impl KeyProbe for Counted<'_> {
    type Error = ServerError;

    fn nth_key(
        &mut self,
        range: &KeyRange<'_>,
        n: u64,
    ) -> Result<Option<Vec<String>>, ServerError> {
        self.questions += 1;
        self.inner.nth_key(range, n)
    }

    fn estimate_rows(
        &mut self,
        range: &KeyRange<'_>,
        spans: &[(i128, i128)],
    ) -> Result<u64, ServerError> {
        self.questions += 1;
        self.inner.estimate_rows(range, spans)
    }

    fn region_keys(&mut self, key: &TableKey) -> Result<Option<Vec<Vec<String>>>, ServerError> {
        self.questions += 1;
        self.inner.region_keys(key)
    }
}

/// A plan, and what it took.
struct Plan {
    chunks: Vec<Chunk>,
    questions: usize,
}

fn plan(session: &mut Session, table: &Table, options: ChunkOptions) -> Plan {
    let mut probe = Counted {
        inner: SessionProbe::new(session),
        questions: 0,
    };
    let mut planner = TablePlanner::new(table, &options);
    let mut chunks = Vec::new();
    while let Some(chunk) = planner.next(&mut probe).unwrap() {
        chunks.push(chunk);
        assert!(chunks.len() <= 100_000, "{}: no end", table.name);
    }
    Plan {
        chunks,
        questions: probe.questions,
    }
}

fn rows_of(rows: u64) -> ChunkOptions {
    ChunkOptions {
        rows: Some(rows),
        order_by_primary_key: true,
        ..ChunkOptions::default()
    }
}

fn open(server: &Server) -> Session {
    let options = ConnectOptions {
        host: server.host().to_owned(),
        port: server.port(),
        socket: None,
        user: server.user().to_owned(),
        password: Some(SecretSource::Known(Secret::new(server.password()))),
        cleartext_passwords: false,
        tls: TlsOptions {
            mode: TlsMode::Disabled,
            ca: None,
            cert: None,
            key: None,
        },
        connect_timeout: Duration::from_secs(30),
        read_timeout: Duration::from_secs(300),
        first_row_timeout: Duration::from_secs(300),
        session_variables: Vec::new(),
    };
    let connector = Connector::new(options, CancelToken::new());
    connector.open(Purpose::Metadata).unwrap()
}

fn tables(session: &mut Session, database: &str) -> Vec<Table> {
    let selection = Selection {
        databases: &[database.to_owned()],
        tables: &[],
        may_match_database: &|_| true,
        matches: &|_, _| true,
        kinds: Kinds {
            views: true,
            sequences: true,
            triggers: false,
            routines: false,
            events: false,
        },
    };
    let catalog = Catalog::read(session, selection).unwrap();
    catalog.tables().cloned().collect()
}

/// What follows SELECT … in the query of a chunk.
fn from_clause(table: &Table, chunk: &Chunk) -> String {
    let partition = chunk.partition.as_deref().map(identifier);
    let index = chunk.force_index.as_deref().map(identifier);
    let order = (!chunk.order_by.is_empty()).then(|| chunk.order_by.join(", "));
    let clauses = [
        partition.map(|name| format!(" PARTITION ({name})")),
        index.map(|name| format!(" FORCE INDEX ({name})")),
        chunk
            .condition
            .as_ref()
            .map(|sql| format!(" WHERE ({sql})")),
        order.map(|terms| format!(" ORDER BY {terms}")),
    ];
    format!(
        "FROM {}{}",
        table.name,
        clauses.map(Option::unwrap_or_default).concat()
    )
}

/// A session that reads each column's own bytes, as the workers' do.
fn reader(database: &TestDb) -> Conn {
    let mut reader = database.connect();
    reader.execute("SET NAMES utf8mb4, time_zone = '+00:00'");
    reader.execute("SET sql_mode = 'ALLOW_INVALID_DATES', character_set_results = NULL");
    reader
}

/// The rows per chunk, after it was checked that together they are the table.
fn read_all(reader: &mut Conn, table: &Table, chunks: &[Chunk]) -> Vec<usize> {
    let mut found: BTreeMap<Row, i64> = BTreeMap::new();
    let mut sizes = Vec::new();
    for chunk in chunks {
        let rows = reader.rows(&format!("SELECT * {}", from_clause(table, chunk)));
        sizes.push(rows.len());
        for row in rows {
            *found.entry(row).or_default() += 1;
        }
    }
    for row in reader.rows(&format!("SELECT * FROM {}", table.name)) {
        *found.entry(row).or_default() -= 1;
    }
    let wrong: Vec<_> = found.iter().filter(|(_, times)| **times != 0).collect();
    assert!(
        wrong.is_empty(),
        "{}: {} rows not exactly once, as {:?}",
        table.name,
        wrong.len(),
        wrong[0],
    );
    sizes
}

/// Each pair of neighbours shares a bound; the ends have none.
fn assert_adjacent(chunks: &[Chunk]) {
    assert!(
        chunks
            .iter()
            .map(|chunk| chunk.index)
            .eq(0..chunks.len() as u64)
    );
    assert_eq!(chunks[0].lower, None);
    assert_eq!(chunks[chunks.len() - 1].upper, None);
    for pair in chunks.windows(2) {
        assert_eq!(pair[0].upper, pair[1].lower);
        assert!(pair[0].partition.is_some() || pair[0].upper.is_some());
    }
}

/// By its key, as a range, in its order.
fn assert_read_by_key(server: &Server, reader: &mut Conn, table: &Table, chunk: &Chunk) {
    let columns: Vec<_> = table.columns.iter().map(|c| identifier(&c.name)).collect();
    let format = if server.kind().is_mariadb() {
        ""
    } else {
        "FORMAT=TRADITIONAL "
    };
    let clause = from_clause(table, chunk);
    let query = format!("EXPLAIN {format}SELECT {} {clause}", columns.join(", "));
    let plan = reader.rows(&query);
    // MySQL since 5.7 has the columns `partitions` and `filtered` too.
    let wide = usize::from(plan[0].len() == 12);
    let cell = |index: usize| plan[0][index].as_deref().map(String::from_utf8_lossy);
    let (access, key) = (cell(3 + wide), cell(5 + wide));
    let extra = plan[0]
        .last()
        .unwrap()
        .as_deref()
        .map(String::from_utf8_lossy)
        .unwrap_or_default();
    let said = format!(
        "{}: {access:?} {key:?} {extra}: {query}",
        server.kind().word()
    );
    assert!(
        !extra.contains("filesort") && !extra.contains("temporary"),
        "{said}"
    );
    if access.is_none() {
        // Seen to be empty without reading.
        assert!(
            extra.contains("mpossible") || extra.contains("no matching"),
            "{said}"
        );
        return;
    }
    assert_eq!(key.as_deref(), chunk.force_index.as_deref(), "{said}");
    let access = access.unwrap_or_default();
    assert!(
        ["range", "ref", "const", "eq_ref"].contains(&&*access),
        "{said}"
    );
}

/// Everything that is promised of a plan, for one table and size. `even` if nothing speaks against even chunks.
fn check(
    server: &Server,
    reader: &mut Conn,
    session: &mut Session,
    table: &Table,
    rows: u64,
    even: bool,
) -> Plan {
    let plan = plan(session, table, rows_of(rows));
    let chunks = &plan.chunks;
    if chunks[0].partition.is_none() {
        assert_adjacent(chunks);
    }
    let sizes = read_all(reader, table, chunks);
    let of = format!(
        "{} {} -r {rows}: {sizes:?}",
        server.kind().word(),
        table.name
    );
    assert!(
        plan.questions <= 4 * chunks.len() + 8,
        "{of}: {} questions",
        plan.questions
    );
    if even {
        let total: usize = sizes.iter().sum();
        let rows = usize::try_from(rows).unwrap();
        assert!(sizes.iter().all(|size| *size <= rows * 2), "{of}");
        assert!(
            total < rows * 2 || sizes.iter().all(|size| *size * 2 >= rows),
            "{of}"
        );
    }
    if sizes.iter().sum::<usize>() < FEW_ROWS {
        // All of so small an index may be read as well.
        return plan;
    }
    let cut = chunks.iter().filter(|chunk| chunk.condition.is_some());
    let last = chunks.last().filter(|chunk| chunk.condition.is_some());
    for chunk in cut.take(EXPLAINED).chain(last) {
        assert_read_by_key(server, reader, table, chunk);
    }
    plan
}

/// Runs the statements; opens the session that plans and the one that reads.
fn fill(database: &TestDb, statements: &[String]) -> (Session, Conn) {
    let mut writer = database.connect();
    writer.execute("SET NAMES utf8mb4, sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'");
    for statement in statements {
        writer.execute(statement);
    }
    (open(database.server()), reader(database))
}

/// The tables, with fresh statistics.
fn analyzed(database: &TestDb, session: &mut Session) -> Vec<Table> {
    for table in tables(session, database.name()) {
        database.rows(&format!("ANALYZE TABLE {}", table.name));
    }
    tables(session, database.name())
}

fn check_schema(
    server: &Server,
    test: &str,
    statements: &[String],
    check_table: impl Fn(&Table) -> Expected,
) {
    let database = TestDb::new(server, test);
    let (mut session, mut reader) = fill(&database, statements);
    for table in analyzed(&database, &mut session) {
        let expected = check_table(&table);
        for rows in [1, 7, 100, 5000] {
            let even = expected == Expected::EvenByKey;
            let plan = check(server, &mut reader, &mut session, &table, rows, even);
            let by_key = plan.chunks.iter().any(|chunk| chunk.condition.is_some());
            let partitions = plan.chunks[0].partition.is_some();
            let seen = format!("{} {} -r {rows}", server.kind().word(), table.name);
            match expected {
                Expected::EvenByKey => assert!(!partitions, "{seen}"),
                Expected::ByPartition => assert!(partitions && !by_key, "{seen}"),
                Expected::Whole => assert_eq!(plan.chunks.len(), 1, "{seen}"),
            }
        }
    }
}

/// How a table can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    EvenByKey,
    ByPartition,
    Whole,
}

fn expected(table: &Table) -> Expected {
    match table.name.name.as_bytes() {
        [b'w', b'_', ..] => Expected::Whole,
        [b'p', b'_', ..] => Expected::ByPartition,
        _ => Expected::EvenByKey,
    }
}

/// On all servers at the same time.
fn on_every_server(test: impl Fn(&Server) + Sync) {
    let servers = Server::all();
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| test(server));
        }
    });
}

#[test]
fn every_row_is_in_exactly_one_chunk_for_every_key() {
    on_every_server(|server| {
        check_schema(server, "chunk_keys", &tables::statements(server), expected);
    });
}

/// Rows with ids in which equal steps mean nothing: dense, spread out, with one far away, and crowded into few values.
fn uneven_tables() -> Vec<String> {
    let mut statements = tables::numbers();
    let filled = |name: &str, definition: &str, rows: &[&str]| {
        let create = format!("CREATE TABLE {name} ({definition}, v VARCHAR(200) NOT NULL)");
        let fill = |rows: &&str| {
            let numbers = "SELECT 1000 * a.n + b.n AS x FROM n a, n b WHERE a.n < 60";
            format!("INSERT INTO {name} SELECT {rows}, REPEAT('v', 100) FROM ({numbers}) numbers")
        };
        std::iter::once(create)
            .chain(rows.iter().map(fill))
            .collect::<Vec<_>>()
    };
    let id = "id BIGINT NOT NULL PRIMARY KEY";
    statements.extend(filled("big_dense", id, &["x"]));
    statements.extend(filled(
        "big_clusters",
        id,
        &[
            "x",
            "1000000000000 + x * 1000",
            "-9000000000000000000 + x * 77",
            "4000000000000000000 + x * x * 1000000",
        ],
    ));
    statements.push("INSERT INTO big_clusters VALUES (9000000000000000000, '')".to_owned());
    let tenants = "tenant INT NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (tenant, id)";
    statements.extend(filled(
        "big_tenants",
        tenants,
        &[
            "x DIV 600, x",
            "1000, x",
            "1000, 1000000 + x",
            "1000 + x MOD 7, -1 - x",
        ],
    ));
    statements
}

#[test]
fn uneven_integer_keys_give_even_chunks_for_few_questions() {
    const ROWS: u64 = 10_000;
    on_every_server(|server| {
        let database = TestDb::new(server, "chunk_uneven");
        let (mut session, mut reader) = fill(&database, &uneven_tables());
        for table in analyzed(&database, &mut session) {
            if !table.name.name.starts_with("big") {
                continue;
            }
            let plan = check(server, &mut reader, &mut session, &table, ROWS, false);
            let sizes = read_all(&mut reader, &table, &plan.chunks);
            let questions = plan.questions;
            let kind = server.kind();
            let of = format!("{kind:?} {}: {questions} questions, {sizes:?}", table.name);
            let (least, most) = (ROWS / 3, ROWS / 2 * 3);
            let mut sizes = sizes.iter().map(|size| *size as u64);
            assert!(sizes.all(|size| (least..=most).contains(&size)), "{of}");
        }
    });
}

#[test]
fn statistics_that_say_nothing_are_not_believed() {
    let mut statements = tables::numbers();
    let stale = [
        "CREATE TABLE stale (id INT NOT NULL PRIMARY KEY, v CHAR(10)) STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
        "INSERT INTO stale SELECT 1000 * a.n + b.n, 'x' FROM n a, n b WHERE a.n < 50",
    ];
    statements.extend(stale.map(str::to_owned));
    on_every_server(|server| {
        let database = TestDb::new(server, "chunk_stale");
        let (mut session, mut reader) = fill(&database, &statements);
        let all = tables(&mut session, database.name());
        let table = all.iter().find(|table| table.name.name == "stale");
        for rows in [100, 5000, 20_000] {
            check(
                server,
                &mut reader,
                &mut session,
                table.unwrap(),
                rows,
                true,
            );
        }
    });
}
