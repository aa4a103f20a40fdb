//! The `rdump` binary: run to its end or in the background, always under a hard time limit, with nothing of the
//! developer's environment.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use super::files::{list_files, read_decompressed};
use super::process::{Capture, Process, Signaller};
use super::server::Server;

/// A command line of rdump in the making.
pub struct Rdump {
    program: PathBuf,
    connection: Option<(Server, u16)>,
    output: PathBuf,
    /// The folder to be loaded; none for a dump.
    source: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    time_limit: Duration,
    scratch: TempDir,
}

impl Rdump {
    /// Only the binary; connection and output are left to `args`.
    pub fn bare() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        Self {
            program: env!("CARGO_BIN_EXE_rdump").into(),
            connection: None,
            output: scratch.path().join("out"),
            source: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            time_limit: Duration::from_secs(120),
            scratch,
        }
    }

    /// A dump from `server` over TCP into a folder of its own.
    pub fn dump(server: &Server) -> Self {
        let mut dump = Self::bare();
        dump.connection = Some((server.clone(), server.port()));
        dump
    }

    /// A load of the dump in a folder, into `server` over TCP.
    pub fn load(server: &Server, dump: &Path) -> Self {
        let mut load = Self::dump(server);
        load.source = Some(dump.to_owned());
        load
    }

    /// Another account in place of the server's own.
    pub fn account(self, user: &str, password: &str) -> Self {
        self.args(["-u", user]).env("RDUMP_PASSWORD", password)
    }

    /// Another port for the same server: a proxy's.
    pub fn port(mut self, port: u16) -> Self {
        self.connection.as_mut().expect("a dump").1 = port;
        self
    }

    /// A unix socket in place of host and port: the server's own or a proxy's.
    pub fn socket(self, path: &Path) -> Self {
        self.args([OsString::from("-S"), path.into()])
    }

    /// Another program in rdump's place, for the harness's own tests.
    pub fn program(mut self, path: &str) -> Self {
        self.program = path.into();
        self
    }

    pub fn output(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output = folder.into();
        self
    }

    pub fn database(self, name: &str) -> Self {
        self.args(["-B", name])
    }

    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Past it the process is killed and the test fails.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    #[track_caller]
    pub fn run(self) -> Run {
        self.spawn().wait()
    }

    pub fn spawn(self) -> Running {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // A folder of its own as home and as current one: no ~/.my.cnf is read, no default output lands in the tree.
            .env("HOME", self.scratch.path())
            .current_dir(self.scratch.path())
            .env("RUST_BACKTRACE", "1");
        if let Some(source) = &self.source {
            command.arg("load").arg(source);
        }
        if let Some((server, port)) = &self.connection {
            command
                .args(["-h", server.host(), "-P", &port.to_string()])
                .args(["-u", server.user()])
                .env("RDUMP_PASSWORD", server.password());
            if self.source.is_none() {
                command.arg("-o").arg(&self.output);
            }
        }
        // The whole suite can be run on one source of rows.
        if let Some(rows) = std::env::var_os("RDUMP_ROWS") {
            command.env("RDUMP_ROWS", rows);
        }
        command.args(&self.arguments).envs(self.environment);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().expect("the rdump binary");
        let stdout = Capture::start(child.stdout.take().unwrap());
        let stderr = Capture::start(child.stderr.take().unwrap());
        Running {
            process: Process::watch(child),
            command_line: format!("{command:?}"),
            started,
            deadline: started + self.time_limit,
            stdout,
            stderr,
            server: self.connection.map(|(server, _)| server),
            output: self.output,
            scratch: self.scratch,
        }
    }
}

/// rdump at work in the background; killed when dropped.
pub struct Running {
    process: Process,
    command_line: String,
    started: Instant,
    deadline: Instant,
    stdout: Capture,
    stderr: Capture,
    server: Option<Server>,
    output: PathBuf,
    scratch: TempDir,
}

impl Running {
    pub fn output(&self) -> &Path {
        &self.output
    }

    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    pub fn signaller(&self) -> Signaller {
        self.process.signaller()
    }

    /// Waits until standard error holds `text`.
    #[track_caller]
    pub fn await_stderr(&self, text: &str, limit: Duration) {
        let found = |seen: &[u8]| String::from_utf8_lossy(seen).contains(text);
        if !self.stderr.await_content(limit, found) {
            let stderr = self.stderr.text();
            panic!(
                "no {text:?} on standard error within {limit:?}: {}\n{stderr}",
                self.command_line
            );
        }
    }

    /// To its end, within the time limit of the command.
    #[track_caller]
    pub fn wait(self) -> Run {
        let limit = self.deadline.saturating_duration_since(Instant::now());
        self.wait_within(limit)
    }

    /// To its end, within `limit` from now.
    #[track_caller]
    pub fn wait_within(mut self, limit: Duration) -> Run {
        let exit = self.process.wait(Instant::now() + limit);
        let in_time = exit.is_some();
        let status = exit.unwrap_or_else(|| self.process.kill());
        let run = Run {
            status,
            duration: self.started.elapsed(),
            peak_rss_bytes: self.process.peak_rss_bytes(),
            stdout: self.stdout.finish(),
            stderr: String::from_utf8_lossy(&self.stderr.finish()).into_owned(),
            command_line: self.command_line,
            server: self.server,
            output: self.output,
            _scratch: self.scratch,
        };
        assert!(
            in_time,
            "rdump was killed: it had not ended within {limit:?}\n{}",
            run.report()
        );
        run
    }
}

/// A run that has ended. Its output folder lives as long as this.
pub struct Run {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub duration: Duration,
    pub peak_rss_bytes: u64,
    command_line: String,
    server: Option<Server>,
    output: PathBuf,
    _scratch: TempDir,
}

impl Run {
    /// Exit 0 and a manifest.
    #[track_caller]
    pub fn assert_ok(&self) -> &Self {
        assert!(self.status.success(), "rdump failed\n{}", self.report());
        self
    }

    /// This exit code, and no panic; what a load or a verification leaves is for the test to see.
    #[track_caller]
    pub fn assert_ends(&self, code: i32) -> &Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "another exit code\n{}",
            self.report()
        );
        assert!(
            !self.stderr.contains("panicked at"),
            "rdump panicked\n{}",
            self.report()
        );
        self
    }

    /// This exit code, no manifest, an error message, and no panic.
    #[track_caller]
    pub fn assert_fails(&self, code: i32) -> &Self {
        let report = || self.report();
        assert_eq!(
            self.status.code(),
            Some(code),
            "another exit code\n{}",
            report()
        );
        assert!(
            !self.stderr.is_empty(),
            "failed without a word\n{}",
            report()
        );
        assert!(
            !self.stderr.contains("panicked at"),
            "rdump panicked\n{}",
            report()
        );
        assert!(
            !self.output.join("manifest.json").exists(),
            "a manifest after a failure\n{}",
            report()
        );
        self
    }

    pub fn output(&self) -> &Path {
        &self.output
    }

    /// Names in the output folder, sorted.
    pub fn files(&self) -> Vec<String> {
        list_files(&self.output)
    }

    /// A file of the output folder, decompressed.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        read_decompressed(&self.output.join(name))
    }

    /// A table's data files in their order, decompressed and joined.
    #[track_caller]
    pub fn table_data(&self, database: &str, table: &str) -> Vec<u8> {
        let prefix = format!("{database}.{table}.");
        let names = self.files();
        let data = names.iter().filter(|name| name.starts_with(&prefix));
        data.flat_map(|name| self.read(name)).collect()
    }

    #[track_caller]
    pub fn manifest(&self) -> serde_json::Value {
        let text = self.read("manifest.json");
        serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("manifest.json: {error}\n{}", self.report()))
    }

    /// All that helps to understand a failure.
    pub fn report(&self) -> String {
        let mut report = format!(
            "command: {}\n{} after {:?}",
            self.command_line, self.status, self.duration
        );
        write!(report, "\n--- standard error\n{}", self.stderr).unwrap();
        write!(report, "\n--- files in {}", self.output.display()).unwrap();
        for name in self.files() {
            let size = self
                .output
                .join(&name)
                .metadata()
                .map_or(0, |file| file.len());
            write!(report, "\n{size:>12} {name}").unwrap();
        }
        if let Some(server) = &self.server {
            write!(
                report,
                "\n--- end of the server's log\n{}",
                server.log_tail()
            )
            .unwrap();
        }
        report
    }
}
