//! What cannot be written, or must not be, is refused and leaves nothing behind.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{gguf, one};
use crate::common::decoded::names_in;
use crate::common::root;
use weighbridge::ops::{ConvertOptions, Names, OutputType};
use weighbridge::{ErrorKind, FileAccess, Model, OpenOptions, Remedy, Select, ops};

/// The error, after making sure that the folder was left as it was.
fn refused(model: &Model, options: &ConvertOptions, folder: &Path) -> weighbridge::Error {
    let before = names_in(folder);
    let error = ops::convert(model, options).unwrap_err();
    assert_eq!(names_in(folder), before, "{error}");
    error
}

#[test]
fn names_that_cannot_be_written_are_refused() {
    let model = Model::open_bytes(one("F32", &[1], &[0; 4], ""), "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.bin", "out.onnx"] {
        let target = folder.path().join(name);
        let error = refused(&model, &ConvertOptions::new(target), folder.path());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint_text().unwrap().contains("safetensors"), "{error}");
    }
    // A device is written to, and takes as much as it has room for.
    for (name, problem) in [(".safetensors", "needs a name"), ("/dev/full", "no space left")] {
        let target = folder.path().join(name);
        let error = refused(&model, &ConvertOptions::new(target), folder.path());
        assert!(error.message().contains(problem), "{error}");
    }
    let target = folder.path().join("nowhere/out.safetensors");
    for dry_run in [false, true] {
        let options = ConvertOptions::new(&target).dry_run(dry_run);
        let error = refused(&model, &options, folder.path());
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.hint_text().unwrap().ends_with("nowhere does not exist"), "{error}");
    }
    let empty = Model::open_bytes(b"\x02\0\0\0\0\0\0\0{}".to_vec(), "empty").unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&empty, &options, folder.path());
    assert!(error.to_string().contains("has no weights"), "{error}");
    assert_eq!(error.hint_text(), None);
}

#[test]
fn an_existing_output_is_replaced_only_by_force_and_only_when_complete() {
    let model = Model::open_bytes(one("F32", &[1], &[7; 4], ""), "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    std::fs::write(&target, b"precious").unwrap();
    let error = refused(&model, &ConvertOptions::new(&target), folder.path());
    assert!(error.to_string().contains("already exists"), "{error}");
    let stopped = Arc::new(AtomicBool::new(true));
    let options = ConvertOptions::new(&target).force(true);
    let error = refused(&model, &options.clone().cancel(stopped), folder.path());
    assert!(error.to_string().contains("stopped"), "{error}");
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    ops::convert(&model, &options).unwrap();
    assert_eq!(Model::open(&target).unwrap().weight("t").unwrap().bytes(), Some(&[7; 4][..]));
    assert_eq!(names_in(folder.path()), ["out.safetensors"]);
}

/// By its own name, through links of both kinds, and as one shard of several.
#[cfg(unix)]
#[test]
fn the_input_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in.safetensors"), one("F32", &[1], &[7; 4], "")).unwrap();
    std::fs::write(at("more.safetensors"), one("F32", &[1], &[8; 4], "")).unwrap();
    std::os::unix::fs::symlink(at("in.safetensors"), at("soft.safetensors")).unwrap();
    std::fs::hard_link(at("in.safetensors"), at("hard.safetensors")).unwrap();
    let before = std::fs::read(at("in.safetensors")).unwrap();
    for input in ["in.safetensors", "soft.safetensors"] {
        let model = Model::open(at(input)).unwrap();
        for output in ["in.safetensors", "soft.safetensors", "hard.safetensors"] {
            let options = ConvertOptions::new(at(output)).dtype(OutputType::F16).force(true);
            let error = refused(&model, &options, folder.path());
            assert!(error.to_string().contains("never overwritten"), "{error}");
        }
    }
    assert_eq!(std::fs::read(at("in.safetensors")).unwrap(), before);
    // A copy: should this ever fail, the sample itself must not be what is lost.
    let shards = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root().join("tests/files/safetensors/sharded")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, shards.path().join(path.file_name().unwrap())).unwrap();
    }
    let model = Model::open(shards.path()).unwrap();
    let last = model.sources().last().unwrap().input().name().to_owned();
    let before = std::fs::read(&last).unwrap();
    let error = refused(&model, &ConvertOptions::new(&last).force(true), shards.path());
    assert!(error.to_string().contains("never overwritten"), "{error}");
    assert_eq!(std::fs::read(&last).unwrap(), before);
}

#[test]
fn what_cannot_be_converted_is_named_and_can_be_left_out() {
    let model = Model::open(root().join("tests/files/gguf/ik-llama-types.gguf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("weights cannot be converted: "), "{error}");
    assert!(error.remedies().contains(&Remedy::Exclude));
    let good: Vec<String> = model
        .weights()
        .filter(|weight| weight.undecodable().is_none())
        .map(|weight| weight.name().to_owned())
        .collect();
    let nothing = options.clone().select(Select::new().exclude(|_| true));
    let error = refused(&model, &nothing, folder.path());
    assert!(error.to_string().contains("nothing to convert"), "{error}");
    assert!(!good.is_empty());
    let only = good.clone();
    let some =
        options.select(Select::new().include(move |name| only.iter().any(|good| good == name)));
    assert_eq!(ops::convert(&model, &some).unwrap().files[0].tensors, good.len() as u64);
}

/// Reasons that differ only in the block type count as one.
#[test]
fn equal_reasons_are_given_once() {
    let model = Model::open(root().join("tests/files/gguf/ik-llama-types.gguf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path()).to_string();
    assert_eq!(error.matches("is specific to ik_llama.cpp").count(), 1, "{error}");
    assert!(error.contains("IQ2_K, IQ3_K") && error.contains("iq2_k.weight"), "{error}");
}

/// Cut short: the weight that lacks bytes is refused, the others can still be had.
#[test]
fn a_cut_file_gives_what_is_there() {
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend_from_slice(&[1; 6]);
    let model = Model::open_bytes(file, "cut.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert_eq!(error.tensor(), Some("b"), "{error}");
    let report =
        ops::convert(&model, &options.select(Select::new().include(|name| name == "a"))).unwrap();
    assert_eq!(report.files[0].tensors, 1);
}

/// One line about the file, not one about each of its tensors.
#[test]
fn a_file_that_lacks_many_tensors_is_cut_short() {
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"c":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend_from_slice(&[1; 6]);
    let model = Model::open_bytes(file, "cut.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    let error = refused(&model, &options, folder.path());
    assert!(error.message().starts_with("the file is truncated"), "{error}");
    assert!(error.hint_text().unwrap().contains("fetch the file again"), "{error}");
    assert_eq!(
        (error.tensor(), error.message().matches("bytes are missing").count()),
        (None, 0),
        "{error}"
    );
    let report =
        ops::convert(&model, &options.select(Select::new().include(|name| name == "a"))).unwrap();
    assert_eq!(report.files[0].tensors, 1);
}

/// A part's problem is reported for its weight, which can be left out by name.
#[test]
fn a_problem_of_a_part_names_the_weight() {
    let nvfp4 = (40, vec![64, 1], vec![0; 36]);
    // Its second scale must be one number.
    let scale = (0, vec![2], vec![0; 8]);
    let cut = (0, vec![1], Vec::new());
    for (tensor, wanted) in [(scale, "its scale a.scale is F32"), (cut, "its scale a.scale: ")] {
        let file = gguf(&[("a.weight", nvfp4.clone()), ("a.scale", tensor)]);
        let model = Model::open_bytes(file, "parts.gguf").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = ConvertOptions::new(folder.path().join("out.safetensors"));
        let error = refused(&model, &options, folder.path());
        assert_eq!(error.tensor(), Some("a.weight"), "{error}");
        assert!(error.message().starts_with(wanted), "{error}");
    }
}

/// A file that shrinks after it was opened fails in the middle, and leaves nothing.
#[test]
fn a_file_that_shrinks_meanwhile_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.safetensors");
    std::fs::write(&input, one("F32", &[1 << 20], &vec![1; 4 << 20], "")).unwrap();
    let model = OpenOptions::new().access(FileAccess::Read).open(&input).unwrap();
    std::fs::OpenOptions::new().write(true).open(&input).unwrap().set_len(3 << 20).unwrap();
    let options = ConvertOptions::new(folder.path().join("out.safetensors"));
    for output_type in [OutputType::Auto, OutputType::F16] {
        let error = refused(&model, &options.clone().dtype(output_type), folder.path());
        assert!(error.message().starts_with("the file shrank"), "{error}");
    }
}

#[test]
fn what_our_own_readers_refuse_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    for (format, shape) in [
        ("gguf", &[0u64, 1 << 63][..]),
        ("npz", &[0, 1 << 62]),
        ("npy", &[0, 1 << 62]),
        ("safetensors", &[0, 1 << 33, 1 << 33]),
    ] {
        let model = Model::open_bytes(one("F32", shape, &[], ""), "one.safetensors").unwrap();
        let target = folder.path().join(format!("out.{format}"));
        let options = ConvertOptions::new(target).names(Names::Keep);
        let error = refused(&model, &options, folder.path());
        assert!(error.to_string().contains("too large"), "{format}: {error}");
    }
}

/// A PyTorch file whose only tensor has 2^40 elements, all of them the same four bytes.
fn expanded() -> Model {
    Model::open(root().join("tests/bad/expanded-4-tib.pth")).unwrap()
}

#[test]
fn a_small_file_does_not_become_a_huge_output_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let model = expanded();
    assert_eq!(model.weight("w").unwrap().elements(), 1 << 40);
    let told = model.notes().iter().any(|note| {
        note.contains("`w`") && note.contains("4398046511104") && note.contains("repeats")
    });
    assert!(told, "{:?}", model.notes());
    for options in [
        ConvertOptions::new(&target),
        ConvertOptions::new(&target).dry_run(true),
        ConvertOptions::new(&target).max_output(1 << 30),
        ConvertOptions::new("-"),
    ] {
        let error = refused(&model, &options, folder.path());
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert_eq!(error.remedies(), [Remedy::RaiseLimit("max_output")]);
        assert!(error.message().contains("43980465"), "{error}");
    }
    let error = ops::convert_to(&model, &ConvertOptions::new("-"), Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    // Whoever asks for it gets it; here only the forecast.
    let options = ConvertOptions::new(&target).dry_run(true).max_output(5 << 40);
    assert!(ops::convert(&model, &options).unwrap().write_bytes > 4 << 40);
}

#[test]
fn a_small_file_does_not_become_a_huge_vector_unasked() {
    let weight = expanded().weight("w").unwrap();
    let error = weight.decode_to_vec::<f32>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert_eq!(error.remedies(), [Remedy::RaiseLimit("max_allocation")]);
    assert!(weight.read_to_vec(weighbridge::DType::BF16).is_err());
    let mut row = vec![1f32; 1 << 20];
    weight.decode_rows(0..1, &mut row).unwrap();
    assert!(row.iter().all(|&value| value == 0.5));
}
