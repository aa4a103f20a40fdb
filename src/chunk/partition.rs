//! Tables without a key that could cut them: one chunk per partition.
//!
//! Owns the order and the names. Only top-level partitions count: a list with a line per subpartition would dump each
//! partition several times (mydumper PR#2077).

/// Hands out the partitions of a table.
#[derive(Debug)]
pub(super) struct PartitionCutter {
    names: std::vec::IntoIter<String>,
}

impl PartitionCutter {
    /// `None` if the table has not several partitions.
    pub(super) fn new(names: &[String]) -> Option<Self> {
        let names = names.to_vec();
        (names.len() > 1).then(|| Self {
            names: names.into_iter(),
        })
    }

    pub(super) fn next(&mut self) -> Option<String> {
        self.names.next()
    }
}
