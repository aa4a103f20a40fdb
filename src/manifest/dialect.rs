//! `Dialect`: how a dump's files are written, so that they can be read back.
//!
//! Owns the options of the formats as the manifest keeps them. What they mean `format/` knows.

use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::format::{CsvBinary, CsvOptions, Format};

/// How text is told apart from what is around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// Whether a backslash escapes; else quotes are doubled.
    pub escape_backslash: bool,
    /// Whether past versions of rows are among the rows.
    #[serde(default)]
    pub history: bool,
    /// What only CSV has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<CsvDialect>,
}

/// The marks of CSV files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsvDialect {
    /// Between two cells.
    pub separator: String,
    /// Around text.
    pub delimiter: String,
    /// For NULL.
    pub null_value: String,
    /// After each row.
    pub line_terminator: String,
    /// Whether the first line names the columns.
    pub header: bool,
}

impl Dialect {
    /// What the manifest keeps of a format.
    pub fn of(format: &Format) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match format {
            Format::Sql(options) => Self {
                escape_backslash: options.escape_backslash,
                history: options.history,
                csv: None,
            },
            Format::Csv(options) => Self {
                escape_backslash: options.escape_backslash,
                history: false,
                csv: Some(CsvDialect {
                    separator: text(&options.separator),
                    delimiter: text(&options.delimiter),
                    null_value: text(&options.null_value),
                    line_terminator: text(&options.line_terminator),
                    header: options.header,
                }),
            },
        }
    }
}

impl Manifest {
    /// How its CSV files write bytes; where no column has any, as by default.
    pub fn csv_binary(&self) -> CsvBinary {
        let mut columns = self.tables.iter().flat_map(|table| &table.binary_columns);
        match columns.next().map(|column| column.encoding.as_str()) {
            Some("base64") => CsvBinary::Base64,
            Some("raw") => CsvBinary::Raw,
            _ => CsvBinary::Hex,
        }
    }

    /// How the CSV files of the dump are written; Dumpling's way where it does not say.
    pub fn csv_options(&self) -> CsvOptions {
        let default = CsvOptions::default();
        let Some(dialect) = &self.dialect else {
            return default;
        };
        let Some(csv) = &dialect.csv else {
            return default;
        };
        CsvOptions {
            separator: csv.separator.clone().into_bytes(),
            delimiter: csv.delimiter.clone().into_bytes(),
            null_value: csv.null_value.clone().into_bytes(),
            line_terminator: csv.line_terminator.clone().into_bytes(),
            header: csv.header,
            escape_backslash: dialect.escape_backslash,
            ..default
        }
    }
}
