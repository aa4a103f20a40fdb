//! Bytes per second of each encoder, on rows made up here: `cargo bench --bench encoders [NAME]`.
//!
//! Owns the shapes of the rows and the way of measuring: a fixed number of runs, the median reported. It judges nothing.

use std::hint::black_box;
use std::time::Instant;

use rdump::catalog::column::CellKind::{self, Binary, Float, Json, Number, Plain, Text};
use rdump::format::{CsvBinary, CsvOptions, EncodedColumn, Format, SqlOptions};
use rdump::server::rows::{Row, Span};

/// Runs per figure.
const RUNS: usize = 401;

/// Bytes of cells per run.
const CELL_BYTES: usize = 512 << 10;

/// Rows as the server sends them, one beside the other.
struct Table {
    kinds: Vec<CellKind>,
    bytes: Vec<u8>,
    rows: Vec<Vec<Span>>,
}

impl Table {
    /// Rows until there are [`CELL_BYTES`]; `cell` appends the text of the column with that index.
    fn generate(kinds: &[CellKind], mut cell: impl FnMut(usize, &mut Dice, &mut Vec<u8>)) -> Self {
        let mut table = Self {
            kinds: kinds.to_vec(),
            bytes: Vec::new(),
            rows: Vec::new(),
        };
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        while table.bytes.len() < CELL_BYTES {
            let spans = (0..kinds.len())
                .map(|column| {
                    let start = table.bytes.len();
                    cell(column, &mut dice, &mut table.bytes);
                    Span::new(start, table.bytes.len())
                })
                .collect();
            table.rows.push(spans);
        }
        table
    }

    fn columns(&self) -> Vec<EncodedColumn> {
        self.kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| EncodedColumn {
                name: format!("c{index}"),
                kind: *kind,
            })
            .collect()
    }
}

/// The same numbers in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn fill(&mut self, len: usize, out: &mut Vec<u8>, mut byte: impl FnMut(u64) -> u8) {
        for _ in 0..len {
            let roll = self.below(1 << 20);
            out.push(byte(roll));
        }
    }
}

fn letter(roll: u64) -> u8 {
    b"abcdefghijklmnopqrstuvwxyz"[usize::try_from(roll % 26).unwrap_or(0)]
}

fn digit(roll: u64) -> u8 {
    b"0123456789-"[usize::try_from(roll % 11).unwrap_or(0)]
}

/// English by its marks: a quote in 120 bytes, a line break in 200.
fn prose(roll: u64) -> u8 {
    match roll {
        roll if roll % 120 == 0 => b'\'',
        roll if roll % 200 == 1 => b'\n',
        roll if roll % 6 == 0 => b' ',
        roll => letter(roll),
    }
}

fn number(dice: &mut Dice, out: &mut Vec<u8>) {
    let limit = 10_u64.pow(u32::try_from(dice.below(10) + 1).unwrap_or(1));
    out.extend_from_slice(dice.below(limit).to_string().as_bytes());
}

fn tables() -> Vec<(&'static str, Table)> {
    let numbers = Table::generate(&[Number; 10], |_, dice, out| number(dice, out));
    let sysbench = Table::generate(
        &[Number, Number, Text, Text],
        |column, dice, out| match column {
            0 | 1 => number(dice, out),
            2 => dice.fill(119, out, digit),
            _ => dice.fill(59, out, digit),
        },
    );
    let orders = [Number, Number, Text, Plain, Float, Text, Plain, Text];
    let orders = Table::generate(&orders, |column, dice, out| match column {
        0 | 1 => number(dice, out),
        3 | 6 => out.extend_from_slice(b"2026-01-02 03:04:05"),
        4 => out.extend_from_slice(b"1234.5600000000001"),
        2 => dice.fill(9, out, letter),
        5 => dice.fill(24, out, letter),
        _ => dice.fill(6, out, letter),
    });
    let text = Table::generate(&[Number, Text], |column, dice, out| match column {
        0 => number(dice, out),
        _ => dice.fill(800, out, prose),
    });
    let json = Table::generate(&[Number, Json], |column, dice, out| match column {
        0 => number(dice, out),
        _ => dice.fill(
            400,
            out,
            |roll| if roll % 6 == 0 { b'"' } else { letter(roll) },
        ),
    });
    let binary = Table::generate(&[Number, Binary], |column, dice, out| match column {
        0 => number(dice, out),
        _ => dice.fill(400, out, |roll| u8::try_from(roll & 255).unwrap_or(0)),
    });
    vec![
        ("numbers", numbers),
        ("sysbench", sysbench),
        ("orders", orders),
        ("prose", text),
        ("json", json),
        ("binary", binary),
    ]
}

fn formats() -> Vec<(&'static str, Format)> {
    let sql = |escape_backslash| {
        Format::Sql(SqlOptions {
            history: false,
            statement_size_bytes: 1_000_000,
            escape_backslash,
            complete_insert: false,
        })
    };
    let csv = |escape_backslash, binary| {
        Format::Csv(CsvOptions {
            separator: b",".to_vec(),
            delimiter: b"\"".to_vec(),
            null_value: b"\\N".to_vec(),
            line_terminator: b"\n".to_vec(),
            header: true,
            escape_backslash,
            binary,
        })
    };
    vec![
        ("sql", sql(true)),
        ("sql doubled", sql(false)),
        ("csv", csv(true, CsvBinary::Hex)),
        ("csv doubled", csv(false, CsvBinary::Base64)),
    ]
}

/// Seconds of one run, and the bytes written.
fn run(format: &Format, table: &Table, out: &mut Vec<u8>) -> (f64, usize) {
    let mut encoder = format.encoder("t", table.columns(), false, 1 << 30);
    out.clear();
    let start = Instant::now();
    encoder.begin_file(out);
    for spans in &table.rows {
        black_box(encoder.row(&Row::new(&table.bytes, spans), out));
    }
    encoder.end_file(out);
    (start.elapsed().as_secs_f64(), black_box(out).len())
}

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let mut out = Vec::with_capacity(4 * CELL_BYTES);
    for (rows, table) in &tables() {
        for (name, format) in &formats() {
            if only
                .as_ref()
                .is_some_and(|only| only != rows && only != name)
            {
                continue;
            }
            let mut runs: Vec<_> = (0..RUNS).map(|_| run(format, table, &mut out)).collect();
            runs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (seconds, written) = runs[RUNS / 2];
            report(rows, name, seconds, written, table.rows.len());
        }
    }
}

#[allow(clippy::print_stdout, clippy::cast_precision_loss)]
fn report(rows: &str, format: &str, seconds: f64, written: usize, count: usize) {
    println!(
        "{rows:10} {format:12} {:6.2} GB/s written {:6.1} M rows/s",
        written as f64 / seconds / 1e9,
        count as f64 / seconds / 1e6,
    );
}
