//! The memory that a conversion takes, compared with the size of its source.
//!
//! Every scheme and container at 1 and 4 GB, and sources of 16 GB, are converted to the standard
//! output, which is discarded. Where zeros are as good as other numbers, the source is a file with
//! a hole, which takes no room whatever its size.

use std::process::Command;

use weighbridge::DType;

use crate::large::{Large, Layout, Payload};
use crate::table::{Line, Table};
use crate::tables::scheme_decode::cases::CASES;
use crate::{Setting, child, program};

const MIB: f64 = (1 << 20) as f64;
/// MiB that a conversion may take beyond its headers.
const BOUND: f64 = 64.0;
/// MiB by which the peaks of a small and a large source may differ: two, plus four for the tiles
/// that a stream sets aside when they arrive early, which happens in some runs only.
const GROWTH: f64 = 6.0;

/// The lines that are not schemes: how they are stored, and the flags of the conversion.
const OTHERS: &[(&str, Layout, &[&str])] = &[
    ("safetensors-f32", Layout::Plain(DType::F32), &["--dtype", "bf16"]),
    ("safetensors-bf16", Layout::Plain(DType::BF16), &[]),
    ("fp8-one-tensor", Layout::OneTensor, &[]),
    ("gguf-q4_k", Layout::Gguf("Q4_K"), &[]),
    ("gguf-q8_0", Layout::Gguf("Q8_0"), &[]),
    ("pth", Layout::Python("torch", "pth", "pth"), &[]),
    ("npz", Layout::Python("numpy", "npz", "npz"), &[]),
    ("npz-deflated", Layout::Python("numpy", "npz-deflated", "npz"), &[]),
    ("npy-fortran", Layout::Python("numpy", "npy-fortran", "npy"), &[]),
];

/// The lines that are also measured at 16 GB.
const LARGEST: [&str; 4] = ["safetensors-f32", "safetensors-bf16", "gguf-q4_k", "fp8-block"];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    lines().map(|(name, ..)| name).collect()
}

fn lines() -> impl Iterator<Item = (&'static str, Layout, &'static [&'static str])> {
    let schemes = CASES.iter().map(|case| (case.name, Layout::Scheme(case.name), &[][..]));
    OTHERS.iter().copied().chain(schemes)
}

pub fn measure(setting: &Setting) -> Table {
    let title = "peak memory of a conversion to the standard output, positioned reads, -j 2";
    let mut table = Table::new("convert-memory", title);
    let weigh = program::release("weigh", None).expect("weigh can be built");
    table.matrix.head =
        ["source", "1 GB", "4 GB", "16 GB"].map(|size| format!("{size}, MiB")).to_vec();
    table.matrix.head[0] = "source".into();
    let mut peaks: Vec<(&'static str, Vec<Option<f64>>)> = Vec::new();
    for (name, layout, flags) in lines().filter(|(name, ..)| setting.wants(name)) {
        let mut measured = Vec::new();
        for gigabytes in [1, 4, 16] {
            // A quick run measures only the smallest.
            let asked = match gigabytes {
                1 => true,
                4 => !setting.quick,
                _ => !setting.quick && LARGEST.contains(&name),
            };
            let peak = asked.then(|| peak(setting, &weigh, layout, flags, gigabytes));
            match peak.transpose() {
                Ok(peak) => measured.push(peak),
                Err(reason) => {
                    table.notes.push(format!("{name} at {gigabytes} GB: {reason}"));
                    measured.push(None);
                }
            }
        }
        let cell = |peak: &Option<f64>| peak.map_or("-".into(), |peak| format!("{peak:.1}"));
        let cells: Vec<String> =
            std::iter::once(name.to_owned()).chain(measured.iter().map(cell)).collect();
        eprintln!("  {}", cells.join(" | "));
        table.matrix.lines.push(Line { cells, rows: vec![] });
        peaks.push((name, measured));
    }
    judge(&mut table, &peaks);
    table.notes.push(
        "The peak is the largest resident set of the child program (VmHWM), the program itself \
         and its headers included. All are written to a stream, which puts up to 4 MiB of tiles \
         aside when they come before their turn: some runs do, some do not."
            .into(),
    );
    table
}

/// The peak in MiB of one conversion.
fn peak(
    setting: &Setting,
    weigh: &std::path::Path,
    layout: Layout,
    flags: &[&str],
    gigabytes: u64,
) -> Result<f64, String> {
    let numbers = gigabytes * 1_000_000_000 * 100 / hundredths_of_a_byte(layout);
    // On the memory file system: a hole takes no memory, and other sources stay off the disk.
    let source = Large::make(&setting.memory_data, layout, numbers, Payload::Zeros)?;
    let mut command = Command::new(weigh);
    command.arg("convert").arg(&source.model).args(["-o", "-", "-q", "--no-mmap", "-j", "2"]);
    let cost = child::run_apart(command.args(flags)).map_err(|error| error.to_string())?;
    if cost.ok { Ok(cost.peak as f64 / MIB) } else { Err(cost.output) }
}

/// Roughly how much of a source each number takes.
fn hundredths_of_a_byte(layout: Layout) -> u64 {
    match layout {
        Layout::Plain(DType::F32) | Layout::Python("numpy", ..) => 400,
        Layout::Plain(_) | Layout::Python(..) => 200,
        Layout::Gguf("Q4_K") => 56,
        Layout::Scheme(name) if is_four_bit(name) => 55,
        _ => 105,
    }
}

fn is_four_bit(name: &str) -> bool {
    ["4", "awq", "gptq-desc-act"].iter().any(|part| name.contains(part))
}

fn judge(table: &mut Table, peaks: &[(&'static str, Vec<Option<f64>>)]) {
    let all =
        peaks.iter().flat_map(|(name, peaks)| peaks.iter().flatten().map(move |p| (*name, *p)));
    let highest = all.collect();
    crate::verdict::at_most(
        table,
        format!("at most {BOUND} MiB, headers included"),
        &highest,
        BOUND,
    );
    let grown = peaks
        .iter()
        .filter_map(|(name, peaks)| Some((*name, (peaks[1]? - peaks[0]?).abs())))
        .collect();
    let what = format!("1 and 4 GB differ by at most {GROWTH} MiB");
    crate::verdict::at_most(table, what, &grown, GROWTH);
}
