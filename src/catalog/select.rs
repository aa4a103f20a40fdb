//! What is selected to read a table's rows.
//!
//! Owns the expressions, one for each column of a dump, so that whoever reads the rows again gets the same text. Which rows are
//! read it leaves to the journeys.

use super::history::RowPeriod;
use super::ident::quote;
use super::table::Table;

/// The expressions whose cells make a row. With `labels_by_number` labels that read alike come as their numbers.
pub fn expressions(table: &Table, labels_by_number: bool) -> Vec<String> {
    let mut columns: Vec<_> = table
        .stored_columns()
        .map(|column| {
            if labels_by_number && column.has_ambiguous_labels() {
                column.number_expression()
            } else {
                column.select_expression()
            }
        })
        .collect();
    columns.extend(table.history.iter().flat_map(RowPeriod::columns).map(quote));
    // A table whose columns are all generated still has rows: each is written as `()`.
    if columns.is_empty() {
        columns.push("1".to_owned());
    }
    columns
}
