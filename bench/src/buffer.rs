//! An output buffer that begins on a cache line and is reused for every element type.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, alloc_zeroed};
use std::marker::PhantomData;

use weighbridge::Element;

/// A cache line; its bytes are accessed only through the views.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(#[allow(dead_code)] [u8; 64]);

/// Memory whose pages have been touched.
pub struct Buffer(Vec<Line>);

impl Buffer {
    /// Room for `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self(vec![Line([1; 64]); bytes.div_ceil(64)])
    }

    /// Its first `len` elements.
    pub fn view<T: Element>(&mut self, len: usize) -> &mut [T] {
        assert!(len * size_of::<T>() <= self.0.len() * 64);
        // SAFETY: every bit pattern is an `f32`, `bf16` or `f16`, and there are no other elements;
        // the memory is initialised, long enough, aligned to 64 and borrowed as long as the view.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }

    /// Its first `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.0.len() * 64);
        // SAFETY: as above, for bytes.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// New memory for `len` numbers, handed to `write` as it comes from the allocator: not zeroed, not
/// touched. `write` must write all of it and read none of it.
pub fn unzeroed<T: Copy>(len: usize, write: impl FnOnce(&mut [T])) -> Vec<T> {
    // SAFETY: the layout that `taken` asks for is not empty. The numbers are plain bits, and
    // `write` writes each before anyone reads it.
    let mut numbers = unsafe { taken(len, |layout| alloc(layout)) };
    write(&mut numbers);
    numbers
}

/// New memory for `len` numbers that the system zeroes.
pub fn zeroed<T: Element>(len: usize) -> Vec<T> {
    // SAFETY: the layout that `taken` asks for is not empty. Zero bits are a number of each type.
    unsafe { taken(len, |layout| alloc_zeroed(layout)) }
}

/// A vector in memory that `take` takes from the global allocator.
///
/// # Safety
/// The memory must come from the allocator, have that layout, and hold numbers before they are
/// read.
unsafe fn taken<T>(len: usize, take: impl FnOnce(Layout) -> *mut u8) -> Vec<T> {
    let layout = Layout::array::<T>(len).expect("it fits the address space");
    assert!(layout.size() > 0);
    let memory = take(layout).cast::<T>();
    assert!(!memory.is_null(), "there is memory");
    // SAFETY: the caller's promise; the layout is that of `len` numbers.
    unsafe { Vec::from_raw_parts(memory, len, len) }
}

/// New memory, requested in pages of 2 MiB, which the system zeroes as they are touched.
pub struct HugePages<T> {
    map: *mut libc::c_void,
    bytes: usize,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Element> HugePages<T> {
    const PAGE: usize = 2 << 20;

    /// Room for `len` numbers.
    pub fn new(len: usize) -> Self {
        // One page more, so that the numbers can begin on a page boundary.
        let bytes = (len * size_of::<T>()).next_multiple_of(Self::PAGE) + Self::PAGE;
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address of the kernel's choice.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        assert!(map != libc::MAP_FAILED, "there is memory");
        // SAFETY: advice about the memory just taken; it may be refused.
        unsafe { libc::madvise(map, bytes, libc::MADV_HUGEPAGE) };
        Self { map, bytes, len, of: PhantomData }
    }

    /// Its numbers.
    pub fn numbers(&mut self) -> &mut [T] {
        let skipped = self.map.addr().next_multiple_of(Self::PAGE) - self.map.addr();
        // SAFETY: `len` numbers fit after the skipped bytes; zero bits are a number of each type;
        // the memory is owned and borrowed for as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.map.byte_add(skipped).cast(), self.len) }
    }
}

impl<T> Drop for HugePages<T> {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what was mapped; nothing refers to it any more.
        unsafe { libc::munmap(self.map, self.bytes) };
    }
}
