//! What a conversion fetches: every byte of a model once, however its scheme stores the rows, and twice
//! where a quantizer has to look at all numbers first.

use std::path::Path;

use crate::samples::options;
use crate::server::Server;
use weighbridge::internals::remote::Remote;
use weighbridge::ops::{ConvertOptions, QuantizeOptions, Work, convert, quantize};
use weighbridge::{ErrorKind, Model};

/// Besides the bytes of the files: the first guesses at their headers, and configs that are looked for.
const MORE: u64 = 400 << 10;

/// A file with tensors of these types and shapes; their numbers are finite.
fn file(tensors: &[(&str, &str, &[usize], usize)]) -> Vec<u8> {
    let (mut header, mut at) = (serde_json::Map::new(), 0);
    for (name, dtype, shape, bytes) in tensors {
        let place = serde_json::json!({
            "dtype": dtype, "shape": shape, "data_offsets": [at, at + bytes]
        });
        header.insert((*name).to_owned(), place);
        at += bytes;
    }
    let text = serde_json::to_vec(&header).unwrap();
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text);
    // The higher byte of a 16-bit number is small, so that it is no NaN.
    let number = |i: usize| (i * 31 + i / 4099) % if i % 2 == 1 { 60 } else { 251 };
    file.extend((0..at).map(|i| u8::try_from(number(i)).unwrap()));
    file
}

/// The same work on a folder and on its copy on a server must give the same bytes; how many bytes the
/// server sent, and how many the files have.
fn both_ways(folder: &Path, work: impl Fn(&Model, &Path) -> weighbridge::Result<()>) -> (u64, u64) {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("/{}", entry.file_name().to_str().unwrap());
        files.push((name, std::fs::read(entry.path()).unwrap()));
    }
    let total = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let files: Vec<_> = files.iter().map(|(name, bytes)| (&**name, bytes.clone())).collect();
    let server = Server::of_files(&files);
    let mut remote = Remote::default();
    // Far less than the model, so that nothing is here by chance.
    remote.read_ahead = 4 << 20;
    let place = tempfile::tempdir().unwrap();
    let outputs = ["here", "there"].map(|name| place.path().join(format!("{name}.safetensors")));
    work(&options().open(folder.join("model.safetensors")).unwrap(), &outputs[0]).unwrap();
    let there = options().remote(remote).open(server.url("/model.safetensors")).unwrap();
    work(&there, &outputs[1]).unwrap();
    assert!(std::fs::read(&outputs[0]).unwrap() == std::fs::read(&outputs[1]).unwrap());
    (server.sent(), total)
}

fn converted(model: &Model, output: &Path) -> weighbridge::Result<()> {
    convert(model, &ConvertOptions::new(output)).map(drop)
}

fn plain(folder: &Path) {
    let name = "model.layers.0.mlp.up_proj.weight";
    let bytes = file(&[(name, "BF16", &[2500, 4096], 2500 * 4096 * 2)]);
    std::fs::write(folder.join("model.safetensors"), bytes).unwrap();
    let config = r#"{"model_type": "llama", "torch_dtype": "bfloat16"}"#;
    std::fs::write(folder.join("config.json"), config).unwrap();
}

#[test]
fn scales_that_several_tiles_need_are_fetched_once() {
    let (original, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plain(original.path());
    let model = options().open(original.path()).unwrap();
    for scheme in ["fp8-block", "w4a16", "mlx-4bit", "bnb-nf4-nested"] {
        let folder = place.path().join(scheme);
        quantize(&model, &ConvertOptions::new(&folder), &QuantizeOptions::new(scheme)).unwrap();
        let (sent, total) = both_ways(&folder, converted);
        assert!(sent <= total + MORE, "{scheme}: {sent} bytes of {total}");
    }
}

#[test]
fn what_is_looked_at_first_is_fetched_twice() {
    let place = tempfile::tempdir().unwrap();
    plain(place.path());
    for scheme in ["fp8-tensor", "nvfp4"] {
        let how = QuantizeOptions::new(scheme);
        let (sent, total) = both_ways(place.path(), |model, output| {
            let folder = output.with_extension("");
            quantize(model, &ConvertOptions::new(&folder), &how)?;
            std::fs::rename(folder.join("model.safetensors"), output).unwrap();
            Ok(())
        });
        assert!(sent <= 2 * total + MORE, "{scheme}: {sent} bytes of {total}");
    }
}

/// AWQ packs columns: a row of the weight lies all over the tensor.
fn across(folder: &Path) {
    let (rows, words, groups) = (4096, 1296, 32);
    let name = |part: &str| format!("model.layers.0.mlp.up_proj.{part}");
    let (codes, zeros, scales) = (name("qweight"), name("qzeros"), name("scales"));
    let bytes = file(&[
        (&codes, "I32", &[rows, words], rows * words * 4),
        (&zeros, "I32", &[groups, words], groups * words * 4),
        (&scales, "F16", &[groups, words * 8], groups * words * 16),
    ]);
    std::fs::write(folder.join("model.safetensors"), bytes).unwrap();
    let config = r#"{"model_type": "llama", "quantization_config":
        {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}}"#;
    std::fs::write(folder.join("config.json"), config).unwrap();
}

#[test]
fn a_weight_whose_rows_lie_across_is_fetched_once() {
    let place = tempfile::tempdir().unwrap();
    across(place.path());
    let (sent, total) = both_ways(place.path(), converted);
    assert!(sent <= total + MORE, "{sent} bytes of {total}");
}

#[test]
fn a_weight_that_cannot_be_held_is_refused_and_says_how_much_it_needs() {
    let place = tempfile::tempdir().unwrap();
    across(place.path());
    let bytes = std::fs::read(place.path().join("model.safetensors")).unwrap();
    let config = std::fs::read(place.path().join("config.json")).unwrap();
    let server = Server::of_files(&[("/model.safetensors", bytes), ("/config.json", config)]);
    let model = options().open(server.url("/model.safetensors")).unwrap();
    let output = place.path().join("out.safetensors");
    let with = |most| ConvertOptions::new(&output).work(&Work::new().max_memory(most));
    let error = convert(&model, &with(48 << 20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let told = error.to_string();
    assert!(told.contains("buffers 21233664 bytes"), "{told}");
    let hint = error.hint_text().unwrap();
    let needed = hint.split(' ').nth(1).and_then(|word| word.parse::<u64>().ok());
    // What it says is enough.
    assert!(!output.exists());
    convert(&model, &with(needed.unwrap() << 20)).unwrap();
}
