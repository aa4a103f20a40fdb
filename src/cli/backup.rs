//! From flags to a [`BackupConfig`]: what comes around a dump that is made again and again.
//!
//! Owns what `--output` with placeholders means, and the checks of paths that must be usable before anything is connected to.

use std::fs;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use super::flags::BackupArgs;
use super::usage::UsageError;
use crate::backup::BackupConfig;
use crate::backup::series::Series;
use crate::dump::config::WatchOptions;

/// The directory for a run that begins now, and the series it belongs to.
pub fn output_of_run(path: PathBuf) -> Result<(PathBuf, Option<Series>), UsageError> {
    let series = Series::parse(&path).map_err(|error| {
        UsageError::new(format!("-o {error}"))
            .with_hint("{date} and {time} are known, as in '/backups/{date}T{time}'")
    })?;
    match series {
        None => Ok((path, None)),
        Some(series) => Ok((series.path_at(OffsetDateTime::now_utc()), Some(series))),
    }
}

/// What comes around the dump.
pub fn backup(args: &BackupArgs, series: Option<Series>) -> Result<BackupConfig, UsageError> {
    if args.keep.is_some() && series.is_none() {
        let sentence =
            "--keep needs an output whose name tells the dumps of this job from all else";
        return Err(UsageError::new(sentence)
            .with_hint("put {date} or {time} into it, as -o '/backups/shop-{date}T{time}'"));
    }
    if let Some(link) = &args.latest_link {
        check_place("--latest-link", link)?;
        let there = fs::symlink_metadata(link);
        if there.is_ok_and(|there| !there.is_symlink()) {
            let sentence = format!(
                "--latest-link {} is there and no symbolic link",
                link.display()
            );
            return Err(UsageError::new(sentence).with_hint("nothing else is ever replaced"));
        }
    }
    if let Some(file) = &args.metrics_file {
        check_place("--metrics-file", file)?;
    }
    let of_series = series.as_ref().map(Series::lock_path);
    Ok(BackupConfig {
        lock: args.lock_file.clone().or(of_series),
        series,
        latest_link: args.latest_link.clone(),
        keep: args.keep,
    })
}

/// What is looked at while the dump runs. Pauses come between chunks, of which a query has one.
pub fn watch(args: &BackupArgs, query: bool) -> Result<WatchOptions, UsageError> {
    let watch = WatchOptions {
        pause_while: args.throttle.concat(),
        max_replica_lag: args.max_replica_lag,
        min_free_space: args.min_free_space,
    };
    let watches = WatchOptions {
        min_free_space: watch.min_free_space.filter(|least| *least > 0),
        ..watch.clone()
    };
    if query && watches != WatchOptions::default() {
        let sentence =
            "--throttle, --max-replica-lag and --min-free-space are for tables, not for --sql";
        return Err(UsageError::new(sentence).with_hint("--max-rate works for a query too"));
    }
    Ok(watch)
}

/// Whether there is a folder for the file, and the file is no folder itself.
fn check_place(flag: &str, path: &Path) -> Result<(), UsageError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    if path.file_name().is_none() || path.is_dir() && !path.is_symlink() {
        let sentence = format!("{flag} {} is a directory", path.display());
        return Err(UsageError::new(sentence).with_hint("name a file in it"));
    }
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        let sentence = format!("{flag} {}: there is no such directory", path.display());
        return Err(UsageError::new(sentence).with_hint("make it first"));
    }
    Ok(())
}
