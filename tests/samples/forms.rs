//! A file gives the same report and the same values whether it is mapped, read by position, held
//! in memory, read through a seeking reader, or streamed.

use crate::common::{Sample, stored, tensor_bytes};
use crate::{counts, every_sample};
use libtest_mimic::Trial;
use std::io::{Cursor, Read};
use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{FileAccess, Model, OpenOptions, Result};

fn report(model: Result<Model>) -> String {
    report_with(model, true)
}

/// A stream is not read past its header, so it cannot know about padding at its end.
fn report_without_length(model: Result<Model>) -> String {
    report_with(model, false)
}

fn report_with(model: Result<Model>, length: bool) -> String {
    let model = match model {
        Ok(model) => model,
        Err(error) => return format!("error: {error}"),
    };
    let options =
        InspectOptions { tensors: true, full_metadata: true, ..InspectOptions::default() };
    let mut report = inspect(&model, &options).unwrap();
    if !length {
        report.file_bytes = 0;
        report.files.iter_mut().for_each(|file| file.bytes = 0);
    }
    let mut text = serde_json::to_string_pretty(&report).unwrap();
    for (source, tensor) in stored(&model) {
        let values = tensor_bytes(source, tensor).map(|bytes| crate::common::sha256(&bytes));
        text += &match values {
            Ok(sum) => format!("\n{} {sum}", tensor.name),
            Err(error) => format!("\n{} {error}", tensor.name),
        };
    }
    text
}

pub fn trials() -> Vec<Trial> {
    every_sample("forms", check)
}

fn check(sample: &Sample) -> Result<(), String> {
    if sample.path.is_dir() {
        counts::add("directories", 1);
        return check_directory(sample);
    }
    // A config beside the file tells more about it, which a stream does not see.
    match sample.path.with_file_name("config.json").exists() {
        true => Ok(()),
        false => check_file(sample),
    }
}

fn check_file(sample: &Sample) -> Result<(), String> {
    let name = sample.path.to_str().unwrap();
    let bytes = std::fs::read(&sample.path).unwrap();
    let with = |access| OpenOptions::new().access(access);
    let open = OpenOptions::new();
    let mapped = report(with(FileAccess::Map).open(&sample.path));
    let forms = [
        ("read", report(with(FileAccess::Read).open(&sample.path))),
        ("bytes", report(open.open_bytes(bytes.clone(), name))),
        ("reader", report(open.open_reader(Cursor::new(bytes.clone()), name))),
    ];
    for (form, other) in forms {
        if other != mapped {
            return Err(format!("{form} gives\n{other}\nmapped gives\n{mapped}"));
        }
    }
    // Where the header does not say where the file ends, a stream cannot know.
    if sample.expect["end_unstated"] == true {
        return Ok(());
    }
    let mapped = report_without_length(with(FileAccess::Map).open(&sample.path));
    let slow = OneByOne(Cursor::new(bytes));
    let stream = report_without_length(open.open_stream(slow, name));
    match stream == mapped {
        true => Ok(()),
        false => Err(format!("stream gives\n{stream}\nmapped gives\n{mapped}")),
    }
}

/// A reader that never gives more than a few bytes at once, as a slow pipe does.
struct OneByOne(Cursor<Vec<u8>>);

impl Read for OneByOne {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = out.len().min(777);
        self.0.read(&mut out[..most])
    }
}

/// A directory has no bytes of its own, but its files can be mapped or read.
fn check_directory(sample: &Sample) -> Result<(), String> {
    let open = |access| report(OpenOptions::new().access(access).open(&sample.path));
    let (mapped, read) = (open(FileAccess::Map), open(FileAccess::Read));
    match mapped == read {
        true => Ok(()),
        false => Err(format!("read gives\n{read}\nmapped gives\n{mapped}")),
    }
}
