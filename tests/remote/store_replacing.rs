//! Outputs where something is already: what may be replaced, and what is not taken for ours.

use crate::servers::{fresh, numbers};
use crate::store_writing::{MEMORY, convert, model, on_both, read, stamp};
use object_store::path::Path as Key;
use weighbridge::internals::remote::StoreDestination;
use weighbridge::output::{Destination as _, FoundFile};

#[test]
fn a_shard_that_was_replaced_is_not_taken() {
    on_both(|server| {
        let name = fresh("damaged");
        let bucket = server.bucket(&name);
        let target = || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        let first = target();
        first.begin(&stamp).unwrap();
        for file in ["a.safetensors", "b.safetensors", "c.safetensors"] {
            let output = first.create(file, 1000).unwrap();
            output.write_at(0, &numbers(1000)).unwrap();
            output.finish().unwrap();
        }
        first.abort();
        server.put(&name, "out/b.safetensors", &[1; 1000]);
        let second = target().resume(true);
        second.begin(&stamp).unwrap();
        assert_eq!(second.found("a.safetensors", 1000), FoundFile::Complete);
        assert_eq!(second.found("a.safetensors", 1001), FoundFile::Damaged);
        assert_eq!(second.found("b.safetensors", 1000), FoundFile::Damaged);
        assert_eq!(second.found("d.safetensors", 1000), FoundFile::Nothing);
        // What this run wrote is deleted, what the other one left is not.
        second.create("d.safetensors", 5).unwrap().finish().unwrap();
        second.discard();
        let keys = server.keys(&name);
        assert!(
            keys.contains(&"out/a.safetensors".into())
                && !keys.contains(&"out/d.safetensors".into()),
            "{keys:?}"
        );
        assert_eq!(keys.len(), 7, "{keys:?}");
    });
}

#[test]
fn only_what_is_ours_is_overwritten() {
    on_both(|server| {
        let (name, folder) = (fresh("forced"), tempfile::tempdir().unwrap());
        let (bucket, model) = (server.bucket(&name), model(folder.path()));
        let target = || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        let write = |to: &StoreDestination, file: &str| {
            to.begin(&stamp).unwrap();
            let output = to.create(file, 1000).unwrap();
            output.write_at(0, &numbers(1000)).unwrap();
            output.finish().unwrap();
        };
        // Of an earlier output, nothing is left; what somebody put beside it stays.
        let first = target();
        write(&first, "old.safetensors");
        first.finish().unwrap();
        server.put(&name, "out/mine.txt", b"mine");
        convert(&model, &target().force(true)).unwrap();
        let keys = server.keys(&name);
        assert!(keys.contains(&"out/mine.txt".to_owned()), "{keys:?}");
        assert!(!keys.contains(&"out/old.safetensors".to_owned()), "{keys:?}");
        // What somebody has put in the place of a file of ours is not overwritten either.
        let shard = keys.iter().find(|key| key.ends_with(".safetensors")).unwrap();
        server.put(&name, shard, b"mine");
        let error = convert(&model, &target().force(true)).unwrap_err();
        assert!(error.to_string().contains("was written by another program"), "{error}");
        assert_eq!(read(&bucket, shard), b"mine");
        // What makes the others a model was not taken away before.
        assert!(server.keys(&name).contains(&"out/weigh-manifest.json".to_owned()));
        // Without a manifest, all of it is somebody's.
        server.put(&name, "other/mine.txt", b"mine");
        let other = StoreDestination::folder(bucket.clone(), Key::from("other"), MEMORY);
        let error = convert(&model, &other.force(true)).unwrap_err();
        assert!(error.to_string().contains("never overwritten"), "{error}");
    });
}

/// Permission to overwrite is none to finish into what another run has just finished, or to delete it.
#[test]
fn of_two_runs_that_may_overwrite_one_finishes() {
    on_both(|server| {
        let name = fresh("both");
        let bucket = server.bucket(&name);
        let target =
            || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY).force(true);
        let (one, two) = (target(), target());
        for run in [&one, &two] {
            run.begin(&stamp).unwrap();
            let output = run.create("a.safetensors", 1000).unwrap();
            output.write_at(0, &numbers(1000)).unwrap();
            output.finish().unwrap();
        }
        one.finish().unwrap();
        let error = two.finish().unwrap_err();
        let told = "another run finished an output here in the meantime";
        assert!(error.to_string().contains(told), "{error}");
        two.discard();
        let keys = server.keys(&name);
        assert_eq!(keys, ["out/a.safetensors", "out/weigh-manifest.json"]);
        assert_eq!(read(&bucket, "out/a.safetensors"), numbers(1000));
    });
}

/// After a resumed run, what turns out to be wrong goes, whoever of both runs wrote it.
#[test]
fn a_complete_output_that_is_wrong_goes_entirely() {
    on_both(|server| {
        let name = fresh("wrong");
        let bucket = server.bucket(&name);
        let target = || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        let first = target();
        first.begin(&stamp).unwrap();
        first.create("a.safetensors", 1000).unwrap().finish().unwrap();
        first.abort();
        let second = target().resume(true);
        second.begin(&stamp).unwrap();
        assert_eq!(second.found("a.safetensors", 1000), FoundFile::Complete);
        second.finish().unwrap();
        assert!(second.kept().is_none());
        second.discard();
        assert!(server.keys(&name).is_empty(), "{:?}", server.keys(&name));
    });
}
