//! Reading from real servers.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::servers::{Kind, Server, fresh, numbers, server};
use object_store::path::Path as Key;
use weighbridge::internals::remote::{StoreFile, StoreFolder};
use weighbridge::{EntryKind, Folder as _, OpenOptions, ReadAt as _, ReadRange};

fn on_both(test: impl Fn(&'static Server)) {
    for kind in [Kind::S3, Kind::Azure] {
        if let Some(server) = server(kind) {
            test(server);
        }
    }
}

#[test]
fn every_range_is_what_was_put() {
    on_both(|server| {
        let name = fresh("ranges");
        let bucket = server.bucket(&name);
        let bytes = numbers(20 << 20);
        server.put(&name, "dir/model.safetensors", &bytes);
        let file = StoreFile::open(&bucket, &Key::from("dir/model.safetensors"), None).unwrap();
        assert_eq!(file.len(), Some(bytes.len() as u64));
        assert!(file.has_latency() && file.is_unchanged().unwrap());
        // Inside what is kept, across its end, past it, at the end, all of it.
        let kept = 128 << 10;
        for (offset, len) in [
            (0, 10),
            (kept - 5, 10),
            (kept, 1),
            (9 << 20, 3 << 20),
            (bytes.len() - 1, 1),
            (0, bytes.len()),
            (5, 0),
        ] {
            let mut out = vec![0; len];
            file.read_at(offset as u64, &mut out).unwrap();
            assert!(out == bytes[offset..offset + len], "{offset} {len}");
        }
        let mut many: Vec<(u64, Vec<u8>)> =
            (0..200).rev().map(|i| (i * 100_003, vec![0; 77])).collect();
        let mut ranges: Vec<ReadRange<'_>> =
            many.iter_mut().map(|(offset, out)| ReadRange { offset: *offset, out }).collect();
        file.read_ranges(&mut ranges).unwrap();
        for (offset, out) in &many {
            let start = usize::try_from(*offset).unwrap();
            assert!(*out == bytes[start..start + 77], "{offset}");
        }
        let past = file.read_at(bytes.len() as u64 - 1, &mut [0; 2]).unwrap_err();
        assert_eq!(past.kind(), ErrorKind::UnexpectedEof);
        assert!(file.read_at(u64::MAX, &mut [0; 2]).is_err());
    });
}

#[test]
fn first_stretches_lie_where_they_are_wanted() {
    on_both(|server| {
        let name = fresh("first");
        let bucket = server.bucket(&name);
        let bytes = numbers(300_000);
        for key in ["a.gguf", "a.pth", "m-00001-of-00002.safetensors", "short.json", "empty.json"] {
            let len = match key {
                "short.json" => 10,
                "empty.json" => 0,
                _ => bytes.len(),
            };
            server.put(&name, key, &bytes[..len]);
            for size in [None, Some(len as u64)] {
                let file = StoreFile::open(&bucket, &Key::from(key), size).unwrap();
                assert_eq!(file.len(), Some(len as u64), "{key}");
                let mut out = vec![0; len];
                file.read_at(0, &mut out).unwrap();
                assert!(out == bytes[..len], "{key} {size:?}");
                assert!(file.is_unchanged().unwrap(), "{key}");
            }
        }
    });
}

#[test]
fn a_changed_object_is_an_error() {
    on_both(|server| {
        let name = fresh("changed");
        let bucket = server.bucket(&name);
        for (after, len) in [("longer", 2 << 20), ("as long", 1 << 20), ("shorter", 10)] {
            server.put(&name, "w.safetensors", &numbers(1 << 20));
            let file = StoreFile::open(&bucket, &Key::from("w.safetensors"), None).unwrap();
            server.put(&name, "w.safetensors", &vec![7; len]);
            let error = file.read_at(500_000, &mut [0; 100]).unwrap_err();
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("{name}/w.safetensors: was changed while it was read")),
                "{after}: {error}"
            );
            assert!(!file.is_unchanged().unwrap(), "{after}");
        }
    });
}

#[test]
fn a_prefix_is_a_folder() {
    on_both(|server| {
        let name = fresh("folder");
        let bucket = server.bucket(&name);
        for key in
            ["model/config.json", "model/a b%20c.bin", "model/unet/deep/x.bin", "modelling.txt"]
        {
            server.put(&name, &key.replace('%', "%25").replace(' ', "%20"), key.as_bytes());
        }
        let folder = StoreFolder::new(bucket.clone(), Key::from("model"));
        let mut names: Vec<_> = folder
            .list(Path::new(""))
            .unwrap()
            .into_iter()
            .map(|e| (e.name.into_string().unwrap(), e.kind))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("a b%20c.bin", EntryKind::File(17)),
            ("config.json", EntryKind::File(17)),
            ("unet", EntryKind::Folder),
        ];
        assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
        let kind = |path: &str| folder.kind(Path::new(path)).map_err(|e| e.kind());
        assert_eq!(kind(""), Ok(EntryKind::Folder));
        assert_eq!(kind("unet/deep"), Ok(EntryKind::Folder));
        assert_eq!(kind("unet/deep/x.bin"), Ok(EntryKind::File(21)));
        assert_eq!(kind("none"), Err(ErrorKind::NotFound));
        assert_eq!(kind("none/x"), Err(ErrorKind::NotFound));
        let fresh = StoreFolder::new(bucket.clone(), Key::from("model"));
        for folder in [&folder, &fresh] {
            let open = |path: &str| {
                folder.open(Path::new(path)).map(|file| file.len().unwrap()).map_err(|e| e.kind())
            };
            assert_eq!(open("a b%20c.bin"), Ok(17));
            assert_eq!(open("unet/../config.json"), Ok(17));
            // The way up ends at the root: the file beside it cannot be reached.
            assert_eq!(open("../modelling.txt"), Err(ErrorKind::NotFound));
            assert_eq!(open("unet"), Err(ErrorKind::IsADirectory));
            assert_eq!(open(""), Err(ErrorKind::IsADirectory));
            assert_eq!(open("none"), Err(ErrorKind::NotFound));
            let list =
                |path: &str| folder.list(Path::new(path)).map(|e| e.len()).map_err(|e| e.kind());
            assert_eq!(list("config.json"), Err(ErrorKind::NotADirectory));
            assert_eq!(list("none"), Err(ErrorKind::NotFound));
        }
        for (key, inside) in [("model", ""), ("model/", ""), ("model/config.json", "config.json")] {
            let (folder, path) =
                StoreFolder::at(bucket.clone(), &server.address(&name, key)).unwrap();
            assert_eq!(path, inside);
            assert!(folder.kind(Path::new(&path)).is_ok());
        }
        let error =
            StoreFolder::at(bucket, &server.address(&name, "nothing")).map(drop).unwrap_err();
        assert!(error.to_string().ends_with("/nothing: cannot read: object not found"), "{error}");
    });
}

#[test]
fn refusals_say_what_was_tried() {
    let Some(server) = server(Kind::S3) else { return };
    let name = fresh("refused");
    server.bucket(&name);
    server.put(&name, "x.json", b"{}");
    let read = |bucket: &Arc<_>| {
        StoreFile::open(bucket, &Key::from("x.json"), None).map(drop).unwrap_err()
    };
    let anonymous =
        server.connect_as(&name, &[("AWS_ACCESS_KEY_ID", None), ("AWS_SECRET_ACCESS_KEY", None)]);
    let error = read(&anonymous);
    assert!(
        error
            .to_string()
            .starts_with(&format!("s3://{name}/x.json: cannot read: access denied (AccessDenied")),
        "{error:?}"
    );
    let hint = error.hint_text().unwrap();
    assert!(hint.contains("none of AWS_ACCESS_KEY_ID") && hint.contains("~/.aws"), "{hint}");
    let error = read(&server.connect_as(&name, &[("AWS_SECRET_ACCESS_KEY", Some("wrong"))]));
    assert!(error.hint_text().unwrap().contains("signed with AWS_ACCESS_KEY_ID"), "{error:?}");
    assert!(!format!("{error:?}").contains("wrong"));
    let error = read(&server.connect_as("no-such-bucket", &[]));
    assert!(error.to_string().contains("bucket `no-such-bucket` not found"), "{error:?}");
    let start = std::time::Instant::now();
    let closed = server.connect_as(&name, &[("AWS_ENDPOINT_URL", Some("http://127.0.0.1:1"))]);
    let error = read(&closed);
    assert!(error.to_string().to_lowercase().contains("connection refused"), "{error:?}");
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn a_model_opens_from_its_store() {
    on_both(|server| {
        let name = fresh("model");
        let bucket = server.bucket(&name);
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/safetensors");
        let bytes = std::fs::read(samples.join("dtypes.safetensors")).unwrap();
        server.put(&name, "m/model.safetensors", &bytes);
        let folder = Arc::new(StoreFolder::new(bucket, Key::from("m")));
        let there = OpenOptions::new().open_in(folder, "").unwrap();
        let here = OpenOptions::new().open(samples.join("dtypes.safetensors")).unwrap();
        let listed = |model: &weighbridge::Model| -> Vec<String> {
            model.weights().map(|w| format!("{} {:?}", w.name(), w.shape())).collect()
        };
        assert_eq!(listed(&there), listed(&here));
        assert!(!listed(&there).is_empty());
    });
}
