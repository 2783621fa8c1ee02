//! Does one job with candle, once for every line on its standard input, and prints the seconds
//! each time: a child of the tables `gguf-open`, `gguf-decode` and `pth-open`.
//!
//! ```text
//! candle-peer open FILE.gguf      the header: metadata and tensors
//! candle-peer decode FILE.gguf    the file's one tensor, to f32
//! candle-peer pth FOLDER          the tensors of every file in a folder, without their data
//! ```

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Error, pickle};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["open", file] => turns(|| Content::read(&mut BufReader::new(File::open(file)?))),
        ["decode", file] => decode(file),
        ["pth", folder] => {
            let files = files_of(folder);
            turns(|| {
                files.iter().try_for_each(|file| {
                    pickle::read_pth_tensor_info(file, false, None).map(drop)
                })
            });
        }
        _ => panic!("usage: candle-peer open|decode FILE, candle-peer pth FOLDER"),
    }
}

fn decode(path: &str) {
    let mut file = BufReader::new(File::open(path).expect("the file can be read"));
    let content = Content::read(&mut file).expect("it opens");
    let name = content.tensor_infos.keys().next().expect("it holds a tensor").clone();
    let tensor = content.tensor(&mut file, &name, &Device::Cpu).expect("its type is known");
    turns(|| tensor.dequantize(&Device::Cpu));
}

fn files_of(folder: &str) -> Vec<PathBuf> {
    let entries = Path::new(folder).read_dir().expect("the folder can be listed");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn turns<T>(job: impl Fn() -> Result<T, Error>) {
    for line in std::io::stdin().lines() {
        line.expect("standard input can be read");
        let start = Instant::now();
        let done = job();
        let seconds = start.elapsed().as_secs_f64();
        drop(std::hint::black_box(done.expect("it is done")));
        println!("{seconds}");
    }
}
