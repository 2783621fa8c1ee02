//! Whole files: the same tensors in the same order, to the byte, and the same metadata, as
//! llama-quantize writes.

use std::path::Path;

use serde_json::{Value as Json, json};
use weighbridge::Model;
use weighbridge::ops::{self, ConvertOptions, Names, QuantizeOptions};

use super::asked::{Run, list, text};
use super::models::{converted, expected, home, repository};
use crate::common::{sha256, tensor_bytes};
use crate::to_gguf::{compare, open};

/// Keys of metadata, in the order of the file.
fn keys(model: &Model) -> Vec<String> {
    model.metadata().iter().map(|(key, ..)| (*key).to_owned()).collect()
}

/// Does what a run of llama-quantize did.
fn quantized(model: &Model, name: &str, said: &Json, folder: &Path) -> Model {
    let run = Run::of(&said["options"]);
    let mut how = QuantizeOptions::new(text(&said["type"])).pure(run.wishes.pure).measure(false);
    match run.matrix.as_deref() {
        // Without an importance matrix, all columns may be taken for equally important.
        Some("ones.dat") => how = how.thorough(true),
        Some(file) => how = how.importance(home(name).join(file)),
        None => {}
    }
    if let Some(wanted) = run.wishes.output_type {
        how = how.output_type(wanted);
    }
    if let Some(wanted) = run.wishes.embedding_type {
        how = how.embedding_type(wanted);
    }
    for (pattern, becomes) in run.asked {
        how = how.tensor_type(move |name| pattern.is_match(name), becomes);
    }
    let mut options = ConvertOptions::new(folder.join("out.gguf")).force(true);
    if model.format() != "gguf" {
        options = options.names(Names::Gguf);
    }
    ops::quantize(model, &options, &how).unwrap();
    open(&folder.join("out.gguf"))
}

/// Name, type and sum of each tensor.
fn tensors(model: &Model) -> Vec<Json> {
    let source = &model.sources()[0];
    let tensors = source.catalog().tensors.iter();
    let sum = |tensor| format!("{:08x}", crc32fast::hash(&tensor_bytes(source, tensor).unwrap()));
    tensors.map(|tensor| json!([*tensor.name, tensor.stored.name(), sum(tensor)])).collect()
}

/// The same of what llama-quantize wrote.
fn written(said: &Json) -> Vec<Json> {
    list(&said["written"]).iter().map(|one| json!(list(one)[..3])).collect()
}

fn check(name: &str, is_wanted: impl Fn(&Json) -> bool) -> usize {
    let (expected, folder) = (expected(name), tempfile::tempdir().unwrap());
    let repository = repository(name, &expected, folder.path());
    let converted = Model::open_bytes(converted(name, &expected), "made.gguf").unwrap();
    let mut count = 0;
    for said in list(&expected["runs"]).iter().filter(|said| is_wanted(said)) {
        for source in [&open(&repository), &converted] {
            let what =
                format!("{name} {} {} of {}", said["type"], said["options"], source.format());
            let made = quantized(source, name, said, folder.path());
            assert_eq!(tensors(&made), written(said), "{what}");
            let last: Vec<&str> = list(&said["last"]).iter().map(|last| text(&last[0])).collect();
            let mut order = keys(&converted);
            order.retain(|key| !last.contains(&&**key));
            order.extend(last.iter().map(|key| (*key).to_owned()));
            assert_eq!(keys(&made), order, "{what}");
            if Run::of(&said["options"]).matrix.is_none() {
                let file = std::fs::read(folder.path().join("out.gguf")).unwrap();
                assert_eq!(sha256(&file), text(&said["sha256"]), "{what}");
            }
            let golden = home(name).join("whole").join(format!("{}.gguf", text(&said["type"])));
            if golden.exists() {
                compare(&made, &open(&golden), &what);
            }
            count += 1;
        }
    }
    count
}

/// Runs without options other than these.
fn runs<'a>(types: &'a [&'a str], options: &'a [&'a str]) -> impl Fn(&Json) -> bool + 'a {
    move |said| types.contains(&text(&said["type"])) && said["options"] == json!(options)
}

#[test]
fn of_a_tiny_model() {
    assert_eq!(check("tiny", |said| said["options"] == json!([])), 8);
}

#[test]
fn of_experts_by_importance() {
    assert_eq!(check("qwen3moe", runs(&["Q4_K_M"], &["--imatrix", "imatrix.gguf"])), 2);
}

#[test]
fn of_a_model_whose_last_matrix_is_its_first() {
    assert_eq!(check("gemma3", runs(&["Q4_K_M", "BF16"], &[])), 4);
}

#[test]
fn of_equally_important_columns() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let is_wanted = runs(&["Q4_0"], &["--pure", "--imatrix", "ones.dat"]);
    let said = list(&expected["runs"]).iter().find(|said| is_wanted(said)).unwrap();
    let model = open(&repository("tiny", &expected, folder.path()));
    assert_eq!(tensors(&quantized(&model, "tiny", said, folder.path())), written(said));
}
