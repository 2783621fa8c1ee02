//! Shards that have tensors in common, that hold more than their index lists, or that end early.

use weighbridge::ops::{self, ConvertOptions, OutputType};
use weighbridge::{Model, Result};

/// A file of F32 tensors with one number each.
fn file(tensors: &[(&str, f32)]) -> Vec<u8> {
    typed(
        &tensors
            .iter()
            .map(|(name, value)| (*name, "F32", value.to_le_bytes()))
            .collect::<Vec<_>>(),
    )
}

fn typed(tensors: &[(&str, &str, [u8; 4])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
    for (name, dtype, bytes) in tensors {
        let offsets = [data.len(), data.len() + 4];
        data.extend(bytes);
        let entry = serde_json::json!({"dtype": dtype, "shape": [1], "data_offsets": offsets});
        header.insert((*name).to_owned(), entry);
    }
    let header = serde_json::Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

const NAMES: [&str; 2] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

/// Two shards, with an index if there is one.
fn shards(files: [&[u8]; 2], index: Option<&[(&str, usize)]>) -> (tempfile::TempDir, Model) {
    let place = tempfile::tempdir().unwrap();
    for (name, bytes) in NAMES.iter().zip(files) {
        std::fs::write(place.path().join(name), bytes).unwrap();
    }
    if let Some(index) = index {
        let map = index.iter().map(|(name, file)| ((*name).to_owned(), NAMES[*file].into()));
        let map = serde_json::Value::Object(map.collect());
        let text = serde_json::json!({ "weight_map": map }).to_string();
        std::fs::write(place.path().join("model.safetensors.index.json"), text).unwrap();
    }
    let model = Model::open(place.path()).unwrap();
    (place, model)
}

fn converted(model: &Model, dtype: OutputType) -> Result<Model> {
    let mut bytes = Vec::new();
    ops::convert_to(model, &ConvertOptions::new("-").to("safetensors").dtype(dtype), &mut bytes)?;
    Model::open_bytes(bytes, "out")
}

fn value(model: &Model, name: &str) -> f32 {
    let mut out = [0f32];
    model.weight(name).unwrap().decode_into(&mut out).unwrap();
    out[0]
}

fn names(model: &Model) -> Vec<String> {
    model.weights().map(|weight| weight.name().to_owned()).collect()
}

#[test]
fn the_same_tensor_in_two_files_is_one() {
    let files = [file(&[("a", 1.0), ("b", 2.0)]), file(&[("b", 2.0), ("c", 3.0)])];
    let (_place, model) = shards([&files[0], &files[1]], None);
    assert_eq!(
        (model.findings().len(), names(&model)),
        (0, ["a", "b", "c"].map(String::from).into())
    );
    let note = model.notes().iter().find(|note| note.contains("in both")).unwrap();
    assert!(note.contains("in both model-00001-of-00002.safetensors and"), "{note}");
    assert!(note.contains("shapes: b; model-00001-of-00002.safetensors is used"), "{note}");
    for dtype in [OutputType::Keep, OutputType::F16] {
        let out = converted(&model, dtype).unwrap();
        assert_eq!((names(&out).len(), value(&out, "b")), (3, 2.0));
    }
    let report = ops::diff(&model, &model, &ops::DiffOptions::default()).unwrap();
    assert!(report.ok && report.summary.compared == 3);
}

#[test]
fn an_index_says_which_of_two_is_used() {
    let files = [file(&[("a", 1.0), ("b", 2.0)]), file(&[("b", 2.0)])];
    let (_place, model) = shards([&files[0], &files[1]], Some(&[("a", 0), ("b", 1)]));
    assert_eq!((model.findings().len(), model.weights().len()), (0, 2));
    let used = model.weight("b").unwrap();
    let (_, source, _) = used.parts().next().unwrap();
    assert!(source.input().name().ends_with(NAMES[1]));
}

#[test]
fn other_bytes_are_refused_when_values_are_needed() {
    let files = [file(&[("a", 1.0), ("b", 2.0)]), file(&[("b", 2.5)])];
    let (_place, model) = shards([&files[0], &files[1]], None);
    for dtype in [OutputType::Keep, OutputType::F16] {
        let error = converted(&model, dtype).unwrap_err();
        assert_eq!(error.tensor(), Some("b"), "{error:?}");
        assert!(
            error.message().contains("with different bytes; the right one is unknown"),
            "{error}"
        );
    }
    // Even if one of them is what the other model has.
    for other in [2.0, 2.5, 3.0] {
        let third = Model::open_bytes(file(&[("a", 1.0), ("b", other)]), "third").unwrap();
        let report = ops::diff(&third, &model, &ops::DiffOptions::default()).unwrap();
        assert_eq!((report.summary.identical, report.summary.undecoded), (1, 1), "{other}");
    }
    let error = model.weight("b").unwrap().decode_into(&mut [0f32]).unwrap_err();
    assert!(error.message().contains("with different bytes"), "{error}");
    let whole = Model::open_bytes(file(&[("a", 1.0), ("b", 2.0)]), "whole").unwrap();
    let options = ConvertOptions::new("-").to("safetensors");
    let report = ops::verify(&model, &whole, &options).unwrap();
    assert!(!report.ok && report.mismatched[0].name == "b", "{report:?}");
    // What is not asked for does not matter.
    let select = weighbridge::Select::new().exclude(|name| name == "b");
    let options = ConvertOptions::new("-").to("safetensors").select(select);
    ops::convert_to(&model, &options, Vec::new()).unwrap();
}

#[test]
fn another_type_is_found_at_once() {
    let files = [file(&[("a", 1.0)]), typed(&[("a", "I32", [1, 0, 0, 0])])];
    let (_place, model) = shards([&files[0], &files[1]], None);
    let kinds: Vec<_> = model.findings().iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["duplicate-tensor"]);
    assert!(converted(&model, OutputType::Keep).is_err());
}

#[test]
fn what_an_index_forgot_is_used() {
    let files = [file(&[("a", 1.0), ("b", 2.0)]), file(&[("c", 3.0)])];
    let (_place, model) = shards([&files[0], &files[1]], Some(&[("a", 0), ("c", 1)]));
    assert_eq!(model.findings(), []);
    let note = "1 tensor missing from model.safetensors.index.json is used: b";
    assert_eq!(model.notes(), [note]);
    assert_eq!(value(&converted(&model, OutputType::Keep).unwrap(), "b"), 2.0);
}

#[test]
fn the_file_that_ends_early_is_named() {
    let files = [file(&[("a", 1.0), ("b", 2.0)]), file(&[("c", 3.0), ("d", 4.0)])];
    for cut in [1, 5] {
        let end = files[1].len() - cut;
        let (_place, model) = shards([&files[0], &files[1][..end]], None);
        for finding in model.findings() {
            assert_eq!(finding.kind, "truncated");
            assert!(finding.message.starts_with(NAMES[1]), "{}", finding.message);
            assert!(
                [format!("the file at byte {end}"), format!("the file ends at byte {end}")]
                    .iter()
                    .any(|said| finding.message.contains(said)),
                "{}",
                finding.message
            );
        }
        let error = converted(&model, OutputType::Keep).unwrap_err();
        assert!(error.to_string().contains(NAMES[1]), "{error}");
        assert!(error.to_string().contains(&format!(" at byte {}", files[1].len())));
    }
}
