//! A source of bytes from outside the library: a model opens and decodes as from a mapped file, with
//! no more reads than promised.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weighbridge::{Model, OpenOptions, ReadAt, ReadRange};

use crate::common::root;

/// Bytes behind a slow line, which counts what it is asked for.
struct Counting {
    bytes: Vec<u8>,
    has_latency: bool,
    reads: AtomicUsize,
    calls_of_ranges: AtomicUsize,
    ranges: AtomicUsize,
}

impl Counting {
    fn copy(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = start.checked_add(out.len()).and_then(|end| self.bytes.get(start..end));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// Single reads, calls for several ranges, and ranges since this was last asked.
    fn asked(&self) -> [usize; 3] {
        [&self.reads, &self.calls_of_ranges, &self.ranges].map(|n| n.swap(0, Ordering::Relaxed))
    }
}

impl ReadAt for Counting {
    fn len(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.copy(offset, out)
    }

    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        self.calls_of_ranges.fetch_add(1, Ordering::Relaxed);
        self.ranges.fetch_add(ranges.len(), Ordering::Relaxed);
        ranges.iter_mut().try_for_each(|range| self.copy(range.offset, range.out))
    }

    fn has_latency(&self) -> bool {
        self.has_latency
    }
}

fn open(path: &Path, has_latency: bool) -> (Model, Arc<Counting>) {
    let source = Arc::new(Counting {
        bytes: std::fs::read(path).unwrap(),
        has_latency,
        reads: AtomicUsize::new(0),
        calls_of_ranges: AtomicUsize::new(0),
        ranges: AtomicUsize::new(0),
    });
    let name = path.to_str().unwrap();
    let model = OpenOptions::new().open_read_at(source.clone(), name).unwrap();
    (model, source)
}

const SAMPLES: [&str; 8] = [
    "names/llama/hf/model.safetensors",
    "names/qwen3-q8/model.gguf",
    "gguf/big-endian-blocks.gguf",
    "gguf/tensor-types.gguf",
    "npy/fortran-big-endian.npy",
    "npz/deflated.npz",
    "pth/views.pth",
    "bnb/nf4-plain/model.safetensors",
];

#[test]
fn values_are_those_of_a_map() {
    for sample in SAMPLES {
        let path = root().join("tests/files").join(sample);
        let mapped = Model::open(&path).unwrap();
        for has_latency in [false, true] {
            let (model, _) = open(&path, has_latency);
            assert_eq!(model.weights().count(), mapped.weights().count(), "{sample}");
            for (a, b) in model.weights().zip(mapped.weights()) {
                assert_eq!((a.name(), a.shape()), (b.name(), b.shape()));
                let [mut found, mut wanted] = [vec![0f32; a.len()], vec![0f32; b.len()]];
                match (a.decode_into(&mut found), b.decode_into(&mut wanted)) {
                    (Ok(()), Ok(())) => assert!(same(&found, &wanted), "{sample} {}", a.name()),
                    (found, wanted) => {
                        let [found, wanted] = [found, wanted].map(|it| it.unwrap_err().to_string());
                        assert_eq!(found, wanted, "{sample}");
                    }
                }
            }
        }
    }
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
}

/// Decoding a weight is one call, however many tensors it is made of.
#[test]
fn what_a_decode_needs_is_one_call() {
    let path = root().join("tests/files/bnb/nf4-plain/model.safetensors");
    let (model, source) = open(&path, true);
    source.asked();
    let mut several = 0;
    for weight in model.weights().filter(|weight| weight.scheme() == "bnb") {
        weight.decode_into(&mut vec![0f32; weight.len()]).unwrap();
        let [reads, calls, ranges] = source.asked();
        assert_eq!((reads, calls), (0, 1), "{}", weight.name());
        several += usize::from(ranges > 1);
    }
    assert!(several > 0);
}

/// A header is not read a field at a time.
#[test]
fn a_header_takes_few_reads() {
    let (_, source) = open(&root().join("tests/files/gguf/tensor-types.gguf"), true);
    let [reads, calls, _] = source.asked();
    assert!((1..=4).contains(&(reads + calls)), "{reads} {calls}");
}
