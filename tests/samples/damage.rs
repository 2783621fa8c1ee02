//! Every small sample cut short, and with one byte changed: an error or a right answer, without a
//! panic, a hang, or more memory than the limits allow.
#![allow(unsafe_code)]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::common::{small_files, stored, tensor_bytes};
use crate::trial;
use libtest_mimic::Trial;
use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{Limits, Model, OpenOptions, Result};

/// Counts what each thread holds, so that a lying header shows as memory.
struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Small enough that a file which escapes them is seen.
fn limits() -> Limits {
    Limits::default()
        .max_allocation(1 << 20)
        .max_total(2 << 20)
        .max_items(20_000)
        .max_pickle_steps(200_000)
}

/// What limits, buffers and reports of a small file may hold at once.
const MOST_HELD: i64 = 16 << 20;

fn open(name: &str, bytes: &[u8]) -> Result<Model> {
    OpenOptions::new().limits(limits()).open_bytes(bytes.to_vec(), name)
}

/// Opens, reports and reads everything; gives the values that could be read.
fn exercise(name: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Ok(model) = open(name, bytes) else {
        return Vec::new();
    };
    let options =
        InspectOptions { tensors: true, full_metadata: true, ..InspectOptions::default() };
    let _ = inspect(&model, &options).map(|report| serde_json::to_string(&report));
    // A larger one takes the time of many, and shows no more.
    let small = stored(&model).filter(|(_, tensor)| tensor.bytes <= 64 << 10);
    small.filter_map(|(s, t)| Some((t.name.to_string(), tensor_bytes(s, t).ok()?))).collect()
}

/// What a job gives, unless it held too much memory.
fn within_memory<T>(what: impl Fn() -> String, job: impl FnOnce() -> T) -> Result<T, String> {
    let before = HELD.get();
    PEAK.set(before);
    let done = job();
    let held = PEAK.get() - before;
    match held <= MOST_HELD {
        true => Ok(done),
        false => Err(format!("{} held {held} bytes", what())),
    }
}

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, bytes) in small_files(32 << 10) {
        let (name, bytes) = (Arc::<str>::from(name), Arc::<[u8]>::from(bytes));
        let (again, file) = (name.clone(), bytes.clone());
        trials.push(trial(format!("{name}::cut short"), move || every_prefix(&again, &file)));
        trials.push(trial(format!("{name}::changed bytes"), move || {
            every_changed_byte(&name, &bytes)
        }));
    }
    trials
}

/// Where a file of this length is damaged. If `WEIGHBRIDGE_EXHAUSTIVE` is set: everywhere at its
/// ends, where headers and directories are, and at every fifth byte between them, which is nearly
/// all payload. Else all over its first bytes and in places spread over the rest. The same in every
/// run.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let all = std::env::var_os("WEIGHBRIDGE_EXHAUSTIVE").is_some();
    let (front, back, step) = if all { (4096, 1024, 5) } else { (64, 0, (length / 64).max(1) | 1) };
    let dense = front.min(length);
    let tail = length.saturating_sub(back).max(dense);
    (0..dense).chain((dense..tail).step_by(step)).chain(tail..length)
}

fn every_prefix(name: &str, bytes: &[u8]) -> Result<(), String> {
    let mut whole: HashMap<String, Vec<Vec<u8>>> = HashMap::new();
    for (tensor, values) in exercise(name, bytes) {
        whole.entry(tensor).or_default().push(values);
    }
    let wrong_sums = wrong_sums(name, bytes);
    for len in places(bytes.len()) {
        let what = || format!("the first {len} bytes");
        let read = within_memory(what, || exercise(name, &bytes[..len]))?;
        for (tensor, values) in read {
            let is_known = whole.get(&tensor).is_some_and(|known| known.contains(&values));
            // What has lost its directory has lost the sum too.
            if !is_known && !wrong_sums.contains(&tensor) {
                return Err(format!("the first {len} bytes give other values for {tensor}"));
            }
        }
    }
    Ok(())
}

/// Tensors that are refused because their archive says that they should have another checksum.
fn wrong_sums(name: &str, bytes: &[u8]) -> Vec<String> {
    let Ok(model) = open(name, bytes) else { return Vec::new() };
    let refused = stored(&model).filter(|(source, tensor)| {
        tensor_bytes(source, tensor).is_err_and(|e| e.message().contains("has CRC-32"))
    });
    refused.map(|(_, tensor)| tensor.name.to_string()).collect()
}

fn every_changed_byte(name: &str, bytes: &[u8]) -> Result<(), String> {
    let mut changed = bytes.to_vec();
    for at in places(bytes.len()) {
        let old = bytes[at];
        for new in [old ^ 1, old ^ 0x80, 0xff, old.wrapping_add((at % 255) as u8)] {
            changed[at] = new;
            within_memory(|| format!("byte {at} = {new}"), || exercise(name, &changed))?;
        }
        changed[at] = old;
    }
    Ok(())
}
