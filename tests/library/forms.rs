//! A file gives the same report and the same values whether it is mapped, read by position, held
//! in memory, read through a seeking reader, or streamed.

use crate::common::{Sample, image, samples, stored};
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
        let values = image(source, tensor).map(|bytes| crate::common::sha256(&bytes));
        text += &match values {
            Ok(sum) => format!("\n{} {sum}", tensor.name),
            Err(error) => format!("\n{} {error}", tensor.name),
        };
    }
    text
}

#[test]
fn all_forms_agree() {
    // What lies beside a file tells more about it, which a stream does not see.
    let alone = |sample: &Sample| {
        sample.path.is_file() && !sample.path.with_file_name("config.json").exists()
    };
    for sample in samples().into_iter().filter(alone) {
        let name = sample.path.to_str().unwrap();
        let bytes = std::fs::read(&sample.path).unwrap();
        let with = |access| OpenOptions::new().access(access);
        let mapped = report(with(FileAccess::Map).open(&sample.path));
        let forms = [
            ("read", report(with(FileAccess::Read).open(&sample.path))),
            ("bytes", report(beside(name, |o| o.open_bytes(bytes.clone(), name)))),
            ("reader", report(beside(name, |o| o.open_reader(Cursor::new(bytes.clone()), name)))),
        ];
        // Where the header does not say how the file ends, a stream cannot know without its end.
        if sample.expect["end_unstated"] != true {
            let mapped_stream = report_without_length(with(FileAccess::Map).open(&sample.path));
            let slow = || OneByOne(Cursor::new(bytes.clone()));
            let stream = report_without_length(beside(name, |o| o.open_stream(slow(), name)));
            assert!(
                stream == mapped_stream,
                "{}: stream gives\n{stream}\nmapped gives\n{mapped_stream}",
                sample.name()
            );
        }
        for (form, other) in forms {
            assert!(
                other == mapped,
                "{}: {form} gives\n{other}\nmapped gives\n{mapped}",
                sample.name()
            );
        }
    }
}

fn beside(_name: &str, open: impl Fn(OpenOptions) -> Result<Model>) -> Result<Model> {
    open(OpenOptions::new())
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
#[test]
fn a_directory_is_the_same_mapped_and_read() {
    let folders: Vec<_> = samples().into_iter().filter(|sample| sample.path.is_dir()).collect();
    assert!(folders.len() >= 4);
    for sample in folders {
        let open = |access| report(OpenOptions::new().access(access).open(&sample.path));
        assert_eq!(open(FileAccess::Map), open(FileAccess::Read), "{}", sample.name());
    }
}
