//! rdump among shells and supervisors: completions, manual, odd standard streams.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};

use crate::harness::{Server, TestDb};

fn rdump(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdump"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

#[test]
fn completions_are_scripts_that_bash_reads() {
    for shell in ["bash", "zsh", "fish"] {
        let output = rdump(&["completions", shell]).output().unwrap();
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            script.contains("consistency") && script.contains("verify"),
            "{shell}"
        );
    }
    let ask = "source <(\"$1\" completions bash); COMP_WORDS=(rdump --cons); COMP_CWORD=1; \
               _rdump rdump --cons rdump; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", ask, "bash", env!("CARGO_BIN_EXE_rdump")])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "--consistency"
    );
}

#[test]
fn a_usage_error_is_json_where_json_is_asked_for() {
    let output = rdump(&["--report", "json", "--hex-blob"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&said["status"], &said["exit"]),
        (&"failed".into(), &2.into())
    );
    assert_eq!(said["hint"], "binary values are written as hex anyway");
}

#[test]
fn a_report_that_nobody_can_get_is_refused() {
    let closed = format!("exec {} --report json >&-", env!("CARGO_BIN_EXE_rdump"));
    let output = Command::new("sh")
        .args(["-c", &closed])
        .env_clear()
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no standard output"), "{said}");
}

#[test]
fn a_full_pipe_on_standard_error_does_not_hold_the_dump() {
    let database = TestDb::new(&Server::mariadb(), "fullpipe");
    database.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let folder = tempfile::tempdir().unwrap();
    let server = database.server();
    let output = folder.path().join("out");
    let (mut reader, writer) = std::io::pipe().unwrap();
    // Another description of the same pipe, which does not wait when there is no room.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
    let mut filler = File::options()
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .unwrap();
    while filler.write(&[b'x'; 4096]).is_ok() {}
    let status = rdump(&[
        "-h",
        server.host(),
        "-u",
        server.user(),
        "-B",
        database.name(),
        "--loglevel",
        "debug",
    ])
    .args(["-P", &server.port().to_string(), "-o"])
    .arg(&output)
    .env("RDUMP_PASSWORD", server.password())
    .stdout(Stdio::null())
    .stderr(writer)
    .status()
    .unwrap();
    assert!(status.success(), "{status}");
    assert!(output.join("manifest.json").exists());
    drop(filler);
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen).unwrap();
    assert!(seen.iter().all(|byte| *byte == b'x'));
}

#[test]
fn manual_pages_are_what_man_reads() {
    for page in [
        &["man"][..],
        &["man", "load"],
        &["man", "verify"],
        &["man", "check"],
    ] {
        let output = rdump(page).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        for heading in [".SH NAME", ".SH SYNOPSIS", ".SH CONNECTION", ".SH EXAMPLES"] {
            assert!(text.contains(heading), "{page:?}: {heading}");
        }
    }
    assert_eq!(rdump(&["man", "x"]).status().unwrap().code(), Some(2));
}
