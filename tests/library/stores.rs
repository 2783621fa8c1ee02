//! Names that the local stores of other programs know.

use std::path::Path;

use weighbridge::{OpenOptions, Stores};

use crate::common::folders::*;

#[cfg(unix)]
fn cached(hub: &Path, repository: &str, commit: &str, files: &[(&str, &str)]) {
    let place = hub.join(format!("models--{}", repository.replace('/', "--")));
    for (number, (name, content)) in files.iter().enumerate() {
        let blob = format!("blobs/{commit}{number}");
        put(&place, &blob, content);
        let link = place.join("snapshots").join(commit).join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(place.join(blob), link).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn names_in_the_hugging_face_cache() {
    let dir = tempfile::tempdir().unwrap();
    let hub = dir.path().join("hub");
    cached(
        &hub,
        "org/name",
        "aaaa1111",
        &[("model.safetensors", ONE), ("config.json", "{}"), ("sub/x.safetensors", TWO)],
    );
    cached(&hub, "org/name", "bbbb2222", &[("model.safetensors", TWO)]);
    cached(&hub, "gpt2", "cccc", &[("model.safetensors", ONE)]);
    cached(&hub, "one/twin", "dddd", &[("model.safetensors", ONE)]);
    cached(&hub, "two/twin", "eeee", &[("config.json", "{}")]);
    put(&hub, "models--org--name/refs/main", "aaaa1111\n");
    put(&hub, "models--org--name/refs/refs/pr/1", "bbbb2222");
    put(&hub, "models--two--twin/refs/main", "eeee");
    let options = OpenOptions::new().stores(Stores::none().hugging_face(&hub));
    let place = |name: &str| {
        options.open(name).unwrap().path().strip_prefix(&hub).unwrap().to_str().unwrap().to_owned()
    };
    for (name, expected) in [
        ("org/name", "models--org--name/snapshots/aaaa1111"),
        ("name", "models--org--name/snapshots/aaaa1111"),
        ("org/name@refs/pr/1", "models--org--name/snapshots/bbbb2222"),
        ("org/name@bbbb2222", "models--org--name/snapshots/bbbb2222"),
        ("name@bbbb", "models--org--name/snapshots/bbbb2222"),
        ("org/name/sub/x.safetensors", "models--org--name/snapshots/aaaa1111/sub/x.safetensors"),
        ("gpt2", "models--gpt2/snapshots/cccc"),
        ("one/twin", "models--one--twin/snapshots/dddd"),
    ] {
        assert_eq!(place(name), expected, "{name}");
    }
    let model = options.open("org/name").unwrap();
    assert_eq!(files(&model), ["model.safetensors"]);
    assert_eq!(model.configs().len(), 1);
    says(&model.notes()[0], &["`org/name` was found", "revision main (aaaa1111)"]);

    let text = |name: &str| all(&options.open(name).err().unwrap());
    says(&text("twin"), &["several cached repositories", "one/twin, two/twin"]);
    says(
        &text("org/name@v9"),
        &["revision v9 is not in the cache; cached revisions: aaaa1111, bbbb2222"],
    );
    says(&text("two/twin"), &["no weights found in this directory; it contains config.json"]);
    says(&text("org/name/y.gguf"), &["has no y.gguf", "hf download org/name"]);
    for hostile in ["org/name@../../x", "../hub", "org/../name"] {
        says(&text(hostile), &["no such file"]);
    }
    put(&hub, "models--org--name/refs/main", "../../elsewhere");
    says(&text("org/name"), &["revision main (commit ../../elsewhere) is not in the cache"]);
}

const MANIFEST: &str = "manifests/registry.ollama.ai/library";

fn digest(number: usize) -> String {
    format!("{number:064x}")
}

fn layer(kind: &str, number: usize, name: &str) -> String {
    format!(
        r#"{{"mediaType": "application/vnd.ollama.image.{kind}", "digest": "sha256:{}", "name": "{name}"}}"#,
        digest(number)
    )
}

fn manifest(layers: &[String]) -> String {
    format!(
        r#"{{"schemaVersion": 2, "config": {{"digest": "x"}}, "layers": [{}]}}"#,
        layers.join(",")
    )
}

/// A store with a model of each kind.
fn ollama_store() -> tempfile::TempDir {
    let store = tempfile::tempdir().unwrap();
    let put_blob = |number: usize, content: &str| {
        put(store.path(), &format!("blobs/sha256-{}", digest(number)), content);
    };
    let name = |name: &str, layers: &[String]| {
        put(store.path(), &format!("{MANIFEST}/{name}"), &manifest(layers));
    };
    (1..4).zip([S1, S2, S3]).for_each(|(number, content)| put_blob(number, content));
    put_blob(4, r#"{"model_type": "llama"}"#);
    let tensor = |number| layer("tensor", number, "a.weight");
    let config = layer("json", 4, "config.json");
    let licence = layer("license", 9, "");
    name("tiny/latest", &[tensor(1), tensor(2), tensor(3), config, licence.clone()]);
    name("tiny/holes", &[tensor(1), layer("tensor", 7, "gone.weight")]);
    name("one/latest", &[layer("model", 1, ""), layer("projector", 2, "")]);
    name("bad/latest", &[layer("model", 8, "")]);
    name("cloud/latest", &[licence]);
    let parts = [layer("tensor", 1, "unet/a"), layer("tensor", 2, "vae/b")];
    name("parts/latest", &[&parts[..], &[layer("json", 4, "vae/config.json")]].concat());
    let evil = r#"{"mediaType": "application/vnd.ollama.image.model", "digest": "../../x"}"#;
    name("evil/latest", &[evil.into()]);
    store
}

#[test]
fn names_in_the_ollama_store() {
    let store = ollama_store();
    let options = OpenOptions::new().stores(Stores::none().ollama(store.path()));

    let tiny = options.open("ollama:tiny").unwrap();
    assert_eq!((tiny.sources().len(), tiny.configs().len(), kinds(&tiny)), (3, 1, vec![]));
    assert_eq!(tiny.path(), Path::new("ollama:tiny"));
    let holes = options.open("ollama:library/tiny:holes").unwrap();
    assert_eq!(holes.findings()[0].tensor.as_deref(), Some("gone.weight"));
    says(&holes.findings()[0].message, &[&digest(7), "is missing"]);

    let one = options.open("ollama:one:latest").unwrap();
    assert_eq!(one.sources().len(), 1);
    says(&one.notes()[0], &["a multimodal projector", &digest(2)]);
    assert_eq!(options.open_all("ollama:one").unwrap().len(), 2);

    let parts = options.open_all("ollama:parts").unwrap();
    let seen: Vec<_> =
        parts.iter().map(|p| (p.path().to_str().unwrap(), p.configs().len())).collect();
    assert_eq!(seen, [("ollama:parts/unet", 0), ("ollama:parts/vae", 1)]);
}

#[test]
fn names_the_ollama_store_cannot_serve() {
    let store = ollama_store();
    let options = OpenOptions::new().stores(Stores::none().ollama(store.path()));
    let text = |name: &str| all(&options.open(name).err().unwrap());
    says(&text("ollama:bad"), &["ollama:bad: the blob ", &digest(8), "missing", "`ollama pull`"]);
    says(&text("ollama:tiny:1b"), &["no such model", "available tags: holes, latest"]);
    says(&text("ollama:tony"), &["did you mean tiny?"]);
    says(&text("ollama:cloud"), &["no weights, only application/vnd.ollama.image.license"]);
    says(&text("ollama:../x"), &["not a valid Ollama name"]);
    says(&text("ollama:evil"), &["`../../x`, which is not a SHA-256 digest"]);
}
