//! Between the catalog and the first row: what others may do to the tables meanwhile.
//!
//! Owns the second look at the tables once the snapshots stand, the search for those that cannot be opened, and the hold on those
//! that an ALTER waits for. What follows for the run the journey decides.

use std::collections::HashMap;

use super::coordinator::TableState;
use crate::catalog::Catalog;
use crate::catalog::ident::ObjectName;
use crate::catalog::table::TableKind;
use crate::error::Error;
use crate::server::error::Reach;
use crate::server::extra::ExtraConnection;

/// Where the workers hold all tables to the end, the extra connection asks for tables too, for their keys and definitions, and
/// would wait behind any ALTER that waits for the workers. Once rebuilt it may have to.
pub fn keep_from_alters(extra: &mut ExtraConnection, tables: &[TableState]) -> Result<(), Error> {
    let sound = tables.iter().filter(|state| state.failure.is_none());
    let names: Vec<_> = sound.map(|state| state.job.table.name.clone()).collect();
    let doing = "opening the tables";
    extra
        .ask(|session| {
            session.execute("START TRANSACTION", doing)?;
            session.keep_tables(&names)
        })
        .map_err(|error| Error::server(doing, error))
}

/// The columns were read before the definitions, so DDL in between would leave the two unlike, and a table that was made
/// meanwhile is in the snapshot but not in the plan. Returns what to tell of such tables.
pub fn compare_with_catalog(tables: &mut [TableState], now: &Catalog) -> Vec<String> {
    let mut current: HashMap<_, _> = now
        .tables()
        .filter(|table| table.kind == TableKind::Base)
        .map(|table| (&table.name, table))
        .collect();
    for state in tables {
        let planned = &state.job.table;
        if let Some(table) = current.remove(&planned.name)
            && (table.columns != planned.columns || table.partitions != planned.partitions)
        {
            let reason = "it was altered while the dump began".to_owned();
            state.failure.get_or_insert(reason);
        }
    }
    let mut created: Vec<_> = current.into_keys().collect();
    created.sort_unstable();
    created
        .into_iter()
        .map(|name| format!("table {name} was made while the dump began and is not in it"))
        .collect()
}

/// Finds the tables that cannot be opened; returns whether there are any new ones.
pub fn mark_unreadable(
    extra: &mut ExtraConnection,
    tables: &mut [TableState],
) -> Result<bool, Error> {
    let mut found = false;
    for state in tables.iter_mut().filter(|state| state.failure.is_none()) {
        let name: &ObjectName = &state.job.table.name;
        let sql = format!("SELECT 1 FROM {name} LIMIT 0");
        let doing = format!("opening {name}");
        match extra.ask(|session| session.execute(&sql, &doing)) {
            Ok(()) => {}
            Err(error) if error.reach() == Reach::Table => {
                log::error!("{error}");
                state.failure = Some(error.to_string());
                found = true;
            }
            Err(error) => return Err(Error::server(&doing, error)),
        }
    }
    Ok(found)
}
