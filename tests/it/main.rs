//! The integration tests: one binary, one module per behaviour, real servers (see `harness`).

// A test fails by a panic, and that is its report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod chunks;
mod cli;
mod harness;
mod harness_dump;
mod harness_fixtures;
mod harness_proxy;
mod harness_restore;
mod harness_server;
mod harness_writer;
mod interrupt;
mod round_trip;
