//! The client's DELIMITER.
//!
//! Owns the choice of an end mark that occurs nowhere in a body. The plain client looks for it outside of strings and
//! comments only, but by its own idea of those, in its own charset (mydumper#2328).

use memchr::memmem;

/// An end mark for a statement that may hold semicolons: `;;`, else the first of a fixed row that does not occur in it.
pub(super) fn for_statement(statement: &[u8]) -> String {
    let is_free = |mark: &String| memmem::find(statement, mark.as_bytes()).is_none();
    let usual = [";;", "$$", "//"].map(str::to_owned);
    let made = (1..).map(|n: usize| format!("{}{n};;", "$".repeat(2)));
    usual
        .into_iter()
        .chain(made)
        .find(is_free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_never_occurs_in_the_statement() {
        assert_eq!(for_statement(b"BEGIN SELECT 1; END"), ";;");
        assert_eq!(for_statement(b"SELECT ';;'"), "$$");
        assert_eq!(for_statement(b"SELECT ';;', '$$', '//'"), "$$1;;");
        assert_eq!(for_statement(b"SELECT ';;', '$$1;;', '//'"), "$$2;;");
    }
}
