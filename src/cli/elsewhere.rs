//! Flags of other dumpers, and what they are here.
//!
//! Owns the list: common flags of mysqldump, mariadb-dump, mydumper, MySQL Shell and Dumpling that are no flags of rdump.

/// A flag, and the hint for whoever types it.
const FLAGS: &str = "\
--add-drop-database rdump load --existing drops or keeps what is there
--add-drop-table rdump load --existing drops or keeps what is there
--all-databases without -B and -T all databases are dumped
--all-tablespaces tablespaces are not dumped
--apply-replica-statements the position is in the file `metadata`
--apply-slave-statements the position is in the file `metadata`
--ask-pass -p alone asks for the password
--ask-password -p alone asks for the password
--azblob rdump writes to a local directory; copy it from there
--build-empty-files empty tables have their CREATE statement and no data file
--checksum-all every file has its hash in manifest.json; rdump verify checks them
--chunk-filesize use -F
--chunk-size use -r
--column-statistics rdump dumps no statistics
--comments comments of objects are always kept
--compact files have no more than what they need to load alone
--compatible rdump writes for a server of the same kind
--compress-protocol give the network to ssh -C; -c compresses the files
--csv use --filetype csv
--csv-output-dialect use --csv-binary hex, base64 or raw
--daemon run rdump from cron or a systemd timer; README has both
--databases use -B with a comma list
--default-character-set text is dumped as the bytes it is
--delete-master-logs rdump changes nothing on the server
--disable-keys use rdump load, which needs no such help
--dump-date the file `metadata` has the time
--dump-replica the position of the source is always in the file `metadata`
--dump-slave the position of the source is always in the file `metadata`
--events events are dumped unless --no-events is given
--exec run what you like after rdump: exit 0 means a whole dump
--extended-insert use -s for the size of an INSERT
--fields-terminated-by use --filetype csv --csv-separator
--flush-logs rdump changes nothing on the server
--flush-privileges rdump changes nothing on the server
--force a dump is whole or it fails
--gcs rdump writes to a local directory; copy it from there
--hex-blob binary values are written as hex anyway
--ignore-database use -f '*.*' -f '!db.*'
--ignore-engines use -f '*.*' -f '!db.table', or --inconsistent-tables
--ignore-table use -f '*.*' -f '!db.table'
--insert-ignore rdump load --existing says what becomes of what is there
--kill-long-queries rdump never kills the queries of others; see --long-query-guard
--less-locking the default --consistency auto locks for a moment at most
--lock-all-tables use --consistency lock
--lock-tables use --consistency lock
--long-query-retries use --lock-wait-timeout
--master-data the position is always in the file `metadata`
--max-allowed-packet the longest row is always taken
--net-buffer-length use -s for the size of an INSERT
--no-autocommit rdump load does so by itself
--no-backup-locks use --consistency
--no-create-db use -m
--no-create-info use -m
--no-locks use --consistency none
--no-tablespaces tablespaces are not dumped
--omit-from-file use -f '@file' with rules as !db.table
--opt that is how rdump works
--order-by-primary rows are in the order of the key anyway
--outputdir use -o
--parallel use -t
--protocol use -S for a socket, or -h and -P for TCP
--quick that is how rdump works
--quote-names names are always quoted
--regex use -f '/database/./table/'
--result-file use -o with a directory
--routines routines are dumped unless --no-routines is given
--s3 rdump writes to a local directory; copy it from there
--set-gtid-purged the GTID set is in the file `metadata`
--single-transaction the default --consistency auto gives one point in time
--skip-add-drop-table rdump writes no DROP statements
--skip-comments comments of objects are always kept
--skip-lock-tables use --consistency none
--skip-ssl use --ssl-mode DISABLED
--skip-triggers use --no-triggers
--skip-tz-utc times are always UTC in the files, and right after loading
--skip-definer use --definer skip
--snapshot-interval run rdump from cron, with -o '/backups/{date}T{time}' --keep 7
--source-data the position is always in the file `metadata`
--ssl use --ssl-mode REQUIRED
--ssl-verify-server-cert use --ssl-mode VERIFY_IDENTITY
--stream a dump is a directory
--sync-wait use --params wsrep_sync_wait=7
--tab use --filetype csv
--tables use -T db.table,db.table
--trx-consistency-only the default --consistency auto gives one point in time
--trx-tables the default --consistency auto gives one point in time
--triggers triggers are dumped unless --no-triggers is given
--tz-utc times are always UTC in the files, and right after loading
--use-savepoints that is how rdump works
--verbose use --loglevel debug
--views-as-tables views are dumped as views
--xml there is sql and csv
";

/// The hint for a flag that others have.
pub fn hint(flag: &str) -> Option<&'static str> {
    // `--s3.region` is one of `--s3`.
    let flag = flag.split('.').next().unwrap_or(flag);
    let lines = FLAGS.lines().filter_map(|line| line.split_once(' '));
    let found = lines.into_iter().find(|(name, _)| *name == flag);
    found.map(|(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::super::flags::DumpArgs;
    use super::super::{command, help::DUMP};
    use super::*;

    #[test]
    fn no_flag_of_ours_is_among_them_and_every_flag_that_a_hint_names_is() {
        let command = command::<DumpArgs>(&DUMP);
        let is_ours = |name: &str| {
            let mut args = command.get_arguments();
            args.any(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())
        };
        for line in FLAGS.lines() {
            let (flag, hint) = line.split_once(' ').unwrap_or_default();
            assert!(!is_ours(flag.trim_start_matches("--")), "{flag}");
            let words = hint.split([' ', ',', ';']);
            for named in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(is_ours(named) || named == "existing", "{line}");
            }
        }
        assert_eq!(hint("--s3.region"), hint("--s3"));
        assert_eq!(hint("--nonsense"), None);
    }
}
