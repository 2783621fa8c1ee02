//! Weights that cannot be read, and names that cannot be written: refused by name with a way out, or
//! left out and listed.

use crate::common::root;
use weighbridge::ops::{self, ConvertOptions, DiffOptions};
use weighbridge::{Model, Remedy};

fn sample(name: &str) -> Model {
    Model::open(root().join("tests/files").join(name)).unwrap()
}

const REFUSED: [&str; 5] = ["wide", "text", "when", "pickled", "record"];

#[test]
fn arrays_that_hold_no_numbers_are_left_out_by_name() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample("npz/refused.npz"));
    let target = place.path().join("out.safetensors");
    let options = ConvertOptions::new(&target);
    let error = ops::convert(&model, &options).unwrap_err();
    assert!(error.to_string().contains("5 weights cannot be converted"), "{error}");
    assert!(error.remedies().contains(&Remedy::SkipUnreadable), "{error:?}");

    let skipping = options.clone().skip_unreadable(true);
    let report = ops::convert(&model, &skipping.clone().verify(true)).unwrap();
    let names: Vec<&str> = report.skipped.iter().map(|one| &*one.name).collect();
    assert_eq!(names, REFUSED);
    assert!(report.skipped[1].reason.contains("text arrays are not supported"));
    assert!(!report.notes.iter().any(|note| note.contains("selected")), "{:?}", report.notes);
    let output = Model::open(&target).unwrap();
    let names: Vec<String> = output.weights().map(|weight| weight.name().to_owned()).collect();
    assert_eq!(names, ["good", "last"]);

    let verified = ops::verify(&output, &model, &skipping).unwrap();
    assert!(verified.ok && verified.checked == 2);
    assert_eq!(verified.skipped.len(), 5);
    assert!(ops::verify(&output, &model, &options).is_err());

    // Undecodable arrays fail a comparison; with them left out, the rest is the same.
    let compared = ops::diff(&model, &output, &DiffOptions::default()).unwrap();
    assert!(!compared.ok && compared.only_a == REFUSED);
    let skipping = DiffOptions::default().skip_unreadable(true);
    for b in [&output, &model] {
        let compared = ops::diff(&model, b, &skipping).unwrap();
        assert!(compared.ok && compared.summary.undecoded == 0);
        assert_eq!(compared.tensors.len(), 2);
        assert!(compared.skipped.iter().take(5).all(|one| one.side == "a"));
    }
}

#[test]
fn stored_tensors_and_other_containers_are_left_out_too() {
    let place = tempfile::tempdir().unwrap();
    // Tensors of PyTorch without data; arrays kept as they are stored; a member that is no array.
    for (name, dtype) in [
        ("pth/meta.pth", ops::OutputType::Auto),
        ("npz/refused.npz", ops::OutputType::Keep),
        ("npz/other-members.npz", ops::OutputType::F32),
    ] {
        let path = root().join("tests/files").join(name);
        let model = Model::open(&path).unwrap();
        let target = place.path().join(name.replace('/', "-")).with_extension("safetensors");
        let options = ConvertOptions::new(&target).dtype(dtype);
        let error = ops::convert(&model, &options).unwrap_err();
        assert!(error.remedies().contains(&Remedy::SkipUnreadable), "{error:?}");
        let report = ops::convert(&model, &options.skip_unreadable(true).verify(true)).unwrap();
        assert!(!report.skipped.is_empty());
    }
}

#[test]
fn nothing_left_to_read_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(place.path().join("out.safetensors"))
        .select(weighbridge::Select::new().include(|name| name == "text"))
        .skip_unreadable(true);
    let error = ops::convert(&sample("npz/refused.npz"), &options).unwrap_err();
    assert!(error.to_string().contains("none of the 1 selected weights can be read"), "{error}");
}

#[test]
fn names_that_climb_are_not_written_into_an_archive() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample("npz/names.npz"));
    assert!(model.notes().iter().any(|note| note.contains("`../up.npy` and 1 more")));
    let target = place.path().join("out.npz");
    let error = ops::convert(&model, &ConvertOptions::new(&target)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("../up") && text.contains("/root"), "{text}");
    assert!(text.contains("leads outside the extraction folder"), "{text}");
    assert!(error.remedies().contains(&Remedy::Rename), "{error:?}");
    assert!(!target.exists());
    // A rename that makes one climb is refused as well, one that mends them is taken.
    let climb = ConvertOptions::new(&target).rename(|name| format!("a\\..\\{name}"));
    assert!(ops::convert(&model, &climb).unwrap_err().remedies().contains(&Remedy::Rename));
    let mend = ConvertOptions::new(&target).rename(|name| name.trim_matches(['.', '/']).to_owned());
    ops::convert(&model, &mend.verify(true)).unwrap();
    assert_eq!(Model::open(&target).unwrap().weights().len(), model.weights().len());
    // Other formats hold any name.
    let other = ConvertOptions::new(place.path().join("out.safetensors"));
    ops::convert(&model, &other).unwrap();
}

/// A shard of a quantized repository was cut short by two bytes.
#[test]
fn a_repository_is_dequantized_without_what_cannot_be_read() {
    let place = tempfile::tempdir().unwrap();
    let [source, out] = ["in", "out"].map(|name| place.path().join(name));
    std::fs::create_dir(&source).unwrap();
    for entry in std::fs::read_dir(root().join("samples/tiny-llama-gptq")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, source.join(path.file_name().unwrap())).unwrap();
    }
    let shard = source.join("model-00002-of-00002.safetensors");
    let file = std::fs::OpenOptions::new().write(true).open(&shard).unwrap();
    file.set_len(shard.metadata().unwrap().len() - 2).unwrap();
    let (model, options) = (Model::open(&source).unwrap(), ops::ConvertOptions::new(&out));
    let error = ops::dequantize(&model, &options).unwrap_err();
    assert!(error.remedies().contains(&Remedy::SkipUnreadable), "{error:?}");
    let skipping = options.clone().skip_unreadable(true);
    let report = ops::dequantize(&model, &skipping).unwrap();
    assert_eq!(report.skipped.len(), 1, "{:?}", report.skipped);
    let output = Model::open(&out).unwrap();
    assert_eq!(output.weights().len() + 1, model.weights().len());
    let verified = ops::verify_dequantized(&output, &model, &skipping).unwrap();
    assert!(verified.ok && verified.skipped.len() == 1, "{verified:?}");
}
