//! The jobs that are counted, and the child that does one of them.

use std::num::NonZeroUsize;
use std::path::Path;

use weighbridge::Element;
use weighbridge::internals::blocks::Block;
use weighbridge::internals::simd::{Level, level, with_level};
use weighbridge::ops::{
    ConvertOptions, DiffOptions, InspectOptions, Names, OutputType, convert_to, diff, inspect,
};
use weighbridge::{Model, Scratch, Weight, bf16, f16};

use super::inputs::{BLOCKS, CONTAINERS, PLAIN, ROUNDED, SCHEMES, container};
use crate::random_blocks::{BlockFile, Scales};

/// The argument that makes this program the child.
pub const JOB: &str = "guard-job";
/// The job that prints which level the kernels run at.
pub const LEVEL: &str = "level";
/// The function whose instructions are counted, from entry to exit.
pub const MEASURED: &str = "bench::guard::jobs::measured";

/// The block types that are decoded.
const BLOCK_TYPES: [&str; 7] = ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ2_XS", "IQ4_XS", "MXFP4"];
/// Those that are also decoded by the scalar definition.
const BASELINE: [&str; 3] = ["Q8_0", "Q4_K", "fp8-block"];
/// The tensor of blocks.
const ROWS: u64 = 64;
const COLUMNS: u64 = 4096;
/// Elements of a checkpoint's weight that are decoded, in whole rows.
const SCHEME_ELEMENTS: u64 = 128 * crate::decoding::COLUMNS;

/// How often a container is opened: hash maps get new seeds each time, and their effect averages
/// out.
const OPENINGS: usize = 16;

/// A job.
pub struct Job {
    /// What it is called.
    pub name: String,
    what: What,
    level: Option<Level>,
}

#[derive(Clone, Copy)]
enum What {
    Blocks(&'static str, Output),
    Scheme(&'static str, Output),
    Narrow(Output),
    Open(&'static str),
    Diff(&'static str, &'static str),
    Convert(&'static str, &'static str),
}

#[derive(Clone, Copy)]
enum Output {
    F32,
    Bf16,
    F16,
}

impl Output {
    fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }
}

/// All of them.
pub fn all() -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |name: String, what| jobs.push(Job { name, what, level: None });
    for output in [Output::F32, Output::Bf16] {
        for block in BLOCK_TYPES {
            add(format!("decode/{block}/{}", output.name()), What::Blocks(block, output));
        }
        for scheme in SCHEMES {
            add(format!("decode/{scheme}/{}", output.name()), What::Scheme(scheme, output));
        }
    }
    for output in [Output::Bf16, Output::F16] {
        add(format!("narrow/f32/{}", output.name()), What::Narrow(output));
    }
    for container in CONTAINERS {
        add(format!("open/{container}"), What::Open(container));
    }
    add("diff/f32/bf16".into(), What::Diff(PLAIN, ROUNDED));
    add("diff/f32/same".into(), What::Diff(PLAIN, PLAIN));
    add("convert/f32/bf16.safetensors".into(), What::Convert(PLAIN, "safetensors"));
    add("convert/f32/f16.npz".into(), What::Convert(PLAIN, "npz"));
    add("convert/q4_k/bf16.safetensors".into(), What::Convert(BLOCKS, "safetensors"));
    for name in BASELINE {
        let of = |job: &&Job| job.name == format!("decode/{name}/f32");
        let what = jobs.iter().find(of).expect("it is decoded").what;
        let name = format!("decode/{name}/f32/baseline");
        jobs.push(Job { name, what, level: Some(Level::BASELINE) });
    }
    jobs
}

/// The child: does one job twice, the second time in [`measured`].
pub fn child(arguments: &[String]) -> std::io::Result<()> {
    let [name, folder] = arguments else { return Err(std::io::ErrorKind::InvalidInput.into()) };
    if name == LEVEL {
        println!("{}", level().name());
        return Ok(());
    }
    let job = all().into_iter().find(|job| job.name == *name);
    let job = job.ok_or_else(|| std::io::Error::other(format!("there is no job {name}")))?;
    let run = || job.what.run(Path::new(folder)).map_err(std::io::Error::other);
    with_level(job.level.unwrap_or_else(level), run)
}

/// The counted work. It must stay a function of its own, since valgrind starts and stops counting
/// by its name.
#[inline(never)]
fn measured(job: &mut dyn FnMut()) {
    job();
    // Work after the call: without it the call becomes a jump, and this function never returns.
    std::hint::black_box(());
}

fn twice(mut job: impl FnMut()) {
    job();
    measured(&mut job);
}

impl What {
    fn run(self, folder: &Path) -> weighbridge::Result<()> {
        let one = NonZeroUsize::MIN;
        match self {
            Self::Blocks(name, output) => {
                let block = Block::from_name(name).expect("it is a type");
                let file = BlockFile::new(block, ROWS, COLUMNS, Scales::Sane, 1);
                decode(&file.weight(), ROWS, output);
            }
            Self::Scheme(name, output) => {
                let model = Model::open(folder.join(format!("scheme-{name}")))?;
                let weight = model.weights().next().expect("it holds one weight");
                let rows = (SCHEME_ELEMENTS / weight.rows_and_columns().1).max(1);
                decode(&weight, rows, output);
            }
            Self::Narrow(output) => {
                let model = Model::open(folder.join(PLAIN))?;
                let weight = model.weights().next().expect("it holds weights");
                decode(&weight, weight.rows_and_columns().0, output);
            }
            Self::Open(name) => {
                let path = container(folder, name);
                twice(|| (0..OPENINGS).for_each(|_| open(&path)));
            }
            Self::Diff(a, b) => {
                let (a, b) = (Model::open(folder.join(a))?, Model::open(folder.join(b))?);
                let options = DiffOptions::default().threads(one);
                twice(|| drop(diff(&a, &b, &options).expect("they can be compared")));
            }
            Self::Convert(from, to) => {
                let model = Model::open(folder.join(from))?;
                // NPZ has no bf16.
                let dtype = if to == "npz" { OutputType::F16 } else { OutputType::Bf16 };
                let options =
                    ConvertOptions::new("-").to(to).names(Names::Keep).dtype(dtype).threads(one);
                let mut out = Vec::new();
                twice(|| {
                    out.clear();
                    convert_to(&model, &options, &mut out).expect("it can be converted");
                });
            }
        }
        Ok(())
    }
}

fn open(path: &Path) {
    let model = Model::open(path).expect("it opens");
    let report = inspect(&model, &InspectOptions::default()).expect("it is whole");
    assert!(report.problems.is_empty() && report.weights > 0);
}

fn decode(weight: &Weight, rows: u64, output: Output) {
    match output {
        Output::F32 => decode_as::<f32>(weight, rows),
        Output::Bf16 => decode_as::<bf16>(weight, rows),
        Output::F16 => decode_as::<f16>(weight, rows),
    }
}

fn decode_as<T: Element>(weight: &Weight, rows: u64) {
    let columns = weight.rows_and_columns().1;
    let mut out = vec![T::default(); (rows * columns) as usize];
    let mut scratch = Scratch::default();
    twice(|| weight.decode_rows_with(0..rows, &mut out, &mut scratch).expect("it decodes"));
}
