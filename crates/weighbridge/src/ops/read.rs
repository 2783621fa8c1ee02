//! Reading several weights at once, into memory of the caller.

use std::ops::Range;
use std::sync::Mutex;

use super::Work;
use super::refuse_unreadable;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Model, Weight};
use crate::pipeline::{Tiled, announce_weight, held_at_once};
use crate::source::Source;
use crate::stop::lock;

/// Bytes of output that a worker makes at once: below what a single weight is worth a thread of its
/// own for, and large enough that a tile costs more than taking it.
const TILE: u64 = 4 << 20;

/// Stored bytes that a worker holds at once, of weights that are stored transposed.
const STAGED: u64 = 16 << 20;

/// A request to decode a weight, or some of its rows, into a buffer.
pub struct ReadInto<'a> {
    weight: Weight,
    rows: Range<u64>,
    dtype: DType,
    out: &'a mut [u8],
}

impl<'a> ReadInto<'a> {
    /// Requests a whole weight as `dtype`. The buffer must have exactly its size; see
    /// [`Weight::read_into`](crate::Weight::read_into).
    pub fn new(weight: Weight, dtype: DType, out: &'a mut [u8]) -> Self {
        let rows = 0..weight.rows_and_columns().0;
        Self { weight, rows, dtype, out }
    }

    /// Limits the request to these rows of the outermost dimension.
    #[must_use]
    pub fn rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Splits the request into tiles that workers decode in parallel.
    fn tiled(self, workers: usize) -> Result<Tiles<'a>> {
        let Self { weight, rows, dtype, out } = self;
        let count = rows.end.saturating_sub(rows.start);
        let columns = weight.rows_and_columns().1;
        let all_bytes = count.checked_mul(columns).and_then(|all| dtype.bytes_for(all));
        if count == 0
            || rows.end > weight.rows_and_columns().0
            || all_bytes != Some(out.len() as u64)
        {
            // Says what is wrong with them, if something is.
            weight.read_rows_into(rows.clone(), dtype, out)?;
            return Ok(Tiles { weight, rows, dtype, step: 1, outs: Vec::new() });
        }
        let row_bytes = dtype.bytes_for(columns);
        let step = match row_bytes {
            // Rows that share bytes, or that come front to back, are read together.
            None | Some(0) => count,
            Some(_) if weight.is_sequential() => count,
            // A few rows of a transposed weight are many small reads: as many as one buffer holds.
            Some(_) if weight.is_transposed() => {
                let staged = weight.staged_for_rows(rows.clone())?.div_ceil(count).max(1);
                (STAGED / staged).clamp(1, count.div_ceil(workers.max(1) as u64))
            }
            Some(row_bytes) => (TILE / row_bytes).clamp(1, count),
        };
        let len = step.saturating_mul(row_bytes.unwrap_or(u64::MAX));
        let len = usize::try_from(len).unwrap_or(usize::MAX).clamp(1, out.len().max(1));
        let outs = out.chunks_mut(len).map(Mutex::new).collect();
        Ok(Tiles { weight, rows, dtype, step, outs })
    }
}

/// The tiles of a request.
struct Tiles<'a> {
    weight: Weight,
    rows: Range<u64>,
    dtype: DType,
    step: u64,
    outs: Vec<Mutex<&'a mut [u8]>>,
}

impl Tiles<'_> {
    fn is_whole(&self) -> bool {
        self.rows == (0..self.weight.rows_and_columns().0)
    }
}

impl Tiled for Tiles<'_> {
    type Buffers = ();

    fn tiles(&self) -> u64 {
        self.outs.len() as u64
    }

    fn is_sequential(&self) -> bool {
        self.weight.is_sequential()
    }

    fn announce(&self) {
        // Of a few rows, only those are fetched, when they are read.
        if self.is_whole() {
            announce_weight(&self.weight);
        }
    }

    fn tile(&self, (): &mut (), tile: u64) -> Result<u64> {
        let out = usize::try_from(tile).ok().and_then(|tile| self.outs.get(tile));
        let out = out.ok_or_else(|| Error::usage("no such tile"))?;
        let mut out = lock(out);
        let start = self.rows.start + tile * self.step;
        let rows = start..start.saturating_add(self.step).min(self.rows.end);
        self.weight.read_rows_into(rows, self.dtype, &mut out)?;
        Ok(out.len() as u64)
    }
}

/// Decodes several weights into the caller's buffers, on all threads of `work`.
///
/// Like every operation, it rejects weights with [findings](crate::Model::findings). It returns an
/// error if a file changed since the model was opened, or if an archive does not match its checksums.
/// Checksums are not verified for a request of a few rows, since that would read the whole archive.
/// After an error, the contents of the buffers are unspecified.
///
/// ```no_run
/// use weighbridge::ops::{self, ReadInto, Work};
/// use weighbridge::{DType, Model};
/// let model = Model::open("model.gguf")?;
/// let sizes = model.weights().map(|weight| weight.len() * 4);
/// let mut memory: Vec<Vec<u8>> = sizes.map(|bytes| vec![0; bytes]).collect();
/// let all = model.weights().zip(&mut memory);
/// let all = all.map(|(weight, out)| ReadInto::new(weight, DType::F32, out)).collect();
/// ops::read(all, &Work::new())?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn read(requests: Vec<ReadInto<'_>>, work: &Work) -> Result<()> {
    refuse_problems(&requests)?;
    let total = requests.iter().map(|request| request.out.len() as u64).sum();
    // Asking how many threads there are costs more than a short read.
    let workers = if total <= TILE { 1 } else { work.workers() };
    let is_whole = |one: &ReadInto<'_>| one.rows == (0..one.weight.rows_and_columns().0);
    let sums_are_cheap = requests.iter().all(is_whole);
    let tiled: Vec<Tiles<'_>> =
        requests.into_iter().map(|request| request.tiled(workers)).collect::<Result<_>>()?;
    let models: Vec<&Model> =
        by_model(tiled.iter().map(|one| &one.weight)).into_iter().map(|(model, _)| model).collect();
    let held = tiled.iter().filter(|one| one.is_whole());
    let held = held.map(|one| (held_at_once(&one.weight), one.weight.name()));
    work.grant_ahead(&models, 0, held)?;
    work.pool(workers, &work.reporter(total)).run(&tiled)?;
    check(&tiled, sums_are_cheap, work)
}

/// An error if a problem of their models affects the weights.
fn refuse_problems(requests: &[ReadInto<'_>]) -> Result<()> {
    by_model(requests.iter().map(|request| &request.weight))
        .into_iter()
        .try_for_each(|(model, names)| refuse_unreadable(model, &names))
}

/// The models of weights, each with the names of its own.
fn by_model<'w>(weights: impl Iterator<Item = &'w Weight>) -> Vec<(&'w Model, Vec<&'w str>)> {
    let mut models: Vec<(&Model, Vec<&str>)> = Vec::new();
    for weight in weights {
        let is_its_own = |(model, _): &&mut (&Model, _)| {
            std::ptr::eq(model.sources().as_ptr(), weight.model().sources().as_ptr())
        };
        match models.iter_mut().find(is_its_own) {
            Some((_, names)) => names.push(weight.name()),
            None => models.push((weight.model(), vec![weight.name()])),
        }
    }
    models
}

/// An error if what was read is not what it was when the model was opened, or has other checksums
/// than its archive states.
fn check(read: &[Tiles<'_>], with_sums: bool, work: &Work) -> Result<()> {
    let parts = || read.iter().flat_map(|one| one.weight.parts());
    let mut checked: Vec<&Source> = Vec::new();
    for (_, source, _) in parts() {
        // Neighbours mostly lie in the same file.
        if checked.iter().rev().any(|seen| std::ptr::eq(*seen, source)) {
            continue;
        }
        checked.push(source);
        let catalog = source.catalog();
        if with_sums && !(catalog.summed.is_empty() && catalog.members.is_empty()) {
            let own = parts().filter(|(_, of, _)| std::ptr::eq(*of, source));
            source.check_sums_of(own.map(|(.., tensor)| tensor), &|| work.refuse_cancelled())?;
        }
        source.input().refuse_changed()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(path: &str) -> Model {
        let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files");
        Model::open(files.join(path)).unwrap()
    }

    #[test]
    fn many_are_read_as_each_is_alone() {
        for path in
            ["names/llama/hf", "npz/deflated.npz", "pth/views.pth", "gguf/tensor-types.gguf"]
        {
            let model = sample(path);
            let readable = |weight: &Weight| weight.undecodable().is_none();
            let weights: Vec<Weight> = model.weights().filter(readable).collect();
            let alone: Vec<Vec<u8>> =
                weights.iter().map(|weight| weight.read_to_vec(DType::F32).unwrap()).collect();
            let mut together: Vec<Vec<u8>> = alone.iter().map(|one| vec![1; one.len()]).collect();
            let requests = weights.iter().zip(&mut together);
            let requests =
                requests.map(|(weight, out)| ReadInto::new(weight.clone(), DType::F32, out));
            read(requests.collect(), &Work::new()).unwrap();
            assert_eq!(alone, together, "{path}");
        }
    }

    /// One shard of a repository, without its config: nobody knows what its packed tensors are.
    #[test]
    fn what_converting_refuses_is_not_read_either() {
        for path in [
            "nvfp4/modelopt/model-00002-of-00002.safetensors",
            "awq/gemm-g32/model-00002-of-00002.safetensors",
            "mixed/modelopt/model-00001-of-00003.safetensors",
        ] {
            let model = sample(path);
            let weight = model.weights().find(|weight| weight.undecodable().is_none()).unwrap();
            assert!(refuse_unreadable(&model, &[weight.name()]).is_err(), "{path}");
            let mut out = vec![0; weight.len() * 4];
            assert!(read(vec![ReadInto::new(weight, DType::F32, &mut out)], &Work::new()).is_err());
        }
        // A problem of one weight is none of the others'.
        let model = sample("pth/odd_keys.pth");
        let is_read = |name: &str| refuse_unreadable(&model, &[name]).is_ok();
        let mut others = model.weights().filter(|weight| weight.name() != "a.b");
        assert!(!is_read("a.b") && others.all(|weight| is_read(weight.name())));
    }

    #[test]
    fn of_a_dangerous_file_nothing_is_read() {
        assert!(refuse_unreadable(&sample("pth/evil_truncated.pth"), &[]).is_err());
    }

    /// What is wrong with one member of an archive is nothing to those in others.
    #[test]
    fn a_damaged_weight_does_not_spoil_the_others() {
        let model = sample("pth/wrong_crc.pth");
        let read_one = |name: &str| {
            let weight = model.weight(name).unwrap();
            let mut out = vec![0; weight.len() * 4];
            read(vec![ReadInto::new(weight, DType::F32, &mut out)], &Work::new())
        };
        assert!(read_one("fc.weight").is_err());
        read_one("fc.bias").unwrap();
    }

    #[test]
    fn a_wrong_length_is_an_error_and_cancelling_too() {
        let model = sample("names/llama/hf");
        let weight = model.weights().next().unwrap();
        let mut short = [0; 3];
        let request = ReadInto::new(weight.clone(), DType::F32, &mut short);
        assert!(read(vec![request], &Work::new()).is_err());
        let mut whole = vec![0; weight.len() * 4];
        let cancelled = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let request = ReadInto::new(weight, DType::F32, &mut whole);
        let error = read(vec![request], &Work::new().cancel(cancelled)).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
    }
}
