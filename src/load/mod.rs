//! The journey of a load: from files to a server.

pub mod config;
pub mod report;

use crate::cancel::CancelToken;
use crate::error::Error;
use crate::progress::Progress;
use config::LoadConfig;
use report::LoadReport;

/// Loads what `config` asks for.
pub fn run(
    config: &LoadConfig,
    _progress: &Progress,
    _cancel: &CancelToken,
) -> Result<LoadReport, Error> {
    Err(Error::Request {
        message: format!("{} cannot be loaded yet", config.source.display()),
        hint: None,
    })
}
