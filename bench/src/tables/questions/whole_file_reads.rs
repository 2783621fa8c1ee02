//! Comparing the values of every tensor of a pair, with each file read whole for each tensor,
//! mapped for each tensor, or opened once.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use weighbridge::ops::{self, DiffOptions, Values};
use weighbridge::{DType, FileAccess, Model, OpenOptions};

use crate::harness::{Contestant, Rounds, Row, contest};
use crate::random_blocks::Random;
use crate::table::{Table, seconds};
use crate::tables::scheme_decode::stored::{Fill, stored};
use crate::{Setting, child, fixtures};

/// 340 matrices of 3 MiB: 1.07 GB a side.
const TENSORS: usize = 340;
const SHAPE: [u64; 2] = [1536, 1024];
const LEN: usize = (SHAPE[0] * SHAPE[1]) as usize;
/// Tensors that are compared by reading both files whole for each; the time of all tensors is
/// estimated from them.
const SAMPLE: usize = 2;

pub fn measure(setting: &Setting) -> Table {
    let title =
        format!("compare the values of {TENSORS} tensors of two BF16 files of 1.07 GB, in memory");
    let mut table = Table::new("question-whole-file-reads", title);
    let pair = Pair::make(&setting.memory_data).expect("the pair can be written");
    let peer = Apr::find(&pair);
    let buffers = RefCell::new([vec![0f32; LEN], vec![0f32; LEN]]);
    let lowest = RefCell::new(Vec::new());
    let mut contestants = vec![
        pair.limit(),
        pair.diff("ops::diff, opened once, mapped, 1 worker", FileAccess::Map, 1, &lowest),
        pair.diff("ops::diff, opened once, mapped, 2 workers", FileAccess::Map, 2, &lowest),
        pair.diff(
            "ops::diff, opened once, positioned reads, 1 worker",
            FileAccess::Read,
            1,
            &lowest,
        ),
        pair.once("plain loop, both mapped once", &buffers, &lowest),
        pair.anew("plain loop, both mapped for each tensor", FileAccess::Map, &buffers, &lowest),
        pair.anew(
            "plain loop, both opened for positioned reads for each tensor",
            FileAccess::Read,
            &buffers,
            &lowest,
        ),
        pair.whole(&buffers),
        pair.whole_reused(&buffers),
    ];
    match &peer {
        Some(apr) => contestants.push(apr.contestant()),
        None => table.notes.push(
            "apr is missing: `cargo install apr-cli --version 0.72.3 --bin apr`, on the path or named by BENCH_APR".into(),
        ),
    }
    table.rows =
        contest(contestants, Rounds { warm_up: 1, timed: if setting.quick { 3 } else { 9 } });
    reckon(&mut table.rows);
    let lowest = lowest.into_inner();
    let (least, most) = lowest.iter().fold((f64::MAX, f64::MIN), |(least, most), &(_, cosine)| {
        (least.min(cosine), most.max(cosine))
    });
    assert!(most - least < 1e-9, "they differ: {lowest:?}");
    let each: Vec<_> = table.rows.iter().map(|row| (row.contestant.clone(), row.median)).collect();
    for (who, median) in each {
        table.figure(format!("{who}, per tensor"), seconds(median / TENSORS as f64));
    }
    table.figure("lowest cosine, all of ours", format!("{least:.12}"));
    if let Some(apr) = &peer {
        table.figure("apr: peak memory, and the start of what it says", apr.said());
    }
    table.notes.push(format!(
        "Those that read both files whole for each tensor compare the first {SAMPLE}, and the time of all is \
         estimated from that. Opening is timed. apr starts as a program of its own."
    ));
    table
}

const WHOLE: &str = "plain loop, both read whole for each tensor";
const WHOLE_REUSED: &str = "plain loop, both read whole for each tensor, into a reused buffer";

/// Estimates the times of all tensors from those of the few that were compared.
fn reckon(rows: &mut [Row]) {
    let factor = TENSORS as f64 / SAMPLE as f64;
    for row in rows.iter_mut().filter(|row| [WHOLE, WHOLE_REUSED].contains(&&*row.contestant)) {
        let Row { best, median, low, high, best_ratio, median_ratio, .. } = row;
        for value in [best, median, low, high, best_ratio, median_ratio] {
            *value *= factor;
        }
    }
}

/// The lowest cosine that each contestant found.
type Lowest = RefCell<Vec<(String, f64)>>;
/// Where a tensor of each side is decoded to.
type Buffers = RefCell<[Vec<f32>; 2]>;

/// Two files that differ in the last bit of a third of their numbers; removed when this is dropped.
struct Pair {
    folder: PathBuf,
    paths: [PathBuf; 2],
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Pair {
    fn make(data: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::FileExt;
        let folder = data.join("question-pair");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let paths = ["a", "b"].map(|name| folder.join(name).with_extension("safetensors"));
        let pair = Self { folder, paths };
        let name = |index| format!("model.layers.{index}.mlp.up_proj.weight");
        let planned: Vec<_> =
            (0..TENSORS).map(|index| (name(index), DType::BF16, SHAPE.to_vec())).collect();
        let layout = fixtures::safetensors_layout(&planned, "pt")?;
        let files = [File::create(&pair.paths[0])?, File::create(&pair.paths[1])?];
        for file in &files {
            file.write_all_at(&layout.fixed[0].bytes, 0)?;
        }
        let mut bytes = vec![0; 2 * LEN];
        let mut random = Random(20_261_116);
        for at in &layout.places {
            stored("", DType::BF16, &SHAPE, Fill::Biases).fill(&mut bytes, &mut random);
            files[0].write_all_at(&bytes, *at)?;
            bytes.iter_mut().step_by(6).for_each(|byte| *byte ^= 1);
            files[1].write_all_at(&bytes, *at)?;
        }
        Ok(pair)
    }

    fn open(&self, access: FileAccess) -> [Model; 2] {
        let options = OpenOptions::new().access(access);
        [0, 1].map(|side| options.open(&self.paths[side]).expect("it opens"))
    }

    fn limit(&self) -> Contestant<'_> {
        Contestant::timed("limit: every byte of both read once, mapped", || {
            let models = self.open(FileAccess::Map);
            models.iter().flat_map(Model::weights).fold(0u64, |sum, weight| {
                let words = weight.bytes().expect("lent").as_chunks::<8>().0.iter();
                words.fold(sum, |sum, word| sum ^ u64::from_le_bytes(*word))
            })
        })
    }

    fn diff<'a>(
        &'a self,
        name: &'a str,
        access: FileAccess,
        workers: usize,
        lowest: &'a Lowest,
    ) -> Contestant<'a> {
        let workers = NonZeroUsize::new(workers).expect("there is one");
        let options = DiffOptions::default().values(Values::All).threads(workers);
        timed(name, lowest, move || {
            let [a, b] = self.open(access);
            let report = ops::diff(&a, &b, &options).expect("they compare");
            assert_eq!(report.summary.compared, TENSORS as u64);
            report.summary.min_cosine.expect("values were compared")
        })
    }

    fn once<'a>(
        &'a self,
        name: &'a str,
        buffers: &'a Buffers,
        lowest: &'a Lowest,
    ) -> Contestant<'a> {
        timed(name, lowest, move || {
            let models = self.open(FileAccess::Map);
            least((0..TENSORS).map(|index| compare(&models, index, buffers)))
        })
    }

    fn anew<'a>(
        &'a self,
        name: &'a str,
        access: FileAccess,
        buffers: &'a Buffers,
        lowest: &'a Lowest,
    ) -> Contestant<'a> {
        timed(name, lowest, move || {
            least((0..TENSORS).map(|index| compare(&self.open(access), index, buffers)))
        })
    }

    fn whole<'a>(&'a self, buffers: &'a Buffers) -> Contestant<'a> {
        let name = WHOLE;
        self.sampled(name, buffers, move |path, index, out| {
            let bytes = std::fs::read(path).expect("it reads");
            decode(&OpenOptions::new().open_bytes(bytes, "whole").expect("it opens"), index, out);
        })
    }

    fn whole_reused<'a>(&'a self, buffers: &'a Buffers) -> Contestant<'a> {
        let name = WHOLE_REUSED;
        let mut held = Shared(Arc::default());
        self.sampled(name, buffers, move |path, index, out| {
            let mut file = File::open(path).expect("it opens");
            let len = file.metadata().expect("it can be asked").len() as usize;
            let bytes = Arc::get_mut(&mut held.0).expect("the model before is gone");
            bytes.resize(len, 0);
            file.read_exact(bytes).expect("it reads");
            let model = OpenOptions::new().open_bytes(held.clone(), "whole");
            decode(&model.expect("it opens"), index, out);
        })
    }

    /// The first few tensors: see [`reckon`].
    fn sampled<'a>(
        &'a self,
        name: &'a str,
        buffers: &'a Buffers,
        mut load: impl FnMut(&Path, usize, &mut [f32]) + 'a,
    ) -> Contestant<'a> {
        // The lowest of a few is not the lowest of all: it is compared only with itself.
        let expected =
            least((0..SAMPLE).map(|index| compare(&self.open(FileAccess::Map), index, buffers)));
        Contestant::reporting(name, move || {
            let start = Instant::now();
            let found = least((0..SAMPLE).map(|index| {
                let [a, b] = &mut *buffers.borrow_mut();
                load(&self.paths[0], index, a);
                load(&self.paths[1], index, b);
                cosine(a, b)
            }));
            let seconds = start.elapsed().as_secs_f64();
            assert!((found - expected).abs() < 1e-12, "{name} found {found}, not {expected}");
            seconds
        })
        .turns(4)
    }
}

/// A buffer that a model may hold for a while.
#[derive(Clone)]
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A contestant that finds the lowest cosine of all tensors.
fn timed<'a>(
    name: &'a str,
    lowest: &'a Lowest,
    mut job: impl FnMut() -> f64 + 'a,
) -> Contestant<'a> {
    Contestant::reporting(name, move || {
        let start = Instant::now();
        let found = job();
        let seconds = start.elapsed().as_secs_f64();
        lowest.borrow_mut().push((name.to_owned(), found));
        seconds
    })
}

fn least(cosines: impl Iterator<Item = f64>) -> f64 {
    cosines.fold(f64::INFINITY, f64::min)
}

fn compare(models: &[Model; 2], index: usize, buffers: &Buffers) -> f64 {
    let [a, b] = &mut *buffers.borrow_mut();
    decode(&models[0], index, a);
    decode(&models[1], index, b);
    cosine(a, b)
}

fn decode(model: &Model, index: usize, out: &mut [f32]) {
    let weight = model.weights().nth(index).expect("it is there");
    weight.decode_into(out).expect("it decodes");
}

/// The cosine of the angle between two lists of numbers, summed in eight lanes.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [[0f64; 8]; 3];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for lane in 0..8 {
            let (a, b) = (f64::from(a[lane]), f64::from(b[lane]));
            sums[0][lane] += a * b;
            sums[1][lane] += a * a;
            sums[2][lane] += b * b;
        }
    }
    let [dot, aa, bb] = sums.map(|lanes| lanes.iter().sum::<f64>());
    dot / (aa.sqrt() * bb.sqrt())
}

/// aprender's command.
struct Apr {
    command: RefCell<Command>,
    /// The most memory it took, and what it said.
    last: RefCell<(u64, String)>,
}

impl Apr {
    fn find(pair: &Pair) -> Option<Self> {
        let program = std::env::var_os("BENCH_APR").unwrap_or_else(|| "apr".into());
        let mut probe = Command::new(&program);
        probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !probe.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let mut command = Command::new(program);
        command.arg("diff").args(&pair.paths).args(["--values", "--json", "--limit"]);
        command.arg(TENSORS.to_string());
        Some(Self { command: RefCell::new(command), last: RefCell::default() })
    }

    fn contestant(&self) -> Contestant<'_> {
        let name = "apr diff --values --json";
        Contestant::reporting(name, || {
            let cost = child::run(&mut self.command.borrow_mut()).expect("apr runs");
            let mut last = self.last.borrow_mut();
            *last = (last.0.max(cost.peak), cost.output);
            cost.wall
        })
    }

    fn said(&self) -> String {
        let (peak, said) = &*self.last.borrow();
        let words: Vec<_> = said.split_whitespace().take(40).collect();
        format!("{:.0} MiB; {}", *peak as f64 / f64::from(1 << 20), words.join(" "))
    }
}
