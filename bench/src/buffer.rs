//! An output buffer that begins on a cache line and is reused for every element type.
#![allow(unsafe_code)]

use weighbridge::schemes::Element;

/// A cache line; its bytes are seen through the views only.
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
        // SAFETY: every bit pattern is an `f32`, `bf16` or `f16`, the only elements there are; the
        // memory is initialised, long enough, aligned to 64 and borrowed for as long as the view.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }

    /// Its first `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.0.len() * 64);
        // SAFETY: as above, for bytes.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}
