//! The limit of a comparison, and of statistics: reads and decodes both sides, or one model, on all
//! workers and does nothing with the numbers.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use weighbridge::{FileAccess, Model, OpenOptions, Scratch};

/// The argument that makes this program decode both.
pub const DECODE_BOTH: &str = "decode-both";

/// Numbers that are decoded at once.
const TILE: u64 = 64 << 10;

/// This program, decoding some models with `threads` threads.
pub fn command(models: &[&Path], threads: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg(DECODE_BOTH).args(models).arg(threads.to_string());
    command
}

/// The child. Its arguments are the paths of the models and the number of threads.
pub fn child(arguments: &[String]) -> std::io::Result<()> {
    let Some((threads, paths)) = arguments.split_last() else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let open = |path: &String| OpenOptions::new().access(FileAccess::Read).open(path);
    let models: Vec<Model> = paths.iter().map(|path| open(path).expect("it opens")).collect();
    decode(&models, threads.parse().map_err(std::io::Error::other)?);
    Ok(())
}

fn decode(models: &[Model], threads: usize) {
    let weights: Vec<_> = models.iter().flat_map(Model::weights).collect();
    let ends: Vec<u64> = weights
        .iter()
        .scan(0, |end, weight| {
            *end += weight.elements().div_ceil(TILE);
            Some(*end)
        })
        .collect();
    let next = AtomicU64::new(0);
    let work = || {
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        loop {
            let tile = next.fetch_add(1, Ordering::Relaxed);
            let index = ends.partition_point(|&end| end <= tile);
            let Some(weight) = weights.get(index) else { break };
            let before = if index > 0 { ends[index - 1] } else { 0 };
            let start = (tile - before) * TILE;
            let elements = start..(start + TILE).min(weight.elements());
            out.resize((elements.end - elements.start) as usize, 0f32);
            weight.decode_elements_with(elements, &mut out, &mut scratch).expect("it decodes");
            std::hint::black_box(&out);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}
