//! `Plan`: which tables are read, in which order, and which of them need a lock.
//!
//! Owns what is decided before anything is locked: the largest tables come first, so that the end of a dump is not one worker
//! on one table; tables of engines without snapshots come before all, while the lock is held, if they are small enough.

use super::config::{ConsistencyMode, DumpConfig};
use super::report::{DryRun, PlannedTable};
use crate::catalog::Catalog;
use crate::catalog::privileges::routine_right;
use crate::catalog::table::{Table, TableKind};
use crate::chunk::{ChunkOptions, SessionProbe, TablePlanner};
use crate::error::Error;
use crate::server::extra::ExtraConnection;
use crate::server::flavor::{Flavor, Kind};

/// Storage engines whose rows a transaction sees as of its snapshot.
const SNAPSHOT_ENGINES: [&str; 4] = ["InnoDB", "ROCKSDB", "TokuDB", "ndbcluster"];

/// The base tables of a dump.
pub struct Plan {
    /// In the order in which they are read.
    pub tables: Vec<Table>,
    /// How many of them, from the first, are read while the lock is held.
    pub locked: usize,
    /// Tables that are read without a snapshot and without a lock, as the user allowed.
    pub inconsistent: Vec<String>,
    /// Whether the server is TiDB, which is read by regions.
    pub regions: bool,
}

impl Plan {
    /// Takes the base tables out of the catalog and puts them in order. Refuses tables without snapshots that are too large to
    /// be read under a lock, unless the mode or the user says otherwise.
    pub fn new(config: &DumpConfig, catalog: &mut Catalog, flavor: &Flavor) -> Result<Self, Error> {
        let mut tables = Vec::new();
        for database in &mut catalog.databases {
            let (base, others) = std::mem::take(&mut database.tables)
                .into_iter()
                .partition(|table| table.kind == TableKind::Base);
            tables.extend::<Vec<_>>(base);
            database.tables = others;
        }
        let regions = flavor.kind == Kind::TiDb;
        let exposed = |table: &Table| !regions && !has_snapshots(table);
        let size = |table: &Table| table.data_length_bytes.unwrap_or_default();
        // Stable: tables of one size stay in the order of their names.
        tables.sort_by_key(|table| (!exposed(table), std::cmp::Reverse(size(table))));
        let count = tables.iter().filter(|table| exposed(table)).count();
        let mut plan = Self {
            tables,
            locked: 0,
            inconsistent: Vec::new(),
            regions,
        };
        let options = &config.consistency;
        match options.mode {
            _ if !config.objects.data || count == 0 => {}
            // Everything is locked, or nothing is promised.
            ConsistencyMode::Lock | ConsistencyMode::None => {}
            _ if options.inconsistent_tables => {
                plan.inconsistent = plan.tables[..count]
                    .iter()
                    .map(|table| table.name.to_string())
                    .collect();
            }
            _ => {
                let bytes: u64 = plan.tables[..count].iter().map(size).sum();
                if bytes > options.locked_data_limit_bytes {
                    return Err(too_large_to_lock(&plan.tables[..count], bytes));
                }
                plan.locked = count;
            }
        }
        Ok(plan)
    }

    /// Plans every chunk without reading a row.
    pub fn dry_run(
        &self,
        config: &DumpConfig,
        flavor: &Flavor,
        extra: &mut ExtraConnection,
    ) -> Result<DryRun, Error> {
        let mut tables = Vec::new();
        for (index, table) in self.tables.iter().enumerate() {
            let mut planner = TablePlanner::new(table, &self.chunk_options(config, index));
            let mut chunks = Vec::new();
            let what = format!("planning the chunks of {}", table.name);
            while let Some(chunk) = extra
                .ask(|session| planner.next(&mut SessionProbe::new(session)))
                .map_err(|source| Error::server(&what, source))?
            {
                let partition = chunk.partition.map(|name| format!("PARTITION ({name}) "));
                let condition = chunk.condition.unwrap_or_default();
                chunks.push(partition.unwrap_or_default() + &condition);
            }
            tables.push(PlannedTable {
                name: table.name.to_string(),
                key: planner.key_columns(),
                rows_estimated: table.rows_estimate.unwrap_or_default(),
                chunks,
            });
        }
        Ok(DryRun {
            tables,
            privileges: needed_privileges(config, flavor),
        })
    }

    /// How the table at `index` is cut.
    pub fn chunk_options(&self, config: &DumpConfig, index: usize) -> ChunkOptions {
        ChunkOptions {
            rows: config.chunk_rows,
            order_by_primary_key: config.order_by_primary_key,
            // The largest table that is not read under the lock.
            finer_tail: index == self.locked,
            regions: self.regions,
        }
    }
}

/// Whether a transaction sees the table's rows as of its snapshot.
fn has_snapshots(table: &Table) -> bool {
    table.engine.as_ref().is_some_and(|engine| {
        SNAPSHOT_ENGINES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(engine))
    })
}

fn too_large_to_lock(tables: &[Table], bytes: u64) -> Error {
    const NAMED: usize = 5;
    let mut names: Vec<_> = tables
        .iter()
        .take(NAMED)
        .map(|table| {
            let engine = table.engine.as_deref().unwrap_or("no engine");
            format!("{} ({engine})", table.name)
        })
        .collect();
    if tables.len() > NAMED {
        names.push(format!("and {} more", tables.len() - NAMED));
    }
    Error::Request {
        message: format!(
            "{} MB of tables without snapshots are too much to be read under a lock: {}",
            bytes.div_ceil(1_000_000),
            names.join(", ")
        ),
        hint: Some(
            "use --consistency lock, raise --locked-data-limit, or accept an inconsistent copy of them with --inconsistent-tables"
                .to_owned(),
        ),
    }
}

/// What the account needs for this dump, as GRANT names it.
fn needed_privileges(config: &DumpConfig, flavor: &Flavor) -> Vec<String> {
    let objects = &config.objects;
    let (routines, on) = routine_right(flavor, "…");
    let routines = format!("{routines} on {on} (others' routines)");
    let mode = config.consistency.mode;
    let locks = matches!(
        mode,
        ConsistencyMode::Auto | ConsistencyMode::Lock | ConsistencyMode::Snapshot
    );
    let flushes = matches!(mode, ConsistencyMode::Auto | ConsistencyMode::Flush);
    [
        (true, "SELECT"),
        (objects.views, "SHOW VIEW"),
        (objects.triggers, "TRIGGER"),
        (objects.events, "EVENT"),
        (flushes && objects.data, "RELOAD (flush)"),
        (locks && objects.data, "LOCK TABLES (lock, snapshot)"),
        (true, "REPLICATION CLIENT (binlog position)"),
        (true, "PROCESS (to notice TRUNCATE)"),
        (
            flavor.has_instance_backup_lock() && objects.data,
            "BACKUP_ADMIN (keeps DDL out)",
        ),
        (
            flavor.has_binlog_snapshot() && objects.data,
            "BINLOG ADMIN (lets DDL in early)",
        ),
        (objects.routines, routines.as_str()),
        (objects.users, "SELECT on `mysql`.* (accounts)"),
    ]
    .into_iter()
    .filter(|(needed, _)| *needed)
    .map(|(_, name)| name.to_owned())
    .collect()
}
