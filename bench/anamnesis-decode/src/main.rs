//! Decodes one tensor to bf16 with anamnesis, once for every line on its standard input, and
//! prints the seconds each time: a child of the tables `gguf-decode` and `scheme-decode`.
//!
//! ```text
//! anamnesis-decode FILE.gguf                    the file's one tensor
//! anamnesis-decode FILE.safetensors KIND        its one weight, by the function for that kind
//! anamnesis-decode FILE.safetensors whole       the whole file, to the bytes of a new one
//! anamnesis-decode FILE.safetensors write OUT   the same, once, to a file; prints a refusal
//! ```
#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

use anamnesis::{ParsedModel, RememberOptions, TargetDtype};

mod kinds;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [file] => gguf(file),
        [file, "whole"] => {
            let model = anamnesis::parse(file).expect("it opens");
            turns(|| whole(&model));
        }
        [file, "write", out] => match anamnesis::parse(file).and_then(|model| whole(&model)) {
            Ok(bytes) => std::fs::write(out, bytes).expect("it can be written"),
            Err(refusal) => println!("{refusal}"),
        },
        [file, kind] => {
            let bytes = std::fs::read(file).expect("the file can be read");
            let stored = safetensors::SafeTensors::deserialize(&bytes).expect("it opens");
            turns(|| kinds::decode(kind, &stored));
        }
        _ => panic!("usage: anamnesis-decode FILE [KIND | whole | write OUT]"),
    }
}

fn gguf(path: &str) {
    let bytes = std::fs::read(path).expect("the file can be read");
    let file = anamnesis::parse_gguf_bytes(bytes).expect("it opens");
    let tensor = file.tensors().next().expect("it holds a tensor");
    let elements = tensor.shape.iter().product();
    turns(|| anamnesis::dequantize_gguf_to_bf16(&tensor.data, tensor.dtype, elements));
}

fn whole(model: &ParsedModel) -> anamnesis::Result<Vec<u8>> {
    let options = RememberOptions::new().with_threads(1);
    model.remember_to_bytes_with_options(TargetDtype::BF16, options)
}

fn turns(decode: impl Fn() -> anamnesis::Result<Vec<u8>>) {
    for line in std::io::stdin().lines() {
        line.expect("standard input can be read");
        let start = Instant::now();
        let decoded = decode();
        let seconds = start.elapsed().as_secs_f64();
        drop(std::hint::black_box(decoded.expect("it decodes")));
        println!("{seconds}");
    }
}
