//! From flags to a [`Format`]: how the files look.
//!
//! Owns the defaults of CSV, which are Dumpling's but for binary values, and the refusal of flags that the chosen format has no
//! use for. Whether separators can be told apart `format/csv.rs` knows.

use super::flags::{FileType, ShapeArgs};
use super::usage::UsageError;
use crate::format::{CsvBinary, CsvOptions, Format, SqlOptions};

/// The format; a query has no table to be inserted into, and so is written as CSV.
pub fn format(
    args: &ShapeArgs,
    query: bool,
    warnings: &mut Vec<String>,
) -> Result<Format, UsageError> {
    if query && args.filetype == Some(FileType::Sql) {
        let sentence = "the result of --sql cannot be written as INSERTs: it has no table";
        return Err(UsageError::new(sentence).with_hint("use --filetype csv"));
    }
    let default = if query { FileType::Csv } else { FileType::Sql };
    if args.filetype.unwrap_or(default) == FileType::Csv {
        return csv_format(args);
    }
    let csv_flags = [
        ("--csv-separator", args.csv_separator.is_some()),
        ("--csv-delimiter", args.csv_delimiter.is_some()),
        ("--csv-null-value", args.csv_null_value.is_some()),
        ("--csv-line-terminator", args.csv_line_terminator.is_some()),
        ("--csv-binary", args.csv_binary.is_some()),
    ];
    if let Some((flag, _)) = csv_flags.iter().find(|(_, given)| *given) {
        return Err(UsageError::new(format!("{flag} is of no use in SQL files"))
            .with_hint("add --filetype csv"));
    }
    if args.no_header {
        warnings.push("--no-header is ignored: SQL files have no header".to_owned());
    }
    Ok(Format::Sql(SqlOptions {
        statement_size_bytes: args.statement_size,
        escape_backslash: args.escape_backslash,
        complete_insert: args.complete_insert,
        history: false,
    }))
}

fn csv_format(args: &ShapeArgs) -> Result<Format, UsageError> {
    let bytes = |typed: &Option<String>, default: &str| {
        typed.as_deref().unwrap_or(default).as_bytes().to_vec()
    };
    let options = CsvOptions {
        separator: bytes(&args.csv_separator, ","),
        delimiter: bytes(&args.csv_delimiter, "\""),
        null_value: bytes(&args.csv_null_value, r"\N"),
        line_terminator: bytes(&args.csv_line_terminator, "\r\n"),
        header: !args.no_header,
        escape_backslash: args.escape_backslash,
        binary: args.csv_binary.unwrap_or(CsvBinary::Hex),
    };
    options
        .validate()
        .map_err(|error| UsageError::from_error(&error))?;
    Ok(Format::Csv(options))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::typed;
    use super::*;

    #[test]
    fn csv_flags_are_taken_over() {
        let args = typed(&[
            "--filetype=csv",
            "--csv-separator=\\t",
            "--csv-delimiter='",
            "--csv-line-terminator=\\n",
            "--csv-null-value=NULL",
            "--csv-binary=base64",
            "--no-header",
            "--escape-backslash=false",
        ]);
        let expected = CsvOptions {
            separator: b"\t".to_vec(),
            delimiter: b"'".to_vec(),
            null_value: b"NULL".to_vec(),
            line_terminator: b"\n".to_vec(),
            header: false,
            escape_backslash: false,
            binary: CsvBinary::Base64,
        };
        let format = format(&args.shape, false, &mut Vec::new()).unwrap();
        assert_eq!(format, Format::Csv(expected));
    }
}
