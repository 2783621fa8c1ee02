//! Decodes a GGUF file's one tensor to bf16 with anamnesis, once for every line on its standard
//! input, and prints the seconds each time: a child of the `gguf-decode` table.
#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("usage: anamnesis-decode FILE");
    let bytes = std::fs::read(path).expect("the file can be read");
    let file = anamnesis::parse_gguf_bytes(bytes).expect("it opens");
    let tensor = file.tensors().next().expect("it holds a tensor");
    let elements = tensor.shape.iter().product();
    for line in std::io::stdin().lines() {
        line.expect("standard input can be read");
        let start = Instant::now();
        let decoded = anamnesis::dequantize_gguf_to_bf16(&tensor.data, tensor.dtype, elements);
        let seconds = start.elapsed().as_secs_f64();
        drop(std::hint::black_box(decoded.expect("it decodes")));
        println!("{seconds}");
    }
}
