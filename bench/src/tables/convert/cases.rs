//! The lines of the table: what is converted to what, and who else can do it.

use weighbridge::DType;

use crate::large::Layout;

/// One line.
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// How the source is stored.
    pub layout: Layout,
    /// What is written: a file, a folder if it has no extension, or the standard output.
    pub output: &'static str,
    /// Further flags for `weigh`.
    pub flags: &'static [&'static str],
    /// How many times the limit it may take.
    pub bound: f64,
    /// Arguments of anamnesis' program before the file; empty if it cannot do it.
    pub amn: &'static [&'static str],
    /// What `bench/python/convert.py` calls it, and the libraries it needs.
    pub python: Option<(&'static str, &'static str)>,
    /// Where source and output are.
    pub place: Place,
}

/// A kind of file system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Memory,
    Disk,
}

/// Numbers in every source: 2.2 GB at 16 bits.
pub const NUMBERS: u64 = 1_080_000_000;

const REMEMBER: &[&str] = &["remember", "--to", "bf16"];
const REMEMBER_F16: &[&str] = &["remember", "--to", "f16"];
const FILE: &str = "out.safetensors";

const fn case(name: &'static str, layout: Layout, amn: &'static [&'static str]) -> Case {
    let (flags, python): (&[&str], _) = (&[], None);
    Case { name, layout, output: FILE, flags, bound: 1.3, amn, python, place: Place::Memory }
}

/// All of them.
pub const CASES: &[Case] = &[
    Case { python: Some(("fp8", "torch")), ..case("fp8", Layout::Scheme("fp8-block"), REMEMBER) },
    case("fp8-one-tensor", Layout::OneTensor, REMEMBER),
    Case { output: "-", ..case("fp8-one-tensor-stdout", Layout::OneTensor, &[]) },
    Case { python: Some(("gguf", "gguf")), ..case("q4_k", Layout::Gguf("Q4_K"), REMEMBER) },
    Case { python: Some(("gguf", "gguf")), ..case("q8_0", Layout::Gguf("Q8_0"), REMEMBER) },
    Case {
        output: "out",
        flags: &["--max-shard-size", "500MB"],
        python: Some(("reshard", "torch")),
        ..case("bf16-reshard", Layout::Plain(DType::BF16), &[])
    },
    Case {
        python: Some(("pth", "torch")),
        ..case("pth", Layout::Python("torch", "pth", "pth"), REMEMBER)
    },
    Case {
        python: Some(("npz", "safetensors")),
        ..case("npz", Layout::Python("numpy", "npz", "npz"), REMEMBER)
    },
    Case {
        output: "out.gguf",
        ..case("bf16-gguf", Layout::Plain(DType::BF16), &["convert", "--to", "gguf"])
    },
    Case { output: "out.npz", ..case("f16-npz", Layout::Plain(DType::F16), &[]) },
    Case {
        bound: 1.5,
        python: Some(("gptq", "torch")),
        ..case("gptq", Layout::Scheme("gptq-4bit"), REMEMBER_F16)
    },
    Case {
        bound: 1.5,
        python: Some(("awq", "torch")),
        ..case("awq", Layout::Scheme("awq"), REMEMBER_F16)
    },
    Case { place: Place::Disk, ..case("fp8-disk", Layout::Scheme("fp8-block"), REMEMBER) },
];
