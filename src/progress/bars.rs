//! Progress on a terminal: one bar for the whole, one line per table that is being read.
//!
//! Owns everything of `indicatif`. It draws what it is given; when, it leaves to `mod.rs`. Workers never draw.

use std::io;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Pace;
use super::counters::{ActiveTable, Counts};
use super::figures::{count, percent};
use super::lines::{summary, tables};

/// The bars on the screen. Clones are the same bars.
#[derive(Debug, Clone)]
pub(super) struct Bars {
    screen: MultiProgress,
    whole: ProgressBar,
    tables: Vec<ProgressBar>,
}

impl Bars {
    /// Takes the last lines of the terminal behind standard error.
    pub(super) fn new(colour: bool) -> Self {
        // Every call of `draw` is drawn: `mod.rs` makes few.
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let bar = if colour {
            "{bar:24.cyan/dim}"
        } else {
            "{bar:24}"
        };
        let whole = screen.add(ProgressBar::new(100));
        whole.set_style(style(&format!("{bar} {{wide_msg}}")));
        Self {
            screen,
            whole,
            tables: Vec::new(),
        }
    }

    /// Shows the counters.
    pub(super) fn draw(
        &mut self,
        counts: &Counts,
        pace: &Pace,
        active: &[ActiveTable],
        paused: Option<&str>,
    ) {
        let percent = percent(counts.rows, counts.rows_estimated).unwrap_or(0);
        self.whole.set_position(percent);
        let mut message = format!("{}, {}", summary(counts, pace), tables(counts));
        if let Some(reason) = paused {
            message = format!("paused: {reason}, {message}");
        }
        self.whole.set_message(message);
        while self.tables.len() > active.len() {
            if let Some(line) = self.tables.pop() {
                self.screen.remove(&line);
            }
        }
        while self.tables.len() < active.len() {
            let line = self.screen.add(ProgressBar::new(1));
            line.set_style(style("  {wide_msg}"));
            self.tables.push(line);
        }
        for (line, table) in self.tables.iter().zip(active) {
            line.set_message(table_line(table));
        }
    }

    /// Writes something above the bars without tearing them.
    pub(super) fn suspend(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.screen.suspend(write)
    }

    /// Gives the lines back to the terminal.
    pub(super) fn clear(&self) -> io::Result<()> {
        for line in self.tables.iter().chain([&self.whole]) {
            line.finish_and_clear();
        }
        self.screen.clear()
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are ours and valid; a plain bar is better than none if `indicatif` changes its mind.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn table_line(table: &ActiveTable) -> String {
    let rows = count(table.rows);
    match percent(table.rows, table.rows_estimated) {
        Some(percent) => format!("{:>3} %  {}  {rows} rows", percent, table.name),
        None => format!("       {}  {rows} rows", table.name),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_are_valid() {
        for template in [
            "{bar:24.cyan/dim} {wide_msg}",
            "{bar:24} {wide_msg}",
            "  {wide_msg}",
        ] {
            ProgressStyle::with_template(template).unwrap();
        }
    }

    #[test]
    fn a_table_has_its_share_when_it_can_be_guessed() {
        let mut table = ActiveTable {
            name: "shop.orders".to_owned(),
            rows: 1_500,
            rows_estimated: 3_000,
        };
        assert_eq!(table_line(&table), " 50 %  shop.orders  1,500 rows");
        table.rows_estimated = 0;
        assert_eq!(table_line(&table), "       shop.orders  1,500 rows");
    }
}
