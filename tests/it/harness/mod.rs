//! The tests' harness: real servers, databases of a test's own, the `rdump` binary under a hard time limit, restore and
//! comparison by means that share no code with rdump, a proxy that breaks connections, a writer that keeps an invariant.
//!
//! ```ignore
//! let server = Server::mariadb();
//! let database = TestDb::new(&server, "strings");
//! database.exec("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)");
//! let run = Rdump::dump(&server).database(database.name()).args(["-t", "4"]).run();
//! run.assert_ok();
//! assert_round_trip(&run, &database);
//! ```

mod binlog;
mod compare;
mod database;
mod dev_server;
mod disk;
mod dump;
mod environment;
mod files;
mod fixtures;
mod http_proxy;
mod object_store;
mod process;
mod proxy;
mod query;
mod restore;
mod scripted;
mod server;
mod writer;

pub use binlog::{binlog_can_be_read, replay_binlog};
pub use compare::{assert_round_trip, assert_same_database, checksums, differences};
pub use database::{DUMPER_PASSWORD, TestDb};
pub use dev_server::Kind;
pub use disk::SmallDisk;
pub use dump::{Rdump, Run, Running};
pub use environment::number_of_environment;
pub use files::{TEMP_PREFIX, assert_no_temporary_files, list_files};
pub use fixtures::cases;
pub use http_proxy::{HttpProxy, HttpRequest, Verdict};
pub use object_store::ObjectStore;
pub use process::Signaller;
pub use proxy::{Fault, Listen, Proxy, Target, Trigger};
pub use query::{Query, Row, identifier};
pub use restore::{restore, restore_as, restore_with};
pub use scripted::{Answer, INTEGER, ScriptedServer, TEXT};
pub use server::{Server, announce};
pub use writer::{Writer, assert_invariant};
