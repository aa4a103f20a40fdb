//! The file `metadata`: Dumpling's text, which DM and people read.
//!
//! Owns its exact bytes (PingCAP tidb, dumpling/export/metadata.go): the classic headers, which every DM version parses, a
//! tab before each key and no space after `GTID:`.

use std::fmt::Write as _;

use crate::server::position::{BinlogState, Moment};

/// The text for a dump of `moment`, begun and ended at these UTC times (`YYYY-MM-DD hh:mm:ss`).
pub fn text(moment: &Moment, started: &str, finished: &str) -> String {
    let mut out = format!("Started dump at: {started}\n");
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        out.write_fmt(text).is_ok()
    };
    match &moment.binlog {
        BinlogState::At(position) => {
            line(format_args!("SHOW MASTER STATUS:\n"));
            line(format_args!("\tLog: {}\n", position.file));
            line(format_args!("\tPos: {}\n", position.offset));
            let gtid = position.gtid.as_deref().unwrap_or_default();
            line(format_args!("\tGTID:{gtid}\n"));
        }
        BinlogState::Off => {}
        BinlogState::Denied(reason) => {
            line(format_args!(
                "# the binlog position could not be read: {reason}\n"
            ));
        }
    }
    line(format_args!("\n"));
    for replica in &moment.replicas {
        line(format_args!("SHOW SLAVE STATUS:\n"));
        if !replica.channel.is_empty() {
            line(format_args!("\tConnection name: {}\n", replica.channel));
        }
        line(format_args!("\tHost: {}\n", replica.host));
        line(format_args!("\tLog: {}\n", replica.file));
        line(format_args!("\tPos: {}\n", replica.offset));
        let gtid = replica.gtid.as_deref().unwrap_or_default();
        line(format_args!("\tGTID:{gtid}\n\n"));
    }
    line(format_args!("Finished dump at: {finished}\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::position::{Position, ReplicaPosition};

    #[test]
    fn a_replica_with_a_binlog_has_both_blocks() {
        let moment = Moment {
            binlog: BinlogState::At(Position {
                file: "bin.000007".to_owned(),
                offset: 4711,
                gtid: Some("11111111-2222-3333-4444-555555555555:1-42".to_owned()),
            }),
            replicas: vec![ReplicaPosition {
                channel: String::new(),
                host: "10.0.0.9".to_owned(),
                file: "bin.000003".to_owned(),
                offset: 99,
                gtid: None,
            }],
            filtered: false,
            gtids_complete: true,
        };
        let expected = "Started dump at: 2026-01-02 03:04:05\nSHOW MASTER STATUS:\n\tLog: bin.000007\n\tPos: 4711\n\tGTID:11111111-2222-3333-4444-555555555555:1-42\n\nSHOW SLAVE STATUS:\n\tHost: 10.0.0.9\n\tLog: bin.000003\n\tPos: 99\n\tGTID:\n\nFinished dump at: 2026-01-02 03:05:00\n";
        assert_eq!(
            text(&moment, "2026-01-02 03:04:05", "2026-01-02 03:05:00"),
            expected
        );
    }

    #[test]
    fn without_a_binlog_the_blank_line_stays() {
        let moment = Moment {
            binlog: BinlogState::Off,
            replicas: Vec::new(),
            filtered: false,
            gtids_complete: true,
        };
        assert_eq!(
            text(&moment, "a", "b"),
            "Started dump at: a\n\nFinished dump at: b\n"
        );
    }
}
