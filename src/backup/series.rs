//! `Series`: the names of the dumps of one job, as `/backups/shop-{date}T{time}`.
//!
//! Owns the template: which name a run gets, and which names are of the same job. Every placeholder has a fixed width, so a name
//! matches in one way or not at all. What lies under such a name `retention.rs` looks at.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;

/// Why a template is refused. Each is a phrase that follows the name of the flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// A placeholder in a folder above: then the dumps would not lie side by side.
    #[error(
        "has a placeholder before its last `/`; only the name of the directory itself may have one"
    )]
    Above,
    /// Braces around something else.
    #[error("has `{0}`, which means nothing")]
    Unknown(String),
    /// A brace without its partner.
    #[error("has a brace that is never closed or opened")]
    Unbalanced,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// `2026-01-31`
    Date,
    /// `23-59-59`
    Time,
}

/// The shape of dates and times: `0` stands for a digit.
const DATE: &str = "0000-00-00";
const TIME: &str = "00-00-00";

/// Where the dumps of one job lie, and how they are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    parent: PathBuf,
    template: String,
    pieces: Vec<Piece>,
}

impl Series {
    /// The series of an output path; none if the path has no placeholder.
    pub fn parse(path: &Path) -> Result<Option<Self>, SeriesError> {
        let has_braces = |text: &OsStr| text.to_string_lossy().contains(['{', '}']);
        let Some(name) = path.file_name() else {
            return Ok(None);
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        if has_braces(parent.as_os_str()) {
            return Err(SeriesError::Above);
        }
        if !has_braces(name) {
            return Ok(None);
        }
        let template = name.to_string_lossy().into_owned();
        Ok(Some(Self {
            parent: parent.to_owned(),
            pieces: pieces(&template)?,
            template,
        }))
    }

    /// Where the dumps lie.
    pub fn parent(&self) -> &Path {
        if self.parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.parent
        }
    }

    /// The directory of a run that begins at `moment`, which should be UTC.
    pub fn path_at(&self, moment: OffsetDateTime) -> PathBuf {
        let date = format_description!("[year]-[month]-[day]");
        let time = format_description!("[hour]-[minute]-[second]");
        let name: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                // Formatting into a string cannot fail for a whole moment.
                Piece::Date => moment.format(date).unwrap_or_default(),
                Piece::Time => moment.format(time).unwrap_or_default(),
            })
            .collect();
        self.parent.join(name)
    }

    /// Whether a name could be one of this series.
    pub fn matches(&self, name: &str) -> bool {
        let mut rest = name;
        for piece in &self.pieces {
            let taken = match piece {
                Piece::Text(text) => rest.strip_prefix(text.as_str()),
                Piece::Date => after_shape(rest, DATE),
                Piece::Time => after_shape(rest, TIME),
            };
            match taken {
                Some(tail) => rest = tail,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// The lock of this job: beside the dumps, and no other job's.
    pub fn lock_path(&self) -> PathBuf {
        self.parent.join(format!(".{}.rdump-lock", self.template))
    }
}

fn after_shape<'a>(text: &'a str, shape: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(shape.len())?;
    let fits = head.bytes().zip(shape.bytes()).all(|(byte, shape)| {
        if shape == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == shape
        }
    });
    fits.then_some(tail)
}

fn pieces(template: &str) -> Result<Vec<Piece>, SeriesError> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        if at > 0 {
            pieces.push(Piece::Text(rest[..at].to_owned()));
        }
        let inner = rest[at..]
            .strip_prefix('{')
            .ok_or(SeriesError::Unbalanced)?;
        let (word, tail) = inner.split_once('}').ok_or(SeriesError::Unbalanced)?;
        pieces.push(match word {
            "date" => Piece::Date,
            "time" => Piece::Time,
            _ => return Err(SeriesError::Unknown(format!("{{{word}}}"))),
        });
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use time::macros::datetime;

    fn series(path: &str) -> Series {
        Series::parse(Path::new(path)).unwrap().unwrap()
    }

    #[test]
    fn a_name_is_made_of_the_moment_and_recognised_again() {
        let shop = series("/backups/shop-{date}T{time}");
        let path = shop.path_at(datetime!(2026-01-02 03:04:05 UTC));
        assert_eq!(path, Path::new("/backups/shop-2026-01-02T03-04-05"));
        assert_eq!(shop.parent(), Path::new("/backups"));
        assert!(shop.matches("shop-2026-01-02T03-04-05"));
        for other in [
            "shop-2026-01-02T03-04-05Z",
            "shop-2026-01-02",
            "shop2-2026-01-02T03-04-05",
            "shop-2026-1-02T03-04-05",
            "shop-２026-01-02T03-04-05",
            "crm-2026-01-02T03-04-05",
            "",
        ] {
            assert!(!shop.matches(other), "{other}");
        }
        let lock = shop.lock_path();
        assert_eq!(lock, Path::new("/backups/.shop-{date}T{time}.rdump-lock"));
    }

    #[test]
    fn a_path_without_a_placeholder_is_no_series() {
        assert_eq!(Series::parse(Path::new("/backups/today")), Ok(None));
        assert_eq!(series("{date}").parent(), Path::new("."));
    }

    #[test]
    fn other_braces_are_refused() {
        let refused = |path: &str| Series::parse(Path::new(path)).unwrap_err();
        assert_eq!(refused("/b/{date}/x"), SeriesError::Above);
        assert_eq!(
            refused("/b/{host}"),
            SeriesError::Unknown("{host}".to_owned())
        );
        assert_eq!(refused("/b/{date"), SeriesError::Unbalanced);
        assert_eq!(refused("/b/date}"), SeriesError::Unbalanced);
    }
}
