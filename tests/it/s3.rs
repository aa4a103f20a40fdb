//! Dumps into a bucket: the same files as in a directory, or none that looks like a dump, whatever the store does.
//!
//! The store is SeaweedFS; what it would not do by itself a proxy in front of it does.

mod faults;
mod refusals;
mod scene;
mod stop;

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::harness::Verdict;
use scene::Scene;

#[test]
fn bucket_gets_the_files_that_a_directory_gets() {
    let Some(scene) = Scene::new("same") else {
        return;
    };
    let run = scene.dump().args(["--report", "json"]).run();
    run.assert_ok();
    scene.assert_whole(&run);
    scene.assert_no_key(&run);
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let place = format!("s3://rdump/{}/", scene.prefix);
    assert_eq!(report["output"], place.as_str(), "{report}");
    let manifest = &scene.store.objects(&scene.prefix)["manifest.json"];
    let manifest = String::from_utf8_lossy(manifest);
    assert!(!manifest.contains(scene.store.fact("secret_key")));
}

#[test]
fn keys_of_the_environment_and_certificates_of_an_own_authority_are_used() {
    let Some(scene) = Scene::new("tls") else {
        return;
    };
    let (store, prefix) = (scene.store, &scene.prefix);
    let run = scene
        .dump()
        .output(format!("s3://rdump/{prefix}"))
        .args(["--s3.endpoint", store.fact("endpoint_tls")])
        .env("AWS_ACCESS_KEY_ID", store.fact("access_key"))
        .env("AWS_SECRET_ACCESS_KEY", store.fact("secret_key"))
        .env("SSL_CERT_FILE", store.fact("ca"))
        .run();
    run.assert_ok();
    scene.assert_whole(&run);
}

/// Case B111: the compressor is finished before the upload is.
#[test]
fn compressed_files_of_a_limited_size_are_whole() {
    let Some(scene) = Scene::new("gzip") else {
        return;
    };
    let run = scene.dump().args(["-c", "gzip", "-F", "1MiB"]).run();
    run.assert_ok();
    let objects = scene.store.objects(&scene.prefix);
    let manifest: serde_json::Value = serde_json::from_slice(&objects["manifest.json"]).unwrap();
    let tables = manifest["tables"].as_array().unwrap();
    let files = tables
        .iter()
        .flat_map(|table| table["files"].as_array().unwrap());
    let mut data = 0;
    for file in files {
        let bytes = &objects[file["name"].as_str().unwrap()];
        assert_eq!(file["stored_bytes"], bytes.len(), "{file}");
        let mut raw = Vec::new();
        GzDecoder::new(&bytes[..]).read_to_end(&mut raw).unwrap();
        assert_eq!(file["raw_bytes"], raw.len(), "{file}");
        data += usize::from(!file["data"].is_null());
    }
    assert!(data > 10, "{data} data files");
}

/// Case B109: stores that know no checksums refuse them.
#[test]
fn store_that_knows_no_checksums_takes_a_dump_without_them() {
    let Some(scene) = Scene::new("plain") else {
        return;
    };
    let proxy = scene.proxy(|request| {
        let head = request.head.to_ascii_lowercase();
        let has_new = [
            "x-amz-checksum",
            "x-amz-sdk-checksum",
            "aws-chunked",
            "expect:",
        ];
        if has_new.iter().any(|word| head.contains(word)) {
            return Verdict::error(501, "NotImplemented");
        }
        Verdict::Pass
    });
    let run = scene.dump_by(&proxy.endpoint()).run();
    scene.assert_failed(&run, &["501 NotImplemented", "--s3.checksum none"]);
    let run = scene
        .dump_by(&proxy.endpoint())
        .args(["--s3.checksum", "none"])
        .run();
    run.assert_ok();
    scene.assert_whole(&run);
}
