//! stub
use super::ident::ObjectName;
use crate::server::{error::ServerError, session::Session};
use std::collections::HashMap;
#[derive(Debug, Clone)]
pub struct Identity;
impl Identity {
    pub fn differs(&self, _: &Self) -> Option<String> {
        None
    }
}
impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
pub fn read(
    _: &mut Session,
    _: &[ObjectName],
) -> Result<HashMap<ObjectName, Identity>, ServerError> {
    Ok(HashMap::new())
}
