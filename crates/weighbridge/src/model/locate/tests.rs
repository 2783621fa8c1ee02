//! Names alone: files that need not be opened to be found.

use std::path::Path;
use std::sync::Arc;

use super::{Located, Stores, Typed, locate, only};
use crate::input::{FileAccess, LocalFolder};
use crate::limits::Limits;

fn found(files: &[&str], place: &str) -> crate::Result<Vec<Located>> {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        std::fs::write(dir.path().join(file), "GGUF").unwrap();
    }
    let local = Arc::new(LocalFolder::new("", FileAccess::Map));
    let (path, none) = (dir.path().join(place), Stores::none());
    let remote = crate::Remote::default();
    let typed = Typed::new(&path, Some(&none), &remote);
    locate(&typed, local, &Limits::default())
}

fn names(model: &Located) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    model.files.iter().map(|file| name(file)).collect()
}

#[test]
fn a_split_gguf_by_any_of_its_parts() {
    let parts = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
    for place in parts.iter().chain(&[""]) {
        let models = found(&[parts[0], parts[1], parts[2]], place).unwrap();
        assert_eq!((models.len(), names(&models[0])), (1, parts.map(str::to_owned).to_vec()));
    }
    let models = found(&[parts[2], "other-00001-of-00002.gguf"], parts[2]).unwrap();
    assert_eq!(names(&models[0]), [parts[2]]);
    assert_eq!(models[0].findings.len(), 2);
    assert!(
        models[0].findings[0]
            .message
            .starts_with("m-00001-of-00003.gguf is missing; 1 of 3 shards")
    );
}

#[test]
fn each_gguf_is_a_model_and_a_projector_goes_with_one() {
    let two = found(&["a-Q4.gguf", "a-Q8.GGUF"], "").unwrap();
    assert_eq!(two.len(), 2);
    assert!(only(two, Path::new("x")).is_err());
    let with = found(&["a-Q4.gguf", "mmproj-a.gguf"], "").unwrap();
    assert_eq!(with.len(), 2);
    let one = only(with, Path::new("x")).unwrap();
    assert_eq!(names(&one), ["a-Q4.gguf"]);
    assert!(one.notes[0].contains("mmproj-a.gguf (a multimodal projector)"), "{:?}", one.notes);
}

#[test]
fn other_formats_in_a_directory() {
    let all = |files: &[&str]| -> Vec<Vec<String>> {
        found(files, "").unwrap().iter().map(names).collect()
    };
    assert_eq!(all(&["b.npy", "a.npy"]), [["a.npy", "b.npy"]]);
    assert_eq!(all(&["a.npz", "b.npy"]), [["a.npz"]]);
    assert_eq!(
        all(&["weights.00.safetensors", "weights.01.safetensors"]),
        [["weights.00.safetensors", "weights.01.safetensors"]]
    );
    assert_eq!(all(&["consolidated.00.pth", "consolidated.01.pth"]).len(), 2);
    assert_eq!(all(&["pytorch_model.bin", "other.pt"]), [["pytorch_model.bin"]]);
    assert_eq!(all(&["x.apr"]), [["x.apr"]]);
    assert_eq!(
        all(&["model-00000-of-00002.safetensors", "model-00001-of-00002.safetensors"])[0].len(),
        2
    );
}

#[test]
fn long_sets_do_not_make_long_lists() {
    let models = found(&["m-00001-of-999999.gguf"], "").unwrap();
    assert_eq!(models[0].findings.len(), 101);
    assert!(models[0].findings[100].message.starts_with("999898 more"));
}
