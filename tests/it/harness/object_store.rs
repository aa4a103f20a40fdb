//! SeaweedFS as an object store, and a look at it past its S3 interface: by the HTTP interface of the file store below it, which
//! shares nothing with rdump.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::dev_server::{Facts, dev_server_of};
use super::server::{announce, is_named};

const KIND: &str = "s3";
const BUCKET: &str = "rdump";
/// Where SeaweedFS keeps unfinished uploads.
const UPLOADS: &str = "/buckets/rdump/.uploads/";

/// The shared server.
pub struct ObjectStore {
    facts: Facts,
}

impl ObjectStore {
    /// None when this machine's package sources do not have it, which is said once.
    pub fn get() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<ObjectStore>> = OnceLock::new();
        let start = || {
            let prefix = std::env::var("RDUMP_TEST_INSTANCES").unwrap_or_default();
            let started = if is_named(KIND) {
                dev_server_of(KIND, "start", &[&prefix, KIND].concat(), "", &[])
            } else {
                Err("left out by RDUMP_TEST_SERVERS".to_owned())
            };
            if let Err(reason) = &started {
                announce(&format!("NOT COVERED: {KIND}: {reason}"));
            }
            started.ok().map(|facts| Self { facts })
        };
        SHARED.get_or_init(start).as_ref()
    }

    pub fn fact(&self, key: &str) -> &str {
        &self.facts[key]
    }

    pub fn port(&self) -> u16 {
        self.fact("port").parse().unwrap()
    }

    /// A prefix that no test has used.
    pub fn prefix(word: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{word}-{}-{count}", std::process::id())
    }

    /// `-o` for a prefix, by way of an endpoint.
    pub fn url(&self, prefix: &str, endpoint: &str) -> String {
        let (key, secret) = (self.fact("access_key"), self.fact("secret_key"));
        format!(
            "s3://{BUCKET}/{prefix}?endpoint={endpoint}&region=us-east-1&access-key={key}&secret-access-key={secret}"
        )
    }

    /// The objects directly under a prefix.
    pub fn objects(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let folder = format!("/buckets/{BUCKET}/{prefix}/");
        let names = self.entries(&folder).into_iter();
        names
            .map(|name| {
                let body = self.http("GET", &[&folder, escape(&name).as_str()].concat(), b"");
                (name, body.unwrap_or_default())
            })
            .collect()
    }

    /// Names of the objects directly under a prefix.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        self.entries(&format!("/buckets/{BUCKET}/{prefix}/"))
    }

    pub fn plant(&self, prefix: &str, name: &str, bytes: &[u8]) {
        let path = format!("/buckets/{BUCKET}/{prefix}/{name}");
        self.http("PUT", &path, bytes).expect("a planted object");
    }

    /// Keys of unfinished uploads under a prefix.
    pub fn uploads(&self, prefix: &str) -> Vec<String> {
        let keys = self.listing(UPLOADS).into_iter().filter_map(|entry| {
            let key = entry["Extended"]["key"].as_str()?;
            Some(String::from_utf8(decode_base64(key)).unwrap())
        });
        keys.filter(|key| key.trim_start_matches('/').starts_with(prefix))
            .collect()
    }

    pub fn remove(&self, prefix: &str) {
        let path = format!("/buckets/{BUCKET}/{prefix}?recursive=true");
        self.http("DELETE", &path, b"");
    }

    fn entries(&self, folder: &str) -> Vec<String> {
        let name = |entry: &serde_json::Value| {
            let path = entry["FullPath"].as_str().unwrap();
            path.rsplit('/').next().unwrap().to_owned()
        };
        self.listing(folder).iter().map(name).collect()
    }

    fn listing(&self, folder: &str) -> Vec<serde_json::Value> {
        let path = [folder, "?limit=100000"].concat();
        let Some(text) = self.http("GET", &path, b"") else {
            return Vec::new();
        };
        let listing: serde_json::Value = serde_json::from_slice(&text).unwrap();
        listing["Entries"].as_array().cloned().unwrap_or_default()
    }

    /// The body of a successful answer.
    fn http(&self, method: &str, path: &str, body: &[u8]) -> Option<Vec<u8>> {
        let address = self.fact("filer").trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        // HTTP/1.0, so that the answer ends with the connection.
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let is_success = answer[9] == b'2';
        is_success.then(|| answer.split_off(end + 4))
    }
}

fn escape(name: &str) -> String {
    let escape = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    name.bytes().map(escape).collect()
}

fn decode_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four
            .iter()
            .fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect()
}
