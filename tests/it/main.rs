//! The integration tests: one binary, one module per behaviour, real servers (see `harness`).

// A test fails by a panic, and that is its report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod bad_input;
mod beginning;
mod chunks;
mod cli;
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
mod memory;
mod privileges;
mod query;
mod rooms;
mod round_trip;
mod s3;
mod server_settings;
mod soak;
mod standalone;
mod tidb;
mod values;
#[path = "where.rs"]
mod where_clause;
