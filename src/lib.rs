//! rdump: a streaming, parallel logical dumper for MySQL, MariaDB and TiDB.
pub mod cancel;
pub mod catalog;
pub mod chunk;
pub mod cli;
pub mod compress;
pub mod dump;
pub mod error;
pub mod format;
pub mod manifest;
pub mod progress;
pub mod retry;
pub mod secret;
pub mod server;
pub mod storage;
