//! What the server holds, read in bulk.
pub mod column;
pub mod filter;
pub mod ident;
pub mod key;
pub mod table;
