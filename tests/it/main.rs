//! The integration tests: one binary, one module per behaviour, real servers (see `harness`).

// A test fails by a panic, and that is its report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod backup;
mod bad_input;
mod beginning;
mod check;
mod chunks;
mod cli;
mod connecting;
mod consistency;
mod csv;
mod ddl;
mod definer;
mod determinism;
mod dry_run;
mod faults;
mod filters;
mod global_state;
mod harness;
mod harness_dump;
mod harness_fixtures;
mod harness_proxy;
mod harness_restore;
mod harness_round_trip;
mod harness_server;
mod harness_writer;
mod history;
mod interrupt;
mod load;
mod memory;
mod privileges;
mod query;
mod rooms;
mod round_trip;
mod s3;
mod server_settings;
mod shell;
mod soak;
mod standalone;
mod tidb;
mod values;
mod verify;
#[path = "where.rs"]
mod where_clause;
