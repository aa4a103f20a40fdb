//! Connections that die: whatever happens to a socket, a dump is whole and equal to an undisturbed one, or fails with a
//! sentence and without a manifest, and never waits for long.
//!
//! An ordinary run goes through each kind of fault once, over one transport, with 50 MB. `make faults`
//! (`RDUMP_TEST_FAULTS=full`) takes 500 MB, every transport and every server for each.

mod altered;
mod connections;
mod limits;
mod network;
mod planning;
mod restart;
mod rights;
mod scene;
mod stop;
mod workers;
