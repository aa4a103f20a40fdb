//! Option files against the words of `my_print_defaults`, which is MariaDB's own reader.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

const GROUPS: [&str; 2] = ["client", "rdump"];

fn only(path: &Path) -> FileChoice {
    FileChoice {
        only: Some(path.to_owned()),
        ..FileChoice::default()
    }
}

fn read(text: &str) -> Result<OptionFiles, OptionFileError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cnf");
    fs::write(&path, text).unwrap();
    OptionFiles::read(&only(&path), &GROUPS)
}

/// The options as a command line, one word a line, like `my_print_defaults`.
fn words(files: &OptionFiles) -> String {
    let word = |option: &FileOption| match &option.value {
        Some(value) => format!("--{}={value}\n", option.key),
        None => format!("--{}\n", option.key),
    };
    files.options.iter().map(word).collect()
}

fn of_mariadb(path: &Path) -> String {
    let output = Command::new("my_print_defaults")
        .arg(format!("--defaults-file={}", path.display()))
        .args(GROUPS)
        .output()
        .expect("my_print_defaults (scripts/setup installs the MariaDB client)");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn values_are_those_that_mariadb_itself_reads() {
    let text = r##"
# a comment
; another
   [client]
host = a
user=me   
password = p@ss:w/o?rd%41!
socket=/a b/c
pass=abc#def
pass="abc#def"
pass='a"b' # say
pass="a\"#b"
pass=a;b
pass=a\\b\s\q\'
pass="  x  "
pass=\sx\s
pass=a=b
pass=
pass='
pass=''
pass='it''s'
pass="half
pass=日本\
pass=tab\there\nline\bback\rcr
quick
[mysqld]
port=1
host=wrong
[ rdump ]
host=not-read
[rdump  ]
port=3307
[rdump] # said
	host	=	tabbed	
threads=8
!unknown directive
[client] trailing
ssl-ca=/ca.pem
"##;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cnf");
    fs::write(&path, text).unwrap();
    let files = OptionFiles::read(&only(&path), &GROUPS).unwrap();
    assert!(files.options.len() > 20);
    assert_eq!(words(&files), of_mariadb(&path));
    fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    let files = OptionFiles::read(&only(&path), &GROUPS).unwrap();
    assert_eq!(words(&files), of_mariadb(&path));
}

#[test]
fn included_files_are_read_in_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/b.cnf"), "[client]\nuser=b\n").unwrap();
    fs::write(at("d/a.cnf"), "[rdump]\nuser=a\n").unwrap();
    fs::write(at("d/a.cnf.bak"), "[client]\nuser=no\n").unwrap();
    fs::write(at("one.cnf"), "[client]\nport=7\n[mysqld]\n").unwrap();
    let main = format!(
        "[client]\nuser=first\n!include {}\n!include {}\nhost=h\n!includedir {}\nuser=last\n",
        at("one.cnf").display(),
        at("missing.cnf").display(),
        at("d").display()
    );
    fs::write(at("my.cnf"), main).unwrap();
    let files = OptionFiles::read(&only(&at("my.cnf")), &GROUPS).unwrap();
    let expected = "--user=first\n--port=7\n--host=h\n--user=a\n--user=b\n--user=last\n";
    assert_eq!(words(&files), expected);
    assert_eq!(words(&files), of_mariadb(&at("my.cnf")));
}

#[test]
fn files_that_include_each_other_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cnf");
    let text = format!("[client]\nuser=me\n!include {}\n", path.display());
    fs::write(&path, text).unwrap();
    let files = OptionFiles::read(&only(&path), &GROUPS).unwrap();
    assert_eq!(words(&files), of_mariadb(&path));
    let deep = files.warnings.iter().filter(|line| line.contains("deeply"));
    assert_eq!(deep.count(), 1);
}

#[test]
fn the_users_own_file_comes_last_and_a_named_one_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at(".my.cnf"), "[client]\nuser=own\n").unwrap();
    fs::write(at("extra"), "[client]\nuser=extra\n").unwrap();
    let choice = FileChoice {
        extra: Some(at("extra")),
        home: Some(home.path().to_owned()),
        ..FileChoice::default()
    };
    let files = OptionFiles::read(&choice, &GROUPS).unwrap();
    assert!(words(&files).ends_with("--user=extra\n--user=own\n"));
    let alone = OptionFiles::read(&only(&at("extra")), &GROUPS).unwrap();
    assert_eq!(words(&alone), "--user=extra\n");
    let none = FileChoice {
        none: true,
        ..choice
    };
    assert!(
        OptionFiles::read(&none, &GROUPS)
            .unwrap()
            .options
            .is_empty()
    );
    let missing = OptionFiles::read(&only(&at("missing")), &GROUPS);
    assert!(matches!(missing, Err(OptionFileError::Unreadable { .. })));
}

#[test]
fn errors_name_the_line() {
    for (text, problem) in [
        ("host=a", "line 1: an option stands before any group"),
        ("[client", "line 1: the group has no `]`"),
    ] {
        let Err(error) = read(text) else {
            panic!("{text} was read");
        };
        assert!(error.to_string().ends_with(problem), "{error}");
    }
}

#[test]
fn latin1_is_accepted_in_comments_and_in_what_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cnf");
    fs::write(&path, b"# caf\xe9\n[mysqld]\nx=caf\xe9\n[client]\n").unwrap();
    assert!(OptionFiles::read(&only(&path), &GROUPS).is_ok());
    fs::write(&path, b"[client]\nuser=caf\xe9\n").unwrap();
    assert!(OptionFiles::read(&only(&path), &GROUPS).is_err());
}

#[test]
fn a_file_that_all_may_write_is_ignored_and_a_password_that_all_may_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.cnf");
    let read = |mode, text: &str| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        OptionFiles::read(&only(&path), &GROUPS).unwrap()
    };
    let secret = "[client]\npassword=hunter2\n";
    assert!(read(0o600, secret).warnings.is_empty());
    let told = read(0o644, secret).warnings.concat();
    assert!(told.contains("everybody may read it"), "{told}");
    assert!(!told.contains("hunter2"));
    assert!(read(0o644, "[client]\nuser=x\n").warnings.is_empty());
    let ignored = read(0o666, secret);
    assert!(ignored.options.is_empty());
    assert!(ignored.warnings.concat().contains("everybody may write it"));
}
