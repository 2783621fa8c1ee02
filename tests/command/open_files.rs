//! Models of more files than a process may have open.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;

use crate::{program, trials};

pub fn trials() -> Vec<Trial> {
    trials!("open_files": thousands_of_shards_need_few_open_files)
}

/// How many files the command may have open, and how many the model has.
const ALLOWED: usize = 64;
const SHARDS: usize = 300;

/// A folder of shards, each of one tensor. The third is too large to be read at once.
fn write_shards(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    let mut map = serde_json::Map::new();
    for index in 0..SHARDS {
        let file = format!("model-{:05}-of-{SHARDS:05}.safetensors", index + 1);
        let bytes = if index == 2 { 5 << 20 } else { 100 };
        let header = format!(
            r#"{{"t{index}":{{"dtype":"U8","shape":[{bytes}],"data_offsets":[0,{bytes}]}}}}"#
        );
        let length = (header.len() as u64).to_le_bytes();
        let data = vec![u8::try_from(index % 251).unwrap(); bytes];
        std::fs::write(folder.join(&file), [&length[..], header.as_bytes(), &data].concat())
            .unwrap();
        map.insert(format!("t{index}"), file.into());
    }
    let index = serde_json::json!({ "metadata": {}, "weight_map": map });
    std::fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

fn thousands_of_shards_need_few_open_files() {
    let folder = tempfile::tempdir().unwrap();
    write_shards(&folder.path().join("model"));
    for command in [
        "weigh inspect model",
        "weigh inspect --mmap model",
        "weigh convert model -o one.safetensors",
        "weigh convert model -o many --max-shard-size 100",
        "weigh verify one.safetensors --against model",
        "weigh verify many --against model",
        "weigh diff model many",
        "weigh diff model one.safetensors",
    ] {
        let binary = program().parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -n {ALLOWED} && exec {command}")])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", binary.display()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
    }
    let written = std::fs::read_dir(folder.path().join("many")).unwrap().count();
    assert!(written > SHARDS, "{written} files");
}
