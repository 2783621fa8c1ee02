//! How much memory a conversion takes: not more for a longer row, and not more than the limits
//! allow. Also what is left when the process has to end at once. One test at a time, because
//! memory and unfinished files are the whole process's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use weighbridge::ops::{ConvertOptions, OutputType};
use weighbridge::output::{Destination as _, LocalFile, discard_unfinished};
use weighbridge::{ErrorKind, FileAccess, Limits, OpenOptions, Remedy, ops};

/// Counts the bytes that are allocated.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A GGUF file of one tensor of zeros, which takes no space on the disk.
fn sparse_gguf(path: &Path, kind: u32, dimensions: &[u64], bytes: u64) {
    let mut header = b"GGUF".to_vec();
    header.extend(3u32.to_le_bytes());
    header.extend([1u64, 0, 1].map(u64::to_le_bytes).concat());
    header.push(b't');
    header.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
    header.extend(dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()));
    header.extend(kind.to_le_bytes());
    header.extend(0u64.to_le_bytes());
    header.resize(header.len().next_multiple_of(32), 0);
    let mut file = File::create(path).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(header.len() as u64 + bytes).unwrap();
}

/// Hashes are made of tiles, however large a tensor is.
#[test]
fn a_hash_takes_no_more_memory_for_a_larger_tensor() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    const ELEMENTS: u64 = 2 << 20;
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.gguf");
    for (kind, bytes, elements) in [(0, 4, 1), (8, 34, 32)] {
        sparse_gguf(&input, kind, &[ELEMENTS / 64, 64], ELEMENTS / elements * bytes);
        let model = OpenOptions::new().access(FileAccess::Read).open(&input).unwrap();
        for values in [false, true] {
            let before = HELD.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            let report = ops::hash(&model, &ops::HashOptions::default().values(values)).unwrap();
            assert_eq!(
                report.bytes,
                if values { ELEMENTS * 4 } else { ELEMENTS / elements * bytes }
            );
            let peak = PEAK.load(Ordering::Relaxed) - before;
            assert!(peak < 4 << 20, "type {kind}, values {values}: {peak} bytes");
        }
    }
}

#[test]
fn a_long_row_takes_no_more_memory_than_a_short_one() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    const ELEMENTS: u64 = 8 << 20;
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.gguf");
    // F32, Q8_0 and Q6_K with the bytes of their blocks.
    for (kind, bytes, elements) in [(0, 4, 1), (8, 34, 32), (14, 210, 256)] {
        for dimensions in [&[ELEMENTS, 1][..], &[ELEMENTS], &[512, ELEMENTS / 1024, 2]] {
            sparse_gguf(&input, kind, dimensions, ELEMENTS / elements * bytes);
            let limits = Limits::default().max_allocation(4 << 20);
            let opener = OpenOptions::new().access(FileAccess::Read).limits(limits);
            let model = opener.open(&input).unwrap();
            let options = ConvertOptions::new(folder.path().join("out.safetensors"));
            let before = HELD.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            ops::convert(&model, &options.dtype(OutputType::Bf16).force(true)).unwrap();
            let peak = PEAK.load(Ordering::Relaxed) - before;
            assert!(peak < 4 << 20, "type {kind} {dimensions:?}: {peak} bytes");
        }
    }
}

/// A scheme that decodes whole rows is held to the limit for one buffer, before anything is
/// written.
#[test]
fn rows_that_are_too_long_are_refused_when_planned() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let config = r#"{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128,"checkpoint_format":"gptq"}}"#;
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    // 8 outputs of 1 Mi inputs: a row takes 4 MiB of f32.
    let header = r#"{"a.qweight":{"dtype":"I32","shape":[131072,8],"data_offsets":[0,4194304]},"a.qzeros":{"dtype":"I32","shape":[8192,1],"data_offsets":[4194304,4227072]},"a.scales":{"dtype":"F16","shape":[8192,8],"data_offsets":[4227072,4358144]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + 4_358_144, 0);
    let input = folder.path().join("model.safetensors");
    std::fs::write(&input, file).unwrap();
    let target = folder.path().join("out.safetensors");
    let convert = |limit, dry_run| {
        let opener = OpenOptions::new().limits(Limits::default().max_allocation(limit));
        let model = opener.access(FileAccess::Read).open(&input).unwrap();
        ops::convert(&model, &ConvertOptions::new(&target).dry_run(dry_run))
    };
    for dry_run in [true, false] {
        let error = convert(1 << 20, dry_run).unwrap_err();
        assert_eq!((error.kind(), error.tensor()), (ErrorKind::Limit, Some("a.weight")));
        assert!(error.message().contains("4194304 bytes"), "{error}");
        assert!(error.remedies().contains(&Remedy::RaiseLimit("max_allocation")), "{error}");
        assert!(!target.exists());
    }
    assert_eq!(convert(4 << 20, false).unwrap().files[0].tensors, 1);
}

/// A safetensors file of many tensors of one byte.
fn many_tensors(count: usize) -> Vec<u8> {
    let entry = |index: usize| {
        let end = index + 1;
        format!(r#""t{index}":{{"dtype":"U8","shape":[1],"data_offsets":[{index},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..count).map(entry).collect::<Vec<_>>().join(","));
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &vec![0; count]].concat()
}

/// A pickle of a list that holds a list again and again, which holds a tensor again and again: a few
/// kilobytes that list millions of tensors. The tensor has no storage, which is a problem of each.
fn lists_in_lists() -> Vec<u8> {
    let tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00K\x01\x85K\x01\x85\x89NtR";
    let inner = [&b"]("[..], tensor, b"q\x01", &b"h\x01".repeat(8000), b"e"].concat();
    [&b"\x80\x02]("[..], &inner, b"q\x02", &b"h\x02".repeat(4800), b"e."].concat()
}

/// Lists of tensors, reports and plans are counted: a limit that is met is an error before the memory
/// is gone.
#[test]
fn lists_are_held_to_the_total() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    const TOTAL: u64 = 64 << 20;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let [mut opened, mut planned] = [0, 0];
    for count in [10_000, 40_000, 80_000, 200_000] {
        let path = folder.path().join("many.safetensors");
        std::fs::write(&path, many_tensors(count)).unwrap();
        let before = HELD.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let opener = OpenOptions::new().access(FileAccess::Read);
        let outcome =
            opener.limits(Limits::default().max_total(TOTAL)).open(&path).and_then(|model| {
                opened += 1;
                let tensors = ops::InspectOptions { tensors: true, ..Default::default() };
                let listed = ops::inspect(&model, &tensors).map(drop);
                let plan =
                    ops::convert(&model, &ConvertOptions::new(&target).dry_run(true)).map(drop);
                planned += usize::from(plan.is_ok());
                let compared = ops::diff(&model, &model, &ops::DiffOptions::default()).map(drop);
                listed.and(plan).and(compared)
            });
        let peak = PEAK.load(Ordering::Relaxed) - before;
        // A table that grows is there twice for a moment, as this allocator counts.
        assert!(peak as u64 <= TOTAL / 2 * 3, "{count} tensors: {peak} bytes");
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            assert!(error.remedies().contains(&Remedy::RaiseLimit("max_total")), "{error}");
        }
    }
    assert!(opened > planned && planned > 0, "{opened} were opened, {planned} planned");
}

#[test]
fn a_small_pickle_of_many_tensors_is_held_to_the_total() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    const TOTAL: u64 = 64 << 20;
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let opener = OpenOptions::new().limits(Limits::default().max_total(TOTAL));
    let error = opener.open_bytes(lists_in_lists(), "small.pth").unwrap_err();
    let peak = PEAK.load(Ordering::Relaxed) - before;
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.remedies().contains(&Remedy::RaiseLimit("max_total")), "{error}");
    assert!(peak as u64 <= TOTAL / 2 * 3, "{peak} bytes");
}

#[test]
fn what_is_unfinished_can_be_discarded() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let places = ["a", "b"].map(|name| LocalFile::new(&folder.path().join(name), false));
    let _files = places.each_ref().map(|place| place.create("", 1000).unwrap());
    assert_eq!(files(), 2);
    discard_unfinished();
    assert_eq!(files(), 0);
}
