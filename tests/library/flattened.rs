//! Tensors that were flattened to fit their blocks have the shapes that the metadata gives.

use crate::common::root;
use weighbridge::ops::{self, ConvertOptions, DiffOptions, InspectOptions, Names, OutputType};
use weighbridge::{FileAccess, Model, OpenOptions};

fn sample() -> Model {
    Model::open(root().join("tests/files/gguf/flattened.gguf")).unwrap()
}

fn expected() -> Model {
    Model::open(root().join("tests/files/gguf/flattened.expected.safetensors")).unwrap()
}

fn written(options: &ConvertOptions, model: &Model) -> Model {
    let mut bytes = Vec::new();
    ops::convert_to(model, options, &mut bytes).unwrap();
    let written = Model::open_bytes(bytes, "out").unwrap();
    assert_eq!(written.findings(), []);
    let report = ops::verify(&written, model, options).unwrap();
    assert!(report.ok, "{report:?}");
    written
}

fn shapes(model: &Model) -> Vec<(String, Vec<u64>)> {
    let mut all: Vec<_> =
        model.weights().map(|w| (w.name().to_owned(), w.shape().to_vec())).collect();
    all.sort();
    all
}

/// The shapes that a file gives its tensors.
fn stored(model: &Model) -> Vec<(String, Vec<u64>)> {
    let tensors = &model.sources()[0].catalog().tensors;
    tensors.iter().map(|info| (info.name.to_string(), info.shape.to_vec())).collect()
}

#[test]
fn weights_have_their_own_shapes_and_values_in_every_piece() {
    let expected = expected();
    for access in [FileAccess::Map, FileAccess::Read] {
        let path = root().join("tests/files/gguf/flattened.gguf");
        let model = OpenOptions::new().access(access).open(path).unwrap();
        assert_eq!(model.findings(), []);
        assert_eq!(shapes(&model), shapes(&expected));
        for weight in model.weights() {
            let mut whole = vec![0f32; weight.len()];
            expected.weight(weight.name()).unwrap().decode_into(&mut whole).unwrap();
            let (rows, columns) = weight.rows_and_columns();
            let columns = usize::try_from(columns).unwrap();
            for first in 0..rows {
                for last in [first + 1, rows] {
                    let at = [first, last].map(|row| usize::try_from(row).unwrap() * columns);
                    let mut piece = vec![0f32; at[1] - at[0]];
                    weight.decode_rows(first..last, &mut piece).unwrap();
                    assert_eq!(piece, whole[at[0]..at[1]], "{} {first}..{last}", weight.name());
                }
            }
        }
    }
}

#[test]
fn reports_give_both_shapes() {
    let options = InspectOptions { tensors: true, ..InspectOptions::default() };
    let report = ops::inspect(&sample(), &options).unwrap();
    let tensors = report.tensors.unwrap();
    let first = tensors.iter().find(|tensor| tensor.name == "patch_embedding.weight").unwrap();
    assert_eq!((first.scheme, &first.shape[..]), ("ggml", &[8, 3, 1, 4, 8][..]));
    assert_eq!(first.parts[0].shape, [3, 256]);
    assert!(report.notes[0].starts_with("4 tensors were flattened"), "{:?}", report.notes);
}

#[test]
fn a_comparison_sees_no_difference() {
    let report = ops::diff(&expected(), &sample(), &DiffOptions::default()).unwrap();
    let summary = &report.summary;
    assert_eq!((report.ok, summary.compared, summary.shape_mismatch), (true, 5, 0));
}

#[test]
fn other_formats_get_the_shapes_and_not_the_keys() {
    let model = sample();
    let out = written(&ConvertOptions::new("-").to("safetensors").dtype(OutputType::F32), &model);
    assert_eq!(shapes(&out), shapes(&expected()));
    assert!(!out.metadata().iter().any(|(key, ..)| key.contains("orig_shape")));
}

#[test]
fn the_same_format_gets_both_as_they_are() {
    let model = sample();
    let keys = |model: &Model| {
        let keys = model.metadata().into_iter().map(|(key, ..)| key.to_owned());
        keys.filter(|key| key.contains("orig_shape")).collect::<Vec<_>>()
    };
    for dtype in [OutputType::Keep, OutputType::F16] {
        let out =
            written(&ConvertOptions::new("-").to("gguf").names(Names::Keep).dtype(dtype), &model);
        assert_eq!(stored(&out), stored(&model));
        assert_eq!((keys(&out), keys(&out).len()), (keys(&model), 4));
        assert_eq!(shapes(&out), shapes(&model));
    }
}

#[test]
fn a_new_name_does_not_lose_the_shape() {
    let model = sample();
    let rename = |dtype| {
        let options = ConvertOptions::new("-").to("gguf").names(Names::Keep).dtype(dtype);
        options.rename(|name| name.replace("blocks.0.conv", "conv"))
    };
    let out = written(&rename(OutputType::F16), &model);
    assert_eq!(out.weight("conv.weight").unwrap().shape(), [6, 128]);
    let error = ops::convert_to(&model, &rename(OutputType::Keep), Vec::new()).unwrap_err();
    assert_eq!(error.tensor(), Some("blocks.0.conv.weight"));
    assert!(error.message().contains("cannot be renamed"), "{error:?}");
}
