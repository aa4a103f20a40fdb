//! `Survey`: what the server holds, and what of it is to be read.
//!
//! Owns the look around before anything is locked or written: the catalog, the plan, the account's rights, the server's limits.
//! What the user named and the server does not show is an error here; what the account may not see is a warning, since nothing
//! else would tell of it.

use super::config::DumpConfig;
use super::plan::Plan;
use crate::catalog::history;
use crate::catalog::ident::quote;
use crate::catalog::privileges::{Need, Privileges};
use crate::catalog::table::{Table, TableKind};
use crate::catalog::{Catalog, Kinds, Selection};
use crate::error::Error;
use crate::format::Format;
use crate::manifest::names::is_shortened;
use crate::server::extra::ExtraConnection;
use crate::server::flavor::{Flavor, Kind};
use crate::server::session::is_fixed_setting;

/// Charsets in which every value the server lets in has a form in utf8mb4.
const WITHOUT_LOSS: [&str; 11] = [
    "ascii", "binary", "gb18030", "latin1", "ucs2", "utf16", "utf16le", "utf32", "utf8", "utf8mb3",
    "utf8mb4",
];

/// The server before the dump.
pub struct Survey {
    /// Databases with their views and stored objects; the base tables are in the plan.
    pub catalog: Catalog,
    /// Which tables are read in which order.
    pub plan: Plan,
    /// Which server it is.
    pub flavor: Flavor,
    /// The server's limit on a statement, in bytes.
    pub max_allowed_packet: u64,
    /// Whether DDL is to be kept out to the end.
    pub keep_ddl_out: bool,
    /// Rights that the account has not.
    pub missing: Vec<Need>,
    /// What the user ought to know.
    pub warnings: Vec<String>,
}

/// What a warning about a missing right begins with.
pub const LACKS: &str = "the account lacks ";

impl Survey {
    /// Reads what there is and decides what is to be read, in which order.
    pub fn make(config: &DumpConfig, extra: &mut ExtraConnection) -> Result<Self, Error> {
        let flavor = flavor(extra)?;
        if config.consistency.snapshot.is_some() && flavor.kind != Kind::TiDb {
            return Err(Error::Request {
                message: format!(
                    "--snapshot reads the past, which only TiDB keeps; this server is {flavor}"
                ),
                hint: Some(
                    "leave --snapshot out: the dump stands at the present moment".to_owned(),
                ),
            });
        }
        let wanted = &config.selection;
        let mut catalog = read_catalog(config, extra)?;
        if !catalog.unknown.is_empty() {
            let sentences: Vec<_> = catalog.unknown.iter().map(ToString::to_string).collect();
            return Err(Error::Request {
                message: sentences.join("; "),
                hint: None,
            });
        }
        if catalog.databases.is_empty() && !wanted.is_everything() {
            return Err(Error::Request {
                message: "nothing on this server matches what was asked for".to_owned(),
                hint: Some("check --database, --tables-list and --filter".to_owned()),
            });
        }
        let mut warnings = name_warnings(config, &catalog);
        let missing = missing_rights(extra, &flavor, &catalog, kinds(config))?;
        warnings.extend(missing.iter().map(|need| format!("{LACKS}{need}")));
        let max_allowed_packet = extra
            .ask(|session| session.first("SELECT @@max_allowed_packet", "reading a limit"))
            .map_err(|error| Error::server("reading max_allowed_packet", error))?
            .and_then(|row| row.number(0))
            .unwrap_or(u64::MAX);
        if matches!(config.format, Format::Csv(_)) {
            warnings.extend(catalog.tables().filter_map(loss_in_utf8));
            warnings.extend(catalog.tables().filter_map(labels_that_read_alike));
        }
        warnings.extend(catalog.tables().filter_map(members_that_are_not_shown));
        let unshown = catalog.tables().filter(|table| table.has_unshown_values);
        warnings.extend(unshown.map(|table| {
            format!(
                "a partition of {} has a value that the server shows with a ? or cuts, as it does with bytes that are no text: it is another value after loading",
                table.name
            )
        }));
        let mut plan = Plan::new(config, &mut catalog, &flavor)?;
        if config.objects.data {
            warnings.extend(past_versions(config, extra, &flavor, &mut plan.tables)?);
        }
        warnings.extend(plan.inconsistent.iter().map(|table| {
            format!("{table} has no snapshots, so it is read as it changes, and may be torn")
        }));
        Ok(Self {
            keep_ddl_out: config.consistency.backup_lock || wanted.is_everything(),
            catalog,
            plan,
            flavor,
            max_allowed_packet,
            missing,
            warnings,
        })
    }

    /// Whether there are views among what was selected.
    pub fn has_views(&self) -> bool {
        self.catalog
            .tables()
            .any(|table| table.kind == TableKind::View)
    }
}

/// Reads what is selected.
pub fn read_catalog(config: &DumpConfig, extra: &mut ExtraConnection) -> Result<Catalog, Error> {
    let wanted = &config.selection;
    let selection = Selection {
        databases: &wanted.databases,
        tables: &wanted.tables,
        may_match_database: &|database| wanted.filter.may_match_database(database),
        matches: &|database, table| wanted.filter.matches(database, table),
        kinds: kinds(config),
    };
    extra
        .ask(|session| Catalog::read(session, selection))
        .map_err(|error| Error::server("reading the list of tables", error))
}

/// Which server it is.
pub fn flavor(extra: &mut ExtraConnection) -> Result<Flavor, Error> {
    extra
        .ask(|session| Ok(session.flavor().clone()))
        .map_err(|error| Error::server("connecting to the server", error))
}

fn kinds(config: &DumpConfig) -> Kinds {
    let objects = &config.objects;
    Kinds {
        views: objects.views && objects.schemas,
        sequences: objects.sequences && objects.schemas,
        triggers: objects.triggers && objects.schemas,
        // They belong to a database, not to the tables that were named.
        routines: objects.routines && objects.schemas && config.selection.tables.is_empty(),
        events: objects.events && objects.schemas && config.selection.tables.is_empty(),
    }
}

/// What the account lacks is not in the catalog, and so in no other message.
fn missing_rights(
    extra: &mut ExtraConnection,
    flavor: &Flavor,
    catalog: &Catalog,
    kinds: Kinds,
) -> Result<Vec<Need>, Error> {
    let rights = extra
        .ask(Privileges::read)
        .map_err(|error| Error::server("reading the account's privileges", error))?;
    let needs = rights.needs(flavor, catalog, kinds);
    Ok(needs.into_iter().filter(|need| !need.held).collect())
}

/// CSV is UTF-8. A column whose charset has characters, or bytes, that Unicode has not may lose some on the way.
fn loss_in_utf8(table: &Table) -> Option<String> {
    let doubtful: Vec<_> = table
        .stored_columns()
        .filter_map(|column| Some((column, column.charset.as_deref()?)))
        .filter(|(_, charset)| !WITHOUT_LOSS.contains(charset))
        .map(|(column, charset)| format!("{} ({charset})", column.name))
        .collect();
    (!doubtful.is_empty()).then(|| {
        format!(
            "CSV is UTF-8, so characters of {} that Unicode does not have are lost: {}",
            table.name,
            doubtful.join(", ")
        )
    })
}

/// In text, which CSV is, the number 0 of an ENUM and the empty SET are the same as a label that is empty.
fn labels_that_read_alike(table: &Table) -> Option<String> {
    let alike = table.stored_columns().filter(|c| c.has_ambiguous_labels());
    let names: Vec<_> = alike.map(|column| quote(&column.name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "CSV cannot tell apart the values of {} of {} that read alike: those without a label and those with an empty one, or with a character beyond the basic plane",
            names.join(", "),
            table.name
        )
    })
}

/// With `--history` marks the tables that have one; without it, names them.
fn past_versions(
    config: &DumpConfig,
    extra: &mut ExtraConnection,
    flavor: &Flavor,
    tables: &mut [Table],
) -> Result<Vec<String>, Error> {
    let versioned = tables.iter().filter(|table| table.versioned);
    if !config.objects.history {
        let left_out = |table: &Table| {
            let name = &table.name;
            format!("past versions of rows of {name} are left out; --history takes them")
        };
        return Ok(versioned.map(left_out).collect());
    }
    if !flavor.takes_past_versions() {
        return Err(Error::Request {
            message: format!(
                "--history writes past versions of rows, which only MariaDB since 10.11 takes back; this server is {flavor}"
            ),
            hint: Some("leave --history out: the rows of today are dumped".to_owned()),
        });
    }
    extra
        .ask(|session| history::mark(session, tables))
        .map_err(|error| Error::server("reading the periods of versioned tables", error))?;
    let by_transaction = |table: &&Table| table.history.as_ref().is_some_and(|p| p.by_transaction);
    match tables.iter().find(by_transaction) {
        None => Ok(Vec::new()),
        Some(table) => Err(Error::Request {
            message: format!(
                "--history cannot keep the past versions of {}: they are told by transactions, which mean nothing on another server",
                table.name
            ),
            hint: Some("leave --history out, or the table by a filter".to_owned()),
        }),
    }
}

/// Servers show characters outside the basic plane as `?` in the values of ENUM and SET (seen on MariaDB and MySQL 9.7), in
/// every statement and view. A copy has `?` in their place; its rows have the same values by number.
fn members_that_are_not_shown(table: &Table) -> Option<String> {
    let doubtful: Vec<_> = table
        .columns
        .iter()
        .filter(|column| matches!(column.data_type.as_str(), "enum" | "set"))
        .filter(|column| column.column_type.contains('?'))
        .map(|column| quote(&column.name))
        .collect();
    (!doubtful.is_empty()).then(|| {
        format!(
            "the values of {} of {} hold a ?, which servers also show for characters beyond the basic plane: such a character is a ? after loading",
            doubtful.join(", "),
            table.name
        )
    })
}

fn name_warnings(config: &DumpConfig, catalog: &Catalog) -> Vec<String> {
    let unused = config.selection.filter.unused_rules();
    let unused = unused
        .into_iter()
        .map(|rule| format!("the filter rule {rule} matches no table"));
    let shortened = catalog
        .tables()
        .filter(|table| is_shortened(&table.name))
        .map(|table| {
            format!(
                "the name of {} is too long for a file, so its files carry a shortened one; the manifest has the whole",
                table.name
            )
        });
    let variables = &config.connection.session_variables;
    let fixed = variables
        .iter()
        .filter(|(name, _)| is_fixed_setting(name))
        .map(|(name, _)| format!("--params cannot change {name}, which rdump sets itself"));
    unused.chain(shortened).chain(fixed).collect()
}
