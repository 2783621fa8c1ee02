//! What already lies where an output goes: what we did not write is never deleted, and what another
//! run is writing is left to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{decoded, root};
use serde_json::Value;
use weighbridge::ops::{self, ConvertOptions, Names};
use weighbridge::{Model, Remedy};

fn sample() -> Model {
    Model::open(root().join("samples/tiny-llama-gptq")).unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names = decoded::names_in(folder);
    names.sort();
    names
}

/// A copy of the sample's folder.
fn copy_of_sample(to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(root().join("samples/tiny-llama-gptq")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_folder_with_anything_of_somebody_else_is_never_replaced() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let target = place.path().join("models");
    let options = ConvertOptions::new(&target).force(true);
    // One model directly in it, others in folders: all of it was deleted once.
    std::fs::create_dir_all(target.join("another")).unwrap();
    std::fs::write(target.join("a.safetensors"), "weights").unwrap();
    std::fs::write(target.join("another/b.safetensors"), "weights").unwrap();
    for dry_run in [true, false] {
        let error = ops::convert(&model, &options.clone().dry_run(dry_run)).unwrap_err();
        assert!(error.message().ends_with("a.safetensors, another"), "{error}");
        assert_eq!(error.remedies(), [Remedy::AnotherTarget]);
    }
    assert_eq!(names_in(&target), ["a.safetensors", "another"]);
    assert!(target.join("another/b.safetensors").exists());
    std::fs::remove_dir_all(&target).unwrap();

    std::fs::create_dir(&target).unwrap();
    ops::convert(&model, &options).unwrap();
    ops::convert(&model, &options).unwrap();
    // One file that we did not write, one that is not as we wrote it.
    for name in ["notes.txt", "model.safetensors"] {
        let before = std::fs::read(target.join(name)).ok();
        std::fs::write(target.join(name), "mine").unwrap();
        let error = ops::convert(&model, &options).unwrap_err();
        assert!(error.message().ends_with(name), "{error}");
        assert_eq!(std::fs::read(target.join(name)).unwrap(), b"mine");
        match before {
            Some(before) => std::fs::write(target.join(name), before).unwrap(),
            None => std::fs::remove_file(target.join(name)).unwrap(),
        }
    }
    ops::convert(&model, &options).unwrap();
    assert_eq!(names_in(place.path()), ["models"]);
}

#[test]
fn the_marker_lists_the_files_and_is_not_copied_onward() {
    let place = tempfile::tempdir().unwrap();
    let [source, first, second] = ["in", "first", "second"].map(|name| place.path().join(name));
    copy_of_sample(&source);
    std::fs::create_dir(source.join("more")).unwrap();
    std::fs::write(source.join("more/notes.txt"), "kept").unwrap();
    let listed = |folder: &Path| -> BTreeMap<String, u64> {
        let marker = std::fs::read(folder.join(".weigh.json")).unwrap();
        let marker: Value = serde_json::from_slice(&marker).unwrap();
        let files = marker["files"].as_array().unwrap().iter();
        files
            .map(|file| {
                (file["name"].as_str().unwrap().to_owned(), file["bytes"].as_u64().unwrap())
            })
            .collect()
    };
    ops::dequantize(&Model::open(&source).unwrap(), &ConvertOptions::new(&first)).unwrap();
    let model = Model::open(&first).unwrap();
    assert!(model.findings().is_empty() && model.notes().is_empty());
    std::fs::copy(first.join(".weigh.json"), source.join(".weigh.json")).unwrap();
    let model = Model::open(&source).unwrap();
    let options = ConvertOptions::new(&second).max_shard_size(60_000);
    ops::dequantize(&model, &options).unwrap();
    for folder in [&first, &second] {
        let files = listed(folder);
        let mut names: Vec<&str> =
            files.keys().filter(|name| !name.contains('/')).map(String::as_str).collect();
        names.extend([".weigh.json", "more"]);
        names.sort_unstable();
        assert_eq!(names, names_in(folder));
        assert_eq!(files["more/notes.txt"], 4);
        for (name, bytes) in files {
            assert_eq!(folder.join(&name).metadata().unwrap().len(), bytes, "{name}");
        }
    }
    ops::dequantize(&model, &options.force(true)).unwrap();
}

#[test]
fn an_output_is_not_put_among_the_files_of_its_model() {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("in");
    copy_of_sample(&source);
    let before = names_in(&source);
    let index = source.join("model.safetensors.index.json");
    let opened = [Some(&source), index.exists().then_some(&index)];
    for opened in opened.into_iter().flatten() {
        let model = Model::open(opened).unwrap();
        for inside in ["out", "../in/out"] {
            let error =
                ops::dequantize(&model, &ConvertOptions::new(source.join(inside))).unwrap_err();
            assert!(error.message().contains("inside the model's directory"), "{error}");
            assert_eq!(error.remedies(), [Remedy::AnotherTarget]);
        }
        // Any file but one of weights may belong to the model, whatever it is called.
        let options = ConvertOptions::new(source.join("tokenizer.json")).to("safetensors");
        let error = ops::convert(&model, &options.force(true)).unwrap_err();
        assert!(error.message().contains("never overwritten"), "{error}");
    }
    assert_eq!(names_in(&source), before);
    let single = source.join(before.iter().find(|name| name.ends_with(".safetensors")).unwrap());
    let options = ConvertOptions::new(source.join("config.json")).to("safetensors").force(true);
    let model = Model::open(&single).unwrap();
    if !model.configs().is_empty() {
        let error = ops::convert(&model, &options).unwrap_err();
        assert!(error.message().contains("never overwritten"), "{error}");
    }
    let model = Model::open(&source).unwrap();
    ops::convert(&model, &ConvertOptions::new(source.join("out.gguf")).names(Names::Keep)).unwrap();
    ops::convert(
        &model,
        &ConvertOptions::new(source.join("out.gguf")).names(Names::Keep).force(true),
    )
    .unwrap();
    assert_eq!(names_in(&source).len(), before.len() + 1);
}

#[test]
fn a_second_run_is_refused_and_leaves_the_first_alone() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    for name in ["out", "out.safetensors"] {
        let options = ConvertOptions::new(place.path().join(name));
        let options = if name == "out" { options.max_shard_size(60_000) } else { options };
        let found = Arc::new(Mutex::new(Vec::new()));
        let second = {
            let (model, found, options) = (model.clone(), found.clone(), options.clone());
            move |_| {
                let mut found = found.lock().unwrap();
                if !found.is_empty() {
                    return;
                }
                for resume in [false, true] {
                    let options = options.clone().force(!resume).resume(resume);
                    found.push(ops::convert(&model, &options).map(|_| ()));
                }
            }
        };
        ops::convert(&model, &options.progress(Arc::new(second))).unwrap();
        assert_eq!(found.lock().unwrap().len(), 2);
        for refused in &*found.lock().unwrap() {
            let error = refused.as_ref().unwrap_err();
            assert!(error.message().contains("written by another run"), "{error}");
            assert!(error.remedies().contains(&Remedy::WaitForOther));
        }
    }
    assert_eq!(names_in(place.path()), ["out", "out.safetensors"]);
}

#[cfg(unix)]
mod special {
    use std::fs::FileType;
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    fn kind(path: &Path) -> FileType {
        path.symlink_metadata().unwrap().file_type()
    }

    fn pipe(path: PathBuf) -> PathBuf {
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// The pipe comes first, and the device is only ever named by a link: a mistake that replaces
    /// what it finds must not meet the machine's own `/dev/null`.
    #[test]
    fn pipes_and_devices_are_written_to_and_never_replaced() {
        let (place, model) = (tempfile::tempdir().unwrap(), sample());
        let whole = place.path().join("whole.safetensors");
        ops::convert(&model, &ConvertOptions::new(&whole)).unwrap();
        let whole = std::fs::read(whole).unwrap();
        for (name, force) in [("pipe", false), ("pipe.safetensors", true), ("Llama-3.1", true)] {
            let path = pipe(place.path().join(name));
            let reader = {
                let path = path.clone();
                std::thread::spawn(move || std::fs::read(path).unwrap())
            };
            let report = ops::convert(&model, &ConvertOptions::new(&path).force(force));
            assert!(kind(&path).is_fifo(), "{name}");
            report.unwrap();
            assert!(reader.join().unwrap() == whole, "{name}");
        }
        let link = place.path().join("null");
        symlink("/dev/null", &link).unwrap();
        for force in [false, true] {
            ops::convert(&model, &ConvertOptions::new(&link).force(force)).unwrap();
            assert!(kind(&link).is_symlink());
        }
        let names = ["Llama-3.1", "null", "pipe", "pipe.safetensors", "whole.safetensors"];
        assert_eq!(names_in(place.path()), names);
    }

    #[test]
    fn a_pipe_whose_reader_goes_away_is_an_error() {
        let (place, model) = (tempfile::tempdir().unwrap(), sample());
        let path = pipe(place.path().join("pipe"));
        let opened = path.clone();
        let reader = std::thread::spawn(move || drop(std::fs::File::open(opened).unwrap()));
        let error = ops::convert(&model, &ConvertOptions::new(&path)).unwrap_err();
        reader.join().unwrap();
        assert_eq!(error.path(), Some(&*path));
        assert!(error.message().contains("broken pipe"), "{error}");
    }

    #[test]
    fn a_socket_is_refused() {
        let (place, model) = (tempfile::tempdir().unwrap(), sample());
        for name in ["socket", "socket.gguf"] {
            let path = place.path().join(name);
            let _listener = UnixListener::bind(&path).unwrap();
            for force in [false, true] {
                let error = ops::convert(&model, &ConvertOptions::new(&path).force(force));
                assert!(error.unwrap_err().message().starts_with("is a socket"));
                assert!(kind(&path).is_socket());
            }
        }
    }
}
