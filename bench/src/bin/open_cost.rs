//! Opens and inspects one file and reports what that cost: a child of the `header-cost` table.
#![allow(unsafe_code, clippy::print_stdout, clippy::cast_possible_truncation, missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use weighbridge::ops::{InspectOptions, inspect};

struct Counting;

static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size() as u64, Ordering::Relaxed) + layout.size() as u64;
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let path = std::env::args().nth(1).expect("usage: open_cost FILE");
    let start = Instant::now();
    let model = weighbridge::Model::open(&path).expect("it opens");
    let report = inspect(&model, &InspectOptions::default()).expect("it can be inspected");
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0) * 1024
    };
    let payload: u64 = model.weights().map(|w| w.stored_bytes()).sum();
    println!(
        "{{\"header_bytes\":{},\"peak_heap\":{},\"anonymous\":{},\"peak_resident\":{},\"seconds\":{seconds}}}",
        report.file_bytes.saturating_sub(payload),
        PEAK.load(Ordering::Relaxed),
        field("RssAnon"),
        field("VmHWM"),
    );
}
