//! Differences between a repository and its GGUF file that no weight shows: factors that follow from
//! the config, and rows that one side lacks.

use std::fs;
use std::path::PathBuf;

use weighbridge::ops::{self, ConvertOptions, DiffOptions, DiffReport, Names, Status};
use weighbridge::{Model, Select};

use crate::to_gguf::{folder, open};

fn diff(a: &Model, b: &Model) -> DiffReport {
    ops::diff(a, b, &DiffOptions::default()).unwrap()
}

fn both(family: &str, gguf: &str) -> (PathBuf, PathBuf) {
    (folder(family).join("hf"), folder(family).join(gguf))
}

/// A GGUF file with one number of a tensor changed.
fn with_number(gguf: &std::path::Path, tensor: &str, index: usize, number: f32) -> Model {
    let mut bytes = fs::read(gguf).unwrap();
    let model = open(gguf);
    let stored = model.weight(tensor).unwrap().decode_to_vec::<f32>().unwrap();
    let pattern: Vec<u8> = stored.iter().flat_map(|value| value.to_le_bytes()).collect();
    let found = bytes.windows(pattern.len()).position(|window| window == pattern).unwrap();
    let at = found + 4 * index;
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    weighbridge::OpenOptions::new().open_bytes(bytes, "changed.gguf").unwrap()
}

#[test]
fn rotary_factors_are_compared_with_those_of_the_config() {
    let cases = [
        ("llama", "model-bf16.gguf", "rope_freqs.weight"),
        ("phi3", "model-bf16.gguf", "rope_factors_long.weight"),
        ("phi3", "model-bf16.gguf", "rope_factors_short.weight"),
    ];
    for (family, file, name) in cases {
        let (hf, gguf) = both(family, file);
        let (hf, same) = (open(&hf), open(&gguf));
        let report = diff(&hf, &same);
        let explained = report.explained.iter().find(|one| one.name == name).unwrap();
        assert!(report.ok && explained.reason.contains("equal to the config's"), "{explained:?}");
        let changed = with_number(&gguf, name, 1, 77.0);
        for (a, b) in [(&hf, &changed), (&changed, &hf)] {
            let report = diff(a, b);
            let found = report.tensors.iter().find(|one| one.name_b == name).unwrap();
            assert_eq!((found.status, found.failed), (Status::Changed, true));
            assert_eq!((&found.places[0].index[..], report.summary.changed), (&[1][..], 1));
            assert!(!report.ok && report.explained.iter().all(|one| one.name != name));
        }
    }
}

#[test]
fn rotary_factors_that_one_file_lacks_are_missing() {
    let (_, gguf) = both("llama", "model-bf16.gguf");
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("without.gguf");
    let select = Select::new().exclude(|name| name == "rope_freqs.weight");
    let options = ConvertOptions::new(&out).names(Names::Keep).select(select);
    ops::convert(&open(&gguf), &options).unwrap();
    let report = diff(&open(&gguf), &open(&out));
    assert_eq!((report.ok, &report.only_a[..]), (false, &["rope_freqs.weight".to_owned()][..]));
    // A config without scaling has no factors either.
    let (hf, _) = both("qwen2", "model-bf16.gguf");
    let report = diff(&open(&hf), &open(&gguf));
    assert!(report.only_b.contains(&"rope_freqs.weight".to_owned()), "{:?}", report.only_b);
}
