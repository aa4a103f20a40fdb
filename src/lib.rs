//! rdump: a streaming, parallel logical dumper for MySQL, MariaDB and TiDB.
//!
//! Nouns are rooms, verbs are journeys through rooms, and bytes move one way:
//!
//! ```text
//!  shell ──► cli/ ──► DumpConfig ──► dump/ coordinator ─────────────► progress/
//!                                      │ connect, snapshot, plan, hand out, collect
//!    ┌───────────┬───────────┬─────────┴──┬──────────┬───────────┐
//!  server/ ──► catalog/ ──► chunk/ ─jobs─► worker: rows ─► format/ ─► compress ─► storage/
//!  snapshot    tables,keys  bounds        server/rows     sql│csv     gzip│zstd   local
//!                                                                         │
//!                                     manifest/ ◄──── chunk reports ◄─────┘ (last)
//! ```
//!
//! The shell and the journey:
//!
//! - [`cli`] is the command line: what was typed becomes a [`dump::config::DumpConfig`], what happened becomes words.
//! - [`dump`] is the journey: the order of the steps, the plan, the workers, the end.
//! - [`backup`] is the same journey made again and again: the lock, the link to the newest dump, the removal of older ones.
//! - [`load`] is the way back, and [`verify`] looks whether there is one: the same rooms, walked the other way.
//! - [`error`] is what ended a run, on which object.
//!
//! The rooms, each with one thing that only it knows:
//!
//! - [`server`] is the only door to the `mysql` crate: sessions, snapshots, locks, positions, rows as borrowed cells.
//! - [`catalog`] is what the server holds: tables, columns, keys, definitions, filters, and how a table is known again.
//! - [`chunk`] is how a table is cut, so that every row is in exactly one chunk.
//! - [`format`](mod@format) is a row as text, SQL or CSV.
//! - [`compress`] is how a file's bytes are compressed.
//! - [`storage`] is where a dump lives: no file has its final name before it is whole.
//! - [`manifest`] is the dump's description of itself, and the names of its files.
//! - [`progress`] is how far a run is: the only counters, and how a person sees them.
//!
//! And what everybody may need: [`cancel`] is the flag that every wait hears, [`retry`] when to try again, [`secret`] a text
//! that never shows itself.
//!
//! Imports go from `main` to [`cli`] to the journeys to the rooms and never back. `tests/it/rooms.rs` has the table, and checks it.

pub mod backup;
pub mod cancel;
pub mod catalog;
pub mod chunk;
pub mod cli;
pub mod compress;
pub mod dump;
pub mod error;
pub mod format;
pub mod load;
pub mod manifest;
pub mod progress;
pub mod retry;
pub mod secret;
pub mod server;
pub mod storage;
pub mod verify;
