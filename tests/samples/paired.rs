//! Every model that lies here in two forms has the same weights in both.

use libtest_mimic::Trial;

use crate::common::pairing::{both_ways, folder};
use crate::trial;

pub fn trials() -> Vec<Trial> {
    let entries = std::fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().join("model.gguf").exists());
    let named = folders.map(|entry| entry.file_name().into_string().unwrap());
    named.map(|name| trial(format!("names/{name}::paired"), move || check(&name))).collect()
}

fn check(name: &str) -> Result<(), String> {
    let (_, _, found) = both_ways(name);
    match found.pairs.is_empty() {
        true => Err("nothing is paired".to_owned()),
        false => Ok(()),
    }
}
