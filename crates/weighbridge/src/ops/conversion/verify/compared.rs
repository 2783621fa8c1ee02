//! A sink that compares each tile with the bytes of an existing file.

use std::sync::Mutex;

use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::pipeline::{Action, Job, OutputTensor, Sink, Tile, announce_part};
use crate::source::{Slab, Source};
use crate::stop::{into_inner, lock};

/// How many elements of a tensor differ, and the first of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Difference {
    pub(super) count: u64,
    /// Its index, the expected bytes, the bytes found.
    pub(super) first: Option<(u64, Vec<u8>, Vec<u8>)>,
}

/// A tensor of the output that is checked, and its file.
/// A stored tensor, and what it lies in.
pub(super) type Stored<'a> = (&'a Source, &'a TensorInfo);

/// A tensor that a job makes, and what is found in its place.
pub(super) type Check<'a> = (&'a Job, &'a OutputTensor, Option<Stored<'a>>);

/// One tensor on both sides.
struct Pair<'a> {
    source: &'a Source,
    info: &'a TensorInfo,
    /// Bytes of an element or a block: what is compared as one.
    unit: usize,
    /// The element type, if any NaN equals any other: NaNs differ between machines.
    any_nan: Option<DType>,
    found: Mutex<Difference>,
}

/// Compares tiles with the tensors of an existing output.
pub(super) struct Compared<'a> {
    /// By the number of the tensor; `None` for one that is not compared.
    pairs: Vec<Option<Pair<'a>>>,
    /// Buffers that are free.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl<'a> Compared<'a> {
    /// Compares the tensors of jobs, in their order, with what was found in their place.
    pub(super) fn new(checks: &[Check<'a>]) -> Self {
        let pair = |(job, output, found): &Check<'a>| {
            let (source, info) = (*found)?;
            let is_copied = matches!(job.action, Action::Copy);
            Some(Pair {
                source,
                info,
                unit: unit(&output.stored),
                any_nan: output.stored.element().filter(|_| !is_copied),
                found: Mutex::default(),
            })
        };
        Self { pairs: checks.iter().map(pair).collect(), buffers: Mutex::default() }
    }

    /// The difference in each tensor.
    pub(super) fn differences(self) -> impl Iterator<Item = Difference> {
        let found = |pair: Pair<'a>| into_inner(pair.found);
        self.pairs.into_iter().map(move |pair| pair.map(found).unwrap_or_default())
    }
}

impl Sink for Compared<'_> {
    fn announce(&self, tensor: usize) {
        if let Some(Some(pair)) = self.pairs.get(tensor) {
            announce_part(pair.source, pair.info);
        }
    }

    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        let Some(Some(pair)) = self.pairs.get(tile.tensor) else { return Ok(()) };
        let mut buffer = lock(&self.buffers).pop().unwrap_or_default();
        let slab = Slab::whole(0, tile.at, bytes.len() as u64);
        let there = pair.source.fetch(pair.info, &slab, &mut buffer)?.bytes();
        if there != bytes {
            pair.compare(tile.at, bytes, there);
        }
        lock(&self.buffers).push(buffer);
        Ok(())
    }
}

impl Pair<'_> {
    fn compare(&self, at: u64, wanted: &[u8], there: &[u8]) {
        // A tile of bytes may begin in the middle of a block.
        let first_index = at / self.unit as u64;
        let begun = usize::try_from(at % self.unit as u64).unwrap_or(0);
        let lead = (self.unit - begun).min(wanted.len());
        let both = units(wanted, lead, self.unit).zip(units(there, lead, self.unit));
        let nan = |bytes: &[u8]| self.any_nan.is_some_and(|dtype| is_nan(dtype, bytes));
        let is_other = |a: &[u8], b: &[u8]| a != b && !(nan(a) && nan(b));
        let (mut count, mut first) = (0, None);
        for (index, (a, b)) in (first_index..).zip(both).filter(|(_, (a, b))| is_other(a, b)) {
            count += 1;
            first.get_or_insert_with(|| (index, a.to_vec(), b.to_vec()));
        }
        let mut found = lock(&self.found);
        found.count += count;
        // Tiles come in any order.
        let earlier = |old: &(u64, _, _)| first.as_ref().is_some_and(|new| new.0 < old.0);
        if found.first.as_ref().is_none_or(earlier) {
            found.first = first.or(found.first.take());
        }
    }
}

/// The first `lead` bytes, then all others in units.
fn units(bytes: &[u8], lead: usize, unit: usize) -> impl Iterator<Item = &[u8]> {
    let (first, rest) = bytes.split_at(lead);
    std::iter::once(first).chain(rest.chunks(unit))
}

fn unit(stored: &StoredType) -> usize {
    match stored {
        StoredType::Element(dtype) => (dtype.bits() as usize).div_ceil(8),
        StoredType::Block(block) => block.bytes as usize,
        StoredType::Opaque(_) => 1,
    }
}

fn is_nan(dtype: DType, bytes: &[u8]) -> bool {
    number(dtype, bytes).is_some_and(f64::is_nan)
}

/// A number of one of the types that are written.
pub(super) fn number(dtype: DType, bytes: &[u8]) -> Option<f64> {
    match (dtype, bytes) {
        (DType::F32, &[a, b, c, d]) => Some(f32::from_le_bytes([a, b, c, d]).into()),
        (DType::F16, &[a, b]) => Some(half::f16::from_le_bytes([a, b]).into()),
        (DType::BF16, &[a, b]) => Some(half::bf16::from_le_bytes([a, b]).into()),
        (DType::F64, bytes) => bytes.try_into().ok().map(f64::from_le_bytes),
        _ => None,
    }
}
