//! Whether the dump fits where it goes, by what the server says of its tables.
//!
//! Owns the guess before anything is locked. Statistics count pages, of which some are half empty, and text has another size than
//! rows, so only what cannot fit by far is refused; the rest is a warning. What the disk has in the end to say counts anyway.

use super::config::DumpConfig;
use crate::catalog::table::Table;
use crate::compress::Compression;
use crate::error::Error;
use crate::progress::figures;
use crate::storage::Storage;

/// A dump is at least this part of the tables' pages, in percent: they may be half empty, and text compresses well.
const LEAST_PERCENT_PLAIN: u64 = 50;
const LEAST_PERCENT_COMPRESSED: u64 = 5;
/// And about this part.
const USUAL_PERCENT_PLAIN: u64 = 100;
const USUAL_PERCENT_COMPRESSED: u64 = 30;

/// Refuses a dump that cannot fit; returns a warning about one that may not. A condition on rows, or no rows at all, says nothing of
/// the size; neither does `--min-free-space 0`, which turns the look off.
pub fn check(
    config: &DumpConfig,
    storage: &dyn Storage,
    tables: &[Table],
) -> Result<Option<String>, Error> {
    let reserve = config.watch.min_free_space;
    let silent = !config.objects.data || config.where_clause.is_some() || reserve == Some(0);
    let Some(free) = storage.free_bytes().filter(|_| !silent) else {
        return Ok(None);
    };
    let free = free.saturating_sub(reserve.unwrap_or_default());
    let pages = tables.iter().filter_map(|table| table.data_length_bytes);
    let pages: u64 = pages.fold(0, u64::saturating_add);
    let (least, usual) = match config.compression {
        Compression::None => (LEAST_PERCENT_PLAIN, USUAL_PERCENT_PLAIN),
        _ => (LEAST_PERCENT_COMPRESSED, USUAL_PERCENT_COMPRESSED),
    };
    let needed = |percent| pages / 100 * percent;
    let sentence = || {
        format!(
            "the tables hold about {}, and only {} are free at {}",
            figures::bytes(pages),
            figures::bytes(free),
            storage.describe()
        )
    };
    if needed(least) > free {
        return Err(Error::Request {
            message: sentence(),
            hint: Some(
                "make room, use --compress zstd, or say --min-free-space 0 to try all the same"
                    .to_owned(),
            ),
        });
    }
    Ok((needed(usual) > free).then(sentence))
}
