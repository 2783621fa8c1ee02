//! From what is typed to the files of a model: each rule on a small directory of its own.

use std::path::{Path, PathBuf};

use weighbridge::{Limits, Model, OpenOptions, Stores};

use crate::common::folders::*;

#[test]
fn one_file_with_its_configs() {
    let dir = folder(&[
        ("model.safetensors", ONE),
        ("config.json", r#"{"time_step_limit": [0.0, Infinity]}"#),
        ("quantize_config.json", "{}"),
        ("hf_quant_config.json", "{ not json"),
        ("generation_config.json", "{ nor this"),
    ]);
    for place in [dir.path().join("model.safetensors"), dir.path().to_owned()] {
        let model = open(&place);
        assert_eq!(model.path(), place);
        let names: Vec<&str> = model.configs().iter().map(|config| &*config.name).collect();
        assert_eq!(names, ["config.json", "quantize_config.json"]);
        assert_eq!(kinds(&model), ["bad-config"]);
        says(&model.findings()[0].message, &["hf_quant_config.json", "not valid JSON"]);
    }
}

#[test]
fn a_config_is_held_to_the_limits() {
    let big = format!("{{\"a\": \"{}\"}}", "x".repeat(10_000));
    let dir = folder(&[("model.safetensors", ONE), ("config.json", &big)]);
    let error = options().limits(Limits::default().max_allocation(9_000)).open(dir.path());
    assert_eq!(error.err().unwrap().kind(), weighbridge::ErrorKind::Limit);
}

#[test]
fn an_index_names_the_files() {
    let whole = samples().join("sharded");
    let three = [
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    ];
    for place in [whole.clone(), whole.join("model.safetensors.index.json")] {
        let model = open(&place);
        assert_eq!(files(&model), three);
        assert_eq!((kinds(&model), model.notes().len()), (vec![], 0));
        assert_eq!(model.configs().len(), 1);
    }
}

#[test]
fn what_an_index_promises_is_checked() {
    let index = r#"{"weight_map": {
        "lm_head.weight": "model-00003-of-00003.safetensors",
        "model.norm.weight": "model-00001-of-00003.safetensors",
        "model.embed_tokens.weight": "model-00001-of-00003.safetensors",
        "ghost": "model-00001-of-00003.safetensors",
        "gone.a": "model-00002-of-00003.safetensors",
        "gone.b": "model-00002-of-00003.safetensors"}}"#;
    let dir = folder(&[
        ("model.safetensors.index.json", index),
        ("model-00001-of-00003.safetensors", S1),
        ("model-00003-of-00003.safetensors", S3),
    ]);
    let model = open(dir.path());
    let text: Vec<String> = model
        .findings()
        .iter()
        .map(|f| format!("{} {}: {}", f.kind, f.tensor.as_deref().unwrap_or("-"), f.message))
        .collect();
    says(
        &text.join("\n"),
        &[
            "missing-shard -: model-00002-of-00003.safetensors is missing; it holds 2 of the 6 tensors",
            "index-mismatch ghost: the index places it in model-00001-of-00003.safetensors, but that file does not have it",
            "index-mismatch model.norm.weight: the index places it in model-00001-of-00003.safetensors, but it is in model-00003",
        ],
    );
    assert_eq!(text.len(), 3, "{text:?}");
    says(
        &model.notes().join("\n"),
        &[
            "missing from model.safetensors.index.json is used: model.layers.0.input_layernorm.weight",
        ],
    );
}

#[test]
fn an_index_does_not_lead_out_of_its_folder() {
    for name in ["../model.safetensors", "/etc/passwd", "a/../../b.safetensors"] {
        let index = format!(r#"{{"weight_map": {{"a": "{name}"}}}}"#);
        let dir = folder(&[("model.safetensors.index.json", &index), ("model.safetensors", ONE)]);
        says(
            &all(&fails(dir.path())),
            &["model.safetensors.index.json", name, "outside its directory"],
        );
    }
}

#[test]
fn an_index_of_no_use_is_passed_over() {
    for (index, why) in [
        ("{}", "missing field `weight_map`"),
        ("oh no", "not a valid shard index"),
        (r#"{"weight_map": {"a": "gone.safetensors"}}"#, "gone.safetensors"),
    ] {
        let dir = folder(&[("model.safetensors.index.json", index), ("model.safetensors", ONE)]);
        let model = open(dir.path());
        assert_eq!(
            (files(&model), kinds(&model)),
            (vec!["model.safetensors".to_owned()], vec!["bad-index"])
        );
        says(&model.findings()[0].message, &["model.safetensors.index.json", why]);
    }
    let dir =
        folder(&[("m.safetensors.index.json", r#"{"weight_map": {"a": "gone.safetensors"}}"#)]);
    says(
        &all(&fails(dir.path().join("m.safetensors.index.json"))),
        &["all its shards are missing (1)", "gone.safetensors"],
    );
}

#[test]
fn shards_without_an_index() {
    let dir = folder(&[
        ("model-00001-of-00003.safetensors", S1),
        ("model-00003-of-00003.safetensors", S3),
        ("model-00002-of-00003.safetensors.incomplete", "half"),
    ]);
    let model = open(dir.path());
    assert_eq!(
        files(&model),
        ["model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"]
    );
    assert_eq!(kinds(&model), ["missing-shard"]);
    says(
        &model.findings()[0].message,
        &[
            "model-00002-of-00003.safetensors is missing",
            "unfinished: model-00002-of-00003.safetensors.incomplete",
        ],
    );

    let alone = open(dir.path().join("model-00003-of-00003.safetensors"));
    assert_eq!(alone.sources().len(), 1);
    says(&alone.notes()[0], &["shard 3 of 3", dir.path().to_str().unwrap()]);
}

#[test]
fn one_name_in_two_files() {
    let dir = folder(&[
        ("model-00001-of-00002.safetensors", S1),
        ("model-00002-of-00002.safetensors", S1),
    ]);
    let model = open(dir.path());
    assert_eq!(kinds(&model), Vec::<&str>::new());
    assert!(model.sources()[1].catalog().tensors.is_empty());
    says(&model.notes().join("\n"), &["in both model-00001-of-00002.safetensors and model-00002"]);
}

#[test]
fn one_of_several_sets_is_taken() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("model.safetensors", ONE), ("consolidated.safetensors", TWO)],
            "consolidated.safetensors",
        ),
        (&[("model.safetensors", ONE), ("model.fp16.safetensors", TWO)], "model.fp16.safetensors"),
        (&[("model.safetensors", ONE), ("pytorch_model.bin", "PK..")], "pytorch_model.bin"),
        (
            &[("model.safetensors", ONE), ("adapter_model.safetensors", TWO)],
            "adapter_model.safetensors",
        ),
        (&[("model.safetensors", ONE), ("model-q4.gguf", "GGUF")], "model-q4.gguf"),
        (&[("consolidated.safetensors", ONE), ("other.safetensors", TWO)], "other.safetensors"),
        (&[("gptq_model-4bit.safetensors", ONE), ("weights.npz", "PK")], "weights.npz"),
    ];
    for (content, left_out) in cases {
        let dir = folder(content);
        let model = open(dir.path());
        assert_eq!(files(&model), [content[0].0]);
        says(&model.notes()[0], &["used: ", content[0].0, &format!("ignored: {left_out}")]);
    }
    let dir = folder(&[
        ("model.safetensors.index.json", INDEX),
        ("model-00001-of-00003.safetensors", S1),
        ("model-00002-of-00003.safetensors", S2),
        ("model-00003-of-00003.safetensors", S3),
        ("model.safetensors", ONE),
    ]);
    let model = open(dir.path());
    assert_eq!((model.sources().len(), kinds(&model)), (3, vec![]));
    says(&model.notes()[0], &["used: model.safetensors.index.json; ignored: model.safetensors"]);
}

#[test]
fn equals_are_several_models() {
    let dir = folder(&[("a.safetensors", ONE), ("b.safetensors", TWO)]);
    says(
        &all(&fails(dir.path())),
        &["2 models", "a.safetensors", "b.safetensors", "hint: open one of them by name"],
    );
    let models = options().open_all(dir.path()).unwrap();
    assert_eq!(
        models.iter().map(files).collect::<Vec<_>>(),
        [["a.safetensors"], ["b.safetensors"]]
    );
    assert_eq!(models[1].path(), dir.path().join("b.safetensors"));
}

#[test]
fn what_training_leaves_behind_is_not_weights() {
    let left = ["optimizer.pt", "rng_state.pth", "scheduler.pt", "training_args.bin"];
    let dir = folder(&[("model.safetensors", ONE)]);
    left.iter().for_each(|name| put(dir.path(), name, "PK\x03\x04"));
    let model = open(dir.path());
    assert_eq!(files(&model), ["model.safetensors"]);
    assert_eq!(model.notes(), [format!("not model weights: {}", left.join(", "))]);
}

#[test]
fn a_pipeline_is_one_model_for_each_component() {
    let index = r#"{"_class_name": "P", "unet": ["diffusers", "U"], "vae": ["diffusers", "V"],
        "scheduler": ["diffusers", "S"], "safety_checker": [null, null], "image_encoder": ["t", "I"]}"#;
    let dir = folder(&[
        ("model_index.json", index),
        ("unet/diffusion_pytorch_model.safetensors", ONE),
        ("unet/diffusion_pytorch_model.fp16.safetensors", TWO),
        ("unet/config.json", r#"{"a": 1}"#),
        ("vae/diffusion_pytorch_model.safetensors", TWO),
        ("vae_1_0/diffusion_pytorch_model.safetensors", TWO),
        ("scheduler/scheduler_config.json", "{}"),
        ("sd.safetensors", ONE),
    ]);
    let models = options().open_all(dir.path()).unwrap();
    let places: Vec<&Path> = models.iter().map(Model::path).collect();
    assert_eq!(places, [dir.path().join("unet"), dir.path().join("vae")]);
    assert_eq!(models[0].configs().len(), 1);
    assert_eq!(files(&models[0]), ["diffusion_pytorch_model.safetensors"]);
    says(
        &models[0].notes().join("\n"),
        &[
            "does not name them: vae_1_0/, sd.safetensors",
            "without a directory: image_encoder",
            "ignored: diffusion_pytorch_model.fp16.safetensors",
        ],
    );
    says(&all(&fails(dir.path())), &["2 models", "unet", "vae"]);
    assert_eq!(open(dir.path().join("vae")).sources().len(), 1);
}

#[test]
fn a_directory_without_weights() {
    let text = |files: &[(&str, &str)]| all(&fails(folder(files).path()));
    says(&text(&[]), &["the directory is empty"]);
    says(
        &text(&[("config.json", "{}"), ("notes.md", "")]),
        &["no weights found in this directory; it contains config.json, notes.md", ".safetensors"],
    );
    says(
        &text(&[("config.json", "{}"), ("model.safetensors.incomplete", "x")]),
        &["only unfinished downloads: model.safetensors.incomplete"],
    );
    says(
        &text(&[("a/model.safetensors", ONE), ("b/x.txt", "")]),
        &["no weights found in this directory, but in ", "/a", "hint: open one"],
    );
    says(
        &text(&[("snapshots/abc/model.safetensors", ONE), ("refs/main", "abc")]),
        &["snapshots/abc"],
    );
}

#[test]
fn a_pointer_among_the_shards_is_named() {
    let dir = folder(&[
        ("model-00001-of-00002.safetensors", S1),
        ("model-00002-of-00002.safetensors", LFS),
    ]);
    says(
        &all(&fails(dir.path())),
        &[
            "model-00002-of-00002.safetensors: ",
            "Git LFS pointer",
            "4976698672 bytes, sha256:4d7a21",
            "hint: `git lfs pull`",
        ],
    );
    let dir = folder(&[("model.safetensors", "<!doctype html><title>Log in</title>")]);
    says(
        &all(&fails(dir.path())),
        &["model.safetensors: ", "HTML page saved as weights, titled \"Log in\""],
    );
    let dir = folder(&[("model.safetensors", "")]);
    says(&all(&fails(dir.path())), &["model.safetensors: ", "empty (0 bytes)"]);
}

#[test]
fn unfinished_downloads_are_shown_as_far_as_they_go() {
    let header = r#"{"a":{"dtype":"U8","shape":[100000],"data_offsets":[0,100000]}}"#;
    let mut large = (header.len() as u64).to_le_bytes().to_vec();
    large.extend(header.as_bytes());
    large.resize(large.len() + 100_000, 0);
    let dir = folder(&[("model.safetensors.incomplete", ONE), ("a.safetensors.aria2", "x")]);
    std::fs::write(dir.path().join("a.safetensors"), large).unwrap();
    for name in ["model.safetensors.incomplete", "a.safetensors"] {
        let model = open(dir.path().join(name));
        assert_eq!(kinds(&model), ["incomplete-download"]);
        says(&model.findings()[0].message, &[name, "unfinished download"]);
    }
    put(dir.path(), "x.gguf.part", "?");
    says(&all(&fails(dir.path().join("x.gguf.part"))), &["unfinished download (.part)"]);
}

#[test]
fn nothing_there() {
    let dir = folder(&[("model.safetensors", ONE), ("hub/models--org--Qwen3-8B/refs/main", "x")]);
    let stores = Stores::none().hugging_face(dir.path().join("hub"));
    let text =
        |path: PathBuf| all(&OpenOptions::new().stores(stores.clone()).open(path).err().unwrap());
    let typo = text(dir.path().join("modle.safetensors"));
    says(
        &typo,
        &[
            "modle.safetensors: cannot open: no such file",
            "Hugging Face cache",
            "hub",
            "did you mean ",
            "/model.safetensors?",
        ],
    );
    says(&text("org/Qwen3-8b".into()), &["did you mean org/Qwen3-8B?"]);
    says(&text("someone/qwen3-8B".into()), &["did you mean org/Qwen3-8B?"]);
    says(
        &text("zzz".into()),
        &["hint: write ollama:name:tag for a model in the local Ollama store"],
    );
    assert_eq!(fails("zzz").kind(), weighbridge::ErrorKind::Io);
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere() {
    let dir = folder(&[("model-00001-of-00002.safetensors", S1)]);
    std::os::unix::fs::symlink("/gone", dir.path().join("model-00002-of-00002.safetensors"))
        .unwrap();
    let model = open(dir.path());
    says(
        &model.findings()[0].message,
        &["model-00002-of-00002.safetensors is missing (broken link)"],
    );
    let error = all(&fails(dir.path().join("model-00002-of-00002.safetensors")));
    says(&error, &["its target /gone"]);
}

#[test]
fn a_path_wins_over_a_store() {
    let dir = folder(&[("ollama:x/model.safetensors", ONE)]);
    assert_eq!(open(dir.path().join("ollama:x")).sources().len(), 1);
}
