//! What looking at a 2 GB file brings into memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::table::Table;
use crate::{Setting, cache, child, fixtures};

const MIB: u64 = 1 << 20;

type Build<'a> = Box<dyn FnOnce() -> Option<PathBuf> + 'a>;

pub fn measure(setting: &Setting) -> Table {
    let title = "inspect a 2 GB file that is not in the page cache: what is resident afterwards";
    let mut table = Table::new("header-cost", title);
    let inputs: [(&str, Build<'_>); 6] = [
        (
            "safetensors",
            Box::new(|| {
                Some(fixtures::once(setting, "2gb.safetensors", |p| {
                    fixtures::safetensors(p, 2000, MIB)
                }))
            }),
        ),
        (
            "gguf",
            Box::new(|| {
                Some(fixtures::once(setting, "2gb.gguf", |p| fixtures::gguf(p, 150_000, 2000, MIB)))
            }),
        ),
        (
            "apr",
            Box::new(|| Some(fixtures::once(setting, "2gb.apr", |p| fixtures::apr(p, 2000, MIB)))),
        ),
        (
            "npy",
            Box::new(|| Some(fixtures::once(setting, "2gb.npy", |p| fixtures::npy(p, 2000 * MIB)))),
        ),
        (
            "npz",
            Box::new(|| {
                fixtures::by_python(setting, "2gb.npz", "numpy", "stored_npz.py", &["2000"])
            }),
        ),
        (
            "pth",
            Box::new(|| {
                fixtures::by_python(setting, "2gb.pth", "torch", "large_pth.py", &["2000"])
            }),
        ),
    ];
    for (format, build) in inputs {
        match build() {
            Some(path) => {
                measure_one(&mut table, format, &path);
                let _ = std::fs::remove_file(&path);
            }
            None => table
                .notes
                .push(format!("{format} not measured: the library that writes it is missing")),
        }
    }
    table
}

fn measure_one(table: &mut Table, format: &str, path: &Path) {
    let program =
        std::env::current_exe().expect("this program has a path").with_file_name("open_cost");
    cache::drop_file(path).expect("the cache can be dropped");
    let before = cache::resident(path).expect("residency can be asked for");
    let cost = child::run(Command::new(program).arg(path))
        .expect("open_cost is built beside this program");
    let resident = cache::resident(path).expect("residency can be asked for");
    let measured: serde_json::Value = serde_json::from_str(&cost.output).expect("it prints JSON");
    let number = |key: &str| measured[key].as_u64().unwrap_or(0);
    let header = number("header_bytes");
    let pages = header.next_multiple_of(4096);
    table.figure(
        format!("{format}: header / resident before, after / peak heap / anonymous / peak resident set"),
        format!(
            "{header} / {before}, {resident} / {} / {} / {} bytes; opened in {:.2} ms, process {:.2} ms, CPU {:.2} ms",
            number("peak_heap"),
            number("anonymous"),
            number("peak_resident"),
            measured["seconds"].as_f64().unwrap_or(0.0) * 1e3,
            cost.wall * 1e3,
            cost.cpu * 1e3,
        ),
    );
    let over = |value: u64, base: u64| value.saturating_sub(base) as f64 / MIB as f64;
    table.bounded(
        format!("{format}: MiB of the file resident beyond the header, at most 1"),
        over(resident, pages),
        1.0,
    );
    table.bounded(
        format!("{format}: MiB of anonymous memory beyond the header, at most 8"),
        over(number("anonymous").max(number("peak_heap")), header),
        8.0,
    );
}
