//! A child process under watch: its end, its memory, its output.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A child; killed when dropped.
pub struct Process {
    id: u32,
    handle: OwnedFd,
    exit: Receiver<ExitStatus>,
    peak_rss_bytes: u64,
}

impl Process {
    pub fn watch(mut child: Child) -> Self {
        let id = child.id();
        // Opened before the child can be reaped, so that a signal never goes to another process of the same id.
        let pid = Pid::from_raw(id.try_into().unwrap()).unwrap();
        let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let (sender, exit) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait().unwrap()));
        Self {
            id,
            handle,
            exit,
            peak_rss_bytes: 0,
        }
    }

    /// As of the last `wait`.
    pub fn peak_rss_bytes(&self) -> u64 {
        self.peak_rss_bytes
    }

    pub fn signal(&self, signal: Signal) {
        // A process that has just ended is no failure of the sender.
        pidfd_send_signal(&self.handle, signal).ok();
    }

    pub fn signaller(&self) -> Signaller {
        Signaller(self.handle.try_clone().unwrap())
    }

    /// Samples the kernel's own high-water mark while it waits: `ru_maxrss` of a spawned child would start from the
    /// size of the test process, which is inherited across exec.
    pub fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        const SAMPLE: Duration = Duration::from_millis(5);
        loop {
            self.peak_rss_bytes = self.peak_rss_bytes.max(peak_rss_bytes(self.id));
            let left = deadline.saturating_duration_since(Instant::now());
            match self.exit.recv_timeout(left.min(SAMPLE)) {
                Ok(status) => return Some(status),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the waiting thread always sends")
                }
            }
        }
    }

    pub fn kill(&mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        self.exit.recv().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Sends signals to a process for which another thread waits.
pub struct Signaller(OwnedFd);

impl Signaller {
    /// False when the process has ended already.
    pub fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.0, signal).is_ok()
    }
}

/// Zero once the process has ended.
fn peak_rss_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kibibytes.map_or(0, |number| number.parse::<u64>().unwrap() * 1024)
}

/// A stream read to its end by a thread of its own, so that the process never waits for its reader.
pub struct Capture {
    content: Arc<(Mutex<Vec<u8>>, Condvar)>,
    reader: JoinHandle<()>,
}

impl Capture {
    pub fn start(mut stream: impl Read + Send + 'static) -> Self {
        let content = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let shared = Arc::clone(&content);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                shared
                    .0
                    .lock()
                    .unwrap()
                    .extend_from_slice(&buffer[..length]);
                shared.1.notify_all();
            }
        });
        Self { content, reader }
    }

    pub fn await_content(&self, limit: Duration, condition: impl Fn(&[u8]) -> bool) -> bool {
        let content = self.content.0.lock().unwrap();
        let waiting = self
            .content
            .1
            .wait_timeout_while(content, limit, |seen| !condition(seen));
        !waiting.unwrap().1.timed_out()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content.0.lock().unwrap()).into_owned()
    }

    pub fn finish(self) -> Vec<u8> {
        self.reader.join().unwrap();
        std::mem::take(&mut *self.content.0.lock().unwrap())
    }
}
