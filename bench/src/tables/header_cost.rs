//! How much memory it takes to inspect a file of 2000 MiB.

use std::path::Path;
use std::process::Command;

use crate::table::Table;
use crate::{Setting, cache, child, fixtures, program, pth_file};

const MIB: u64 = 1 << 20;

/// Writes a number of arrays of a number of bytes each.
type Write = fn(&Path, u64, u64) -> std::io::Result<()>;

pub fn measure(setting: &Setting) -> Table {
    // A quick run uses a tenth.
    let count: u64 = if setting.quick { 200 } else { 2000 };
    let title = format!(
        "inspect a file of {count} MiB that is not in the page cache: what is resident afterwards"
    );
    let mut table = Table::new("header-cost", title);
    let name = |ending: &str| format!("{count}mib.{ending}");
    let mut notes = Vec::new();
    let mut by_python = |format: &str, script: (&str, &str), write: Write| {
        let script = (script.0, script.1, count.to_string());
        fixtures::by_python_or(setting, &name(format), script, &mut notes, |path| {
            write(path, count / 10, 10_000_000)
        })
    };
    for format in ["safetensors", "gguf", "apr", "npy", "npz", "pth"] {
        let once = |write: &dyn Fn(&Path) -> std::io::Result<()>| {
            fixtures::once(setting, &name(format), write)
        };
        let path = match format {
            "safetensors" => once(&|path| fixtures::safetensors(path, count, MIB)),
            "gguf" => once(&|path| fixtures::gguf(path, 150_000, count, MIB)),
            "apr" => once(&|path| fixtures::apr(path, count, MIB)),
            "npy" => once(&|path| fixtures::npy(path, count * MIB)),
            "npz" => by_python(format, ("numpy", "stored_npz.py"), fixtures::stored_npz),
            _ => by_python(format, ("torch", "large_pth.py"), |path, count, bytes| {
                pth_file::write(path, count, bytes, fixtures::layer_name)
            }),
        };
        measure_one(&mut table, format, &path);
        let _ = std::fs::remove_file(&path);
    }
    table.notes.extend(notes);
    table
}

fn measure_one(table: &mut Table, format: &str, path: &Path) {
    cache::drop_file(path).expect("the cache can be dropped");
    let before = cache::resident(path).expect("residency can be asked for");
    let cost = child::run(Command::new(program::helper("open_cost")).arg(path))
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
