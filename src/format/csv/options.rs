//! Which CSV options give a file that can be read back.
//!
//! Owns the refusals, with their reasons, and the choice of the escaper, on which they rest. What a reader must be able to
//! tell apart: where a value ends, where a row ends, and NULL from any text. Defaults and flags it leaves to `cli/`.

use std::fmt;

use super::super::escape::Escaper;
use super::super::{CsvBinary, CsvOptions};

/// One of the texts that make up a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvPart {
    /// Between two cells.
    Separator,
    /// Around text.
    Delimiter,
    /// After a row.
    LineTerminator,
    /// For NULL.
    NullValue,
}

/// As in a sentence.
impl fmt::Display for CsvPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Separator => "separator",
            Self::Delimiter => "delimiter",
            Self::LineTerminator => "line terminator",
            Self::NullValue => "null value",
        })
    }
}

/// Why a file with these options could not be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsvOptionError {
    /// A part without which cells or rows would run together.
    #[error("the CSV {0} is empty")]
    Empty(CsvPart),
    /// Longer than the one byte that LOAD DATA takes.
    #[error("the CSV delimiter is longer than one byte, which LOAD DATA cannot read")]
    LongDelimiter,
    /// No delimiter and no backslash.
    #[error("without a CSV delimiter values must be escaped by backslashes")]
    NothingProtectsValues,
    /// A line break where only a terminator may have one.
    #[error("the CSV {0} holds a line break")]
    LineBreak(CsvPart),
    /// A backslash that would be taken for an escape.
    #[error("the CSV {0} holds a backslash, which also escapes")]
    Backslash(CsvPart),
    /// A first byte that bare values are made of, or that means something else after a backslash.
    #[error("the CSV {0} begins with a byte that occurs in numbers or after a backslash")]
    ValueByte(CsvPart),
    /// Not ASCII, where only ASCII is read back: MySQL 8 does not put a character together whose first byte is escaped.
    #[error("the CSV {0} begins with a byte that is not ASCII")]
    NotAscii(CsvPart),
    /// One holds the other, so that a reader takes one for the other.
    #[error("the CSV {0} and the CSV {1} hold one another")]
    Overlap(CsvPart, CsvPart),
    /// The null value holds this part, or makes one with what follows.
    #[error("the CSV null value would be cut by a CSV {0} in it")]
    NullRunsInto(CsvPart),
    /// NULL is written as a value could be.
    #[error(
        "the CSV null value could also be a value, since text without a delimiter looks the same"
    )]
    NullIsValue,
}

impl CsvOptions {
    /// Refuses options whose files could not be read back.
    pub fn validate(&self) -> Result<(), CsvOptionError> {
        use CsvPart::{Delimiter, LineTerminator, NullValue, Separator};

        for (part, text) in [
            (Separator, &self.separator),
            (LineTerminator, &self.line_terminator),
        ] {
            let Some(&first) = text.first() else {
                return Err(CsvOptionError::Empty(part));
            };
            if self.starts_in_bare_value(first) {
                return Err(CsvOptionError::ValueByte(part));
            }
            if self.delimiter.is_empty() && !first.is_ascii() {
                return Err(CsvOptionError::NotAscii(part));
            }
        }
        match *self.delimiter {
            [] if !self.escape_backslash => return Err(CsvOptionError::NothingProtectsValues),
            [] => {}
            [byte] if !byte.is_ascii() => return Err(CsvOptionError::NotAscii(Delimiter)),
            [byte] if is_word_byte(byte) => return Err(CsvOptionError::ValueByte(Delimiter)),
            [_] => {}
            _ => return Err(CsvOptionError::LongDelimiter),
        }
        for (part, text) in [
            (Separator, &self.separator),
            (Delimiter, &self.delimiter),
            (NullValue, &self.null_value),
        ] {
            if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                return Err(CsvOptionError::LineBreak(part));
            }
        }
        self.refuse_backslashes()?;
        self.refuse_overlaps()?;
        self.refuse_null_value()
    }

    /// What escapes the text of these options.
    pub(super) fn escaper(&self) -> Escaper {
        match (self.delimiter.first(), self.escape_backslash) {
            (Some(&delimiter), false) => Escaper::doubling(delimiter),
            (Some(&delimiter), true) => Escaper::backslash([delimiter; 2]),
            (None, _) => {
                let first = |part: &[u8]| part.first().copied().unwrap_or(b'\\');
                Escaper::backslash([first(&self.separator), first(&self.line_terminator)])
            }
        }
    }

    /// Whether `byte` may stand in a value that is neither quoted nor escaped, or has a meaning of its own after a backslash.
    fn starts_in_bare_value(&self, byte: u8) -> bool {
        let base64 = self.delimiter.is_empty() && self.binary == CsvBinary::Base64;
        is_word_byte(byte) || base64 && matches!(byte, b'/' | b'=')
    }

    fn refuse_backslashes(&self) -> Result<(), CsvOptionError> {
        let parts = [
            (CsvPart::Separator, &self.separator),
            (CsvPart::Delimiter, &self.delimiter),
            (CsvPart::LineTerminator, &self.line_terminator),
        ];
        match parts.iter().find(|(_, text)| text.contains(&b'\\')) {
            Some((part, _)) if self.escape_backslash => Err(CsvOptionError::Backslash(*part)),
            _ => Ok(()),
        }
    }

    fn refuse_overlaps(&self) -> Result<(), CsvOptionError> {
        use CsvPart::{Delimiter, LineTerminator, NullValue, Separator};

        for (part, text) in [
            (Separator, &self.separator),
            (LineTerminator, &self.line_terminator),
            (NullValue, &self.null_value),
        ] {
            if self.delimiter.iter().any(|byte| text.contains(byte)) {
                return Err(CsvOptionError::Overlap(part, Delimiter));
            }
        }
        // A separator and a line break is read right, as the line break begins no value: `|+|\n` is common.
        let line_break = matches!(
            self.line_terminator.strip_prefix(&*self.separator),
            Some(b"\n" | b"\r\n")
        );
        let overlap = position(&self.line_terminator, &self.separator).is_some()
            || position(&self.separator, &self.line_terminator).is_some();
        if overlap && !line_break {
            return Err(CsvOptionError::Overlap(Separator, LineTerminator));
        }
        Ok(())
    }

    fn refuse_null_value(&self) -> Result<(), CsvOptionError> {
        let ends = [
            (CsvPart::Separator, &self.separator),
            (CsvPart::LineTerminator, &self.line_terminator),
        ];
        for (part, end) in ends {
            let early = ends.iter().any(|(_, next)| {
                let followed = [&self.null_value[..], next].concat();
                position(&followed, end).is_some_and(|at| at < self.null_value.len())
            });
            if early {
                return Err(CsvOptionError::NullRunsInto(part));
            }
        }
        let number = self.null_value.iter().any(u8::is_ascii_digit)
            && self.null_value.iter().all(|&byte| is_number_byte(byte));
        let text = self.delimiter.is_empty() && self.escaper().could_write(&self.null_value);
        if number || text {
            return Err(CsvOptionError::NullIsValue);
        }
        Ok(())
    }
}

/// Letters, digits and the rest of what numbers, hex and base64 digits are made of; some mean something after a backslash.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || is_number_byte(byte)
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Where `part` first stands in `text`.
fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(
        separator: &str,
        delimiter: &str,
        null_value: &str,
        terminator: &str,
    ) -> Result<(), CsvOptionError> {
        options(separator, delimiter, null_value, terminator).validate()
    }

    fn options(separator: &str, delimiter: &str, null_value: &str, terminator: &str) -> CsvOptions {
        CsvOptions {
            separator: separator.into(),
            delimiter: delimiter.into(),
            null_value: null_value.into(),
            line_terminator: terminator.into(),
            header: true,
            escape_backslash: true,
            binary: CsvBinary::Hex,
        }
    }

    #[test]
    fn usual_options_are_accepted() {
        for (separator, delimiter, null_value, terminator) in [
            (",", "\"", "\\N", "\r\n"),
            ("\t", "", "\\N", "\n"),
            ("|*|", "'", "NULL", "\n"),
            ("|+|", "", "\\N", "|+|\n"),
            ("\u{1}", "\"", "", "\r\n"),
            ("¦", "\"", "\\N", "\n"),
        ] {
            assert_eq!(
                verdict(separator, delimiter, null_value, terminator),
                Ok(())
            );
        }
    }

    #[test]
    fn what_could_not_be_read_back_is_refused() {
        use CsvOptionError::{
            Backslash, Empty, LineBreak, LongDelimiter, NotAscii, NullIsValue, NullRunsInto,
            Overlap, ValueByte,
        };
        use CsvPart::{Delimiter, LineTerminator, NullValue, Separator};

        for (separator, delimiter, null_value, terminator, error) in [
            ("", "\"", "\\N", "\n", Empty(Separator)),
            (",", "\"", "\\N", "", Empty(LineTerminator)),
            (",", "||", "\\N", "\n", LongDelimiter),
            (",", "é", "\\N", "\n", LongDelimiter),
            ("\"", "\"", "\\N", "\n", Overlap(Separator, Delimiter)),
            ("|'|", "'", "\\N", "\n", Overlap(Separator, Delimiter)),
            (",", "'", "\\N", "'\n", Overlap(LineTerminator, Delimiter)),
            (",", "\"", "\"", "\n", Overlap(NullValue, Delimiter)),
            (",", "\"", "\\N", ",;", Overlap(Separator, LineTerminator)),
            ("|;|", "\"", "\\N", ";", Overlap(Separator, LineTerminator)),
            (",\n", "\"", "\\N", "\n", LineBreak(Separator)),
            (",", "\n", "\\N", ";", LineBreak(Delimiter)),
            (",", "\"", "a\rb", "\n", LineBreak(NullValue)),
            ("|\\", "\"", "\\N", "\n", Backslash(Separator)),
            (",", "\\", "\\N", "\n", Backslash(Delimiter)),
            (",", "\"", "\\N", "\\\n", Backslash(LineTerminator)),
            ("0", "\"", "\\N", "\n", ValueByte(Separator)),
            ("n", "", "\\N", "\n", ValueByte(Separator)),
            (",", "-", "\\N", "\n", ValueByte(Delimiter)),
            (",", "\"", "\\N", "END", ValueByte(LineTerminator)),
            ("¦", "", "\\N", "\n", NotAscii(Separator)),
            (",", "\"", "a,b", "\n", NullRunsInto(Separator)),
            ("|||", "\"", "|", "\n", NullRunsInto(Separator)),
            (",", "\"", ";", ";", NullRunsInto(LineTerminator)),
            (",", "\"", "-1", "\n", NullIsValue),
            (",", "", "NULL", "\n", NullIsValue),
            (",", "", "", "\n", NullIsValue),
            (",", "", "\\n", "\n", NullIsValue),
        ] {
            let verdict = verdict(separator, delimiter, null_value, terminator);
            assert_eq!(
                verdict,
                Err(error),
                "{separator} {delimiter} {null_value} {terminator:?}"
            );
        }
    }

    #[test]
    fn something_must_protect_the_values() {
        let doubling = |options| CsvOptions {
            escape_backslash: false,
            ..options
        };
        let refused = doubling(options(",", "", "\\N", "\n")).validate();
        assert_eq!(refused, Err(CsvOptionError::NothingProtectsValues));
        assert_eq!(
            doubling(options("\\", "\"", "NULL", "\n")).validate(),
            Ok(())
        );
    }

    #[test]
    fn base64_needs_its_own_digits() {
        let base64 = |delimiter| CsvOptions {
            binary: CsvBinary::Base64,
            ..options("/", delimiter, "\\N", "\n")
        };
        assert_eq!(
            base64("").validate(),
            Err(CsvOptionError::ValueByte(CsvPart::Separator))
        );
        assert_eq!(base64("\"").validate(), Ok(()));
    }

    #[test]
    fn a_refusal_names_the_part() {
        let error = CsvOptionError::Overlap(CsvPart::Separator, CsvPart::Delimiter);
        assert_eq!(
            error.to_string(),
            "the CSV separator and the CSV delimiter hold one another"
        );
    }
}
