//! A database, its dump on disk, and a prefix in a bucket to which the same is dumped.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::harness::{
    HttpProxy, HttpRequest, ObjectStore, Query as _, Rdump, Run, Server, TestDb, Verdict,
};

/// What tells the time, and so differs from dump to dump.
const TIMES: [&str; 2] = ["metadata", "manifest.json"];

pub struct Scene {
    pub store: &'static ObjectStore,
    pub database: TestDb,
    pub prefix: String,
}

impl Scene {
    /// A table of 12 MB, which is three parts of 5 MiB, small ones, an empty one and a view. None without an object store.
    pub fn new(test: &str) -> Option<Self> {
        let store = ObjectStore::get()?;
        let database = TestDb::new(&Server::mariadb(), &format!("s3_{test}"));
        let mut session = database.connect();
        for statement in [
            "CREATE TABLE large (id INT PRIMARY KEY, v TEXT) STATS_AUTO_RECALC = 0",
            "INSERT INTO large SELECT seq, REPEAT(MD5(seq), 31) FROM seq_1_to_12000",
            "ANALYZE TABLE large",
            "CREATE TABLE small (id INT PRIMARY KEY, v TEXT)",
            "INSERT INTO small SELECT seq, MD5(seq) FROM seq_1_to_100",
            "CREATE TABLE empty (id INT PRIMARY KEY)",
            "CREATE VIEW few AS SELECT id FROM small WHERE id < 10",
        ] {
            session.rows(statement);
        }
        let prefix = ObjectStore::prefix(test);
        Some(Self {
            store,
            database,
            prefix,
        })
    }

    /// A dump to the prefix by way of `endpoint`.
    pub fn dump_by(&self, endpoint: &str) -> Rdump {
        Rdump::dump(self.database.server())
            .database(self.database.name())
            .output(self.store.url(&self.prefix, endpoint))
            .args(["--s3.part-size", "5MiB", "-t", "2"])
            .time_limit(Duration::from_secs(60))
    }

    pub fn dump(&self) -> Rdump {
        self.dump_by(self.store.fact("endpoint"))
    }

    /// A proxy in front of the store.
    pub fn proxy(
        &self,
        judge: impl Fn(&HttpRequest) -> Verdict + Send + Sync + 'static,
    ) -> HttpProxy {
        HttpProxy::to_port(self.store.port(), judge)
    }

    /// A dump through a proxy that ends well.
    #[track_caller]
    pub fn assert_survives(
        &self,
        judge: impl Fn(&HttpRequest) -> Verdict + Send + Sync + 'static,
    ) -> HttpProxy {
        let proxy = self.proxy(judge);
        let run = self.dump_by(&proxy.endpoint()).run();
        run.assert_ok();
        self.assert_whole(&run);
        proxy
    }

    /// The bucket holds what a directory would, and nothing unfinished.
    #[track_caller]
    pub fn assert_whole(&self, run: &Run) {
        let reference = Rdump::dump(self.database.server())
            .database(self.database.name())
            .args(["-t", "2"])
            .run();
        reference.assert_ok();
        let expected: BTreeMap<_, _> = reference
            .files()
            .into_iter()
            .map(|name| (name.clone(), reference.read(&name)))
            .collect();
        let objects = self.store.objects(&self.prefix);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&objects), names(&expected), "{}", run.report());
        for (name, bytes) in &expected {
            let is_same = TIMES.contains(&name.as_str()) || objects[name] == *bytes;
            assert!(is_same, "{name} differs\n{}", run.report());
        }
        self.assert_nothing_unfinished(run);
    }

    /// No dump: exit 1 with these words, no manifest, nothing unfinished, no key in any text.
    #[track_caller]
    pub fn assert_failed(&self, run: &Run, words: &[&str]) {
        run.assert_fails(1);
        for word in words {
            assert!(run.stderr.contains(word), "no {word:?}\n{}", run.report());
        }
        let names = self.store.names(&self.prefix);
        assert!(!names.contains(&"manifest.json".to_owned()), "{names:?}");
        self.assert_nothing_unfinished(run);
        self.assert_no_key(run);
    }

    #[track_caller]
    pub fn assert_nothing_unfinished(&self, run: &Run) {
        let uploads = self.store.uploads(&self.prefix);
        assert!(uploads.is_empty(), "{uploads:?}\n{}", run.report());
    }

    /// The secret key is in nothing that a person sees.
    #[track_caller]
    pub fn assert_no_key(&self, run: &Run) {
        let secret = self.store.fact("secret_key");
        let stdout = String::from_utf8_lossy(&run.stdout);
        for text in [&*stdout, &run.stderr] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.store.remove(&self.prefix);
    }
}
