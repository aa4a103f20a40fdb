//! `rdump check`: everything of a dump but its rows.
//!
//! Owns the rehearsal: the survey, the plan, the room on the disk, and the snapshot itself, which is taken as a dump would take it, with
//! one worker, and given back at once. Whatever a managed server refuses shows here, which no list of rights could tell.

use super::free_space;
use super::report::{CheckReport, MissingRight};
use super::survey::{LACKS, Survey};
use super::tables::Journey;
use crate::catalog::ident::quote;
use crate::catalog::privileges::Privileges;
use crate::error::Error;
use crate::progress::figures::{bytes, counted};
use crate::server::error::chain;
use crate::server::extra::ExtraConnection;
use crate::server::flavor::{Flavor, Kind};
use crate::server::position::{BinlogState, Moment};
use crate::server::snapshot::{Snapshot, SnapshotRequest};

impl Journey<'_> {
    /// Looks at everything; reads no rows and writes nothing. An error means that not even this could be done.
    pub fn check(&self) -> Result<CheckReport, Error> {
        let mut extra = self.extra();
        let mut survey = Survey::make(self.config, &mut extra)?;
        let account = current_user(&mut extra)?;
        let missing = missing_rights(&survey, &mut extra, &account)?;
        let server = self.connector().server();
        let mut findings = vec![
            ("server", format!("{} at {server}", survey.flavor)),
            ("account", account),
        ];
        let mut problems = Vec::new();
        findings.push(("tables", tables(&survey)));
        if survey.plan.locked > 0 {
            let exposed = counted(survey.plan.locked as u64, "table");
            let sentence = format!("{exposed} without snapshots, to be read first, under the lock");
            findings.push(("locked", sentence));
        }
        match free_space::check(self.config, self.storage, &survey.plan.tables) {
            Ok(warning) => survey.warnings.extend(warning),
            Err(error) => problems.push(error.to_string()),
        }
        if let Some(free) = self.storage.free_bytes() {
            let place = self.storage.describe();
            findings.push(("space", format!("{} free at {place}", bytes(free))));
        }
        let moment = extra
            .ask(Moment::read)
            .map_err(|error| Error::server("reading the binlog position", error))?;
        findings.push(("binlog", binlog(&moment)));
        if !moment.replicas.is_empty() {
            let hosts: Vec<_> = moment.replicas.iter().map(|r| r.host.as_str()).collect();
            findings.push(("replica", format!("of {}", hosts.join(", "))));
        }
        if self.config.objects.data {
            match self.rehearse(&survey) {
                Ok(found) => findings.extend(found),
                Err(error) => problems.push(chain(&error)),
            }
            let plan = survey
                .plan
                .dry_run(self.config, &survey.flavor, &mut extra)?;
            let chunks: usize = plan.tables.iter().map(|table| table.chunks.len()).sum();
            findings.push(("plan", counted(chunks as u64, "chunk")));
        }
        problems.extend(
            missing
                .iter()
                .filter(|right| right.ends_dump)
                .map(|right| format!("the account lacks {}: {}", right.right, right.otherwise)),
        );
        survey.warnings.retain(|text| !text.starts_with(LACKS));
        Ok(CheckReport {
            findings,
            missing,
            warnings: survey.warnings,
            problems,
        })
    }

    /// Takes the snapshot as a dump would, and says which mode it was and why not a better one.
    fn rehearse(&self, survey: &Survey) -> Result<Vec<(&'static str, String)>, Error> {
        let names: Vec<_> = survey.plan.tables.iter().map(|t| t.name.clone()).collect();
        let mut options = self.config.consistency.clone();
        options.spare_connections = 0;
        let request = SnapshotRequest {
            options: &options,
            sessions: 1,
            tables: &names,
            needs_lock: survey.plan.locked > 0,
            keep_ddl_out: false,
        };
        let (snapshot, sessions) = Snapshot::take(self.connector(), &request)?;
        drop(sessions);
        let asked = self.config.consistency.mode.name();
        let mode = snapshot.mode().name();
        let mut found = vec![(
            "mode",
            if asked == mode {
                format!("--consistency {mode} works: it was tried just now")
            } else {
                format!("--consistency {asked} takes {mode}: it was tried just now")
            },
        )];
        let passed_over = snapshot.passed_over().iter();
        found.extend(passed_over.map(|reason| ("not", reason.clone())));
        if snapshot.keeps_tables() {
            let sentence = "all tables are held against ALTER to the end of a dump";
            found.push(("note", sentence.to_owned()));
        }
        Ok(found)
    }
}

/// What the account lacks: what objects need, and what the modes do.
fn missing_rights(
    survey: &Survey,
    extra: &mut ExtraConnection,
    account: &str,
) -> Result<Vec<MissingRight>, Error> {
    let held = extra
        .ask(Privileges::read)
        .map_err(|error| Error::server("reading the account's privileges", error))?;
    let mut missing = Vec::new();
    let mut add = |right: &str, on: &str, otherwise: &str, ends_dump| {
        missing.push(MissingRight {
            grant: format!("GRANT {right} ON {on} TO {account};"),
            right: format!("{right} on {on}"),
            otherwise: otherwise.to_owned(),
            ends_dump,
        });
    };
    for need in &survey.missing {
        // Only a view is known to be there and cannot be read.
        let ends_dump = need.right == "SHOW VIEW" && survey.has_views();
        add(need.right, &need.on, &need.otherwise, ends_dump);
    }
    for database in &survey.catalog.databases {
        if survey.flavor.kind != Kind::TiDb && !held.may_lock_tables(&database.name) {
            let on = format!("{}.*", quote(&database.name));
            let otherwise = "--consistency lock, and mostly snapshot, cannot be used";
            add("LOCK TABLES", &on, otherwise, false);
        }
    }
    for (right, otherwise) in mode_rights(&survey.flavor, &held) {
        add(right, "*.*", otherwise, false);
    }
    Ok(missing)
}

/// Rights on the whole server without which a dump works, but not as well.
fn mode_rights(flavor: &Flavor, held: &Privileges) -> Vec<(&'static str, &'static str)> {
    if flavor.kind == Kind::TiDb {
        return Vec::new();
    }
    let position = match flavor.kind {
        Kind::MariaDb => "BINLOG MONITOR",
        _ => "REPLICATION CLIENT",
    };
    let needs = [
        (
            !held.may_flush(),
            "RELOAD",
            "--consistency flush cannot be used",
        ),
        (
            !held.may_see_position(),
            position,
            "the dump's place in the binlog is not recorded",
        ),
        (
            flavor.has_instance_backup_lock() && !held.may_lock_instance(),
            "BACKUP_ADMIN",
            "DDL is not kept out while the snapshots start",
        ),
    ];
    let lacking = needs.into_iter().filter(|(lacks, ..)| *lacks);
    lacking
        .map(|(_, right, otherwise)| (right, otherwise))
        .collect()
}

/// The account as the server knows it, quoted for GRANT.
fn current_user(extra: &mut ExtraConnection) -> Result<String, Error> {
    let doing = "reading the account's name";
    let row = extra
        .ask(|session| session.first("SELECT CURRENT_USER()", doing))
        .map_err(|error| Error::server(doing, error))?;
    let text = row.and_then(|row| row.text(0)).unwrap_or_default();
    let (user, host) = text.rsplit_once('@').unwrap_or((&text, "%"));
    Ok(format!("{}@{}", quote(user), quote(host)))
}

fn tables(survey: &Survey) -> String {
    let tables = &survey.plan.tables;
    let sizes = tables.iter().filter_map(|table| table.data_length_bytes);
    let rows = tables.iter().filter_map(|table| table.rows_estimate);
    format!(
        "{} with about {} in {}",
        counted(tables.len() as u64, "table"),
        counted(rows.sum(), "row"),
        bytes(sizes.sum())
    )
}

fn binlog(moment: &Moment) -> String {
    match &moment.binlog {
        BinlogState::At(position) => format!("stands at {position}"),
        BinlogState::Off => {
            "off: only a spare connection can take the place of a lost one".to_owned()
        }
        BinlogState::Denied(reason) => format!("not known: {reason}"),
    }
}
