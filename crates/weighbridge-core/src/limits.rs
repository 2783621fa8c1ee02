//! Limits on the memory and work that a file may cause.
//!
//! Every length that a file states is charged against a [`Budget`] before memory is allocated. A
//! header with false sizes causes an error instead of exhausting memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Remedy, Result};

/// Largest expansion from stored to decoded bytes that needs no confirmation. The densest types
/// grow 30-fold in f32; larger factors mean that stored bytes repeat.
pub const MOST_EXPANSION: u64 = 1000;

/// Limits on the cost of opening and reading a model.
///
/// The defaults open every real model we know of and stop hostile files early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest single allocation, in bytes.
    pub max_allocation: u64,
    /// The total memory for one model's headers and metadata, in bytes. Lists derived from them,
    /// such as reports and plans, count too.
    pub max_total: u64,
    /// The total number of tensors, metadata entries, archive members and similar items.
    pub max_items: u64,
    /// The nesting depth of arrays, dictionaries and archives.
    pub max_depth: u32,
    /// The compression ratio: decompressed bytes per compressed byte.
    pub max_ratio: u64,
    /// The number of pickle instructions.
    pub max_pickle_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_allocation: 1 << 30,
            max_total: 2 << 30,
            max_items: 10_000_000,
            max_depth: 64,
            // Deflate itself cannot do better than 1032:1, and a tensor of zeros gets there. LZMA,
            // bzip2 and zstd can, with nothing but zeros: those are for the user to allow.
            max_ratio: 1100,
            max_pickle_steps: 50_000_000,
        }
    }
}

/// Declares setter methods for options, one per field: `name(value: Type) field = value;`.
#[macro_export]
macro_rules! setters {
    ($options:ty: $(
        $(#[$about:meta])* $name:ident($value:ident: $type:ty) $($field:ident).+ = $set:expr;
    )*) => {
        impl $options {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $name(mut self, $value: $type) -> Self {
                    self.$($field).+ = $set;
                    self
                }
            )*
        }
    };
}

setters! { Limits:
    /// Sets the largest single allocation, in bytes.
    max_allocation(value: u64) max_allocation = value;

    /// Sets the total memory for headers and metadata, in bytes.
    max_total(value: u64) max_total = value;

    /// Sets the total number of items.
    max_items(value: u64) max_items = value;

    /// Sets the nesting depth.
    max_depth(value: u32) max_depth = value;

    /// Sets the compression ratio.
    max_ratio(value: u64) max_ratio = value;

    /// Sets the number of pickle instructions.
    max_pickle_steps(value: u64) max_pickle_steps = value;
}

/// The remaining budget of one open: the limits minus what has been spent.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    bytes: AtomicU64,
    items: AtomicU64,
}

impl Budget {
    /// Creates a budget with nothing spent.
    pub fn new(limits: Limits) -> Self {
        Self { limits, bytes: AtomicU64::new(0), items: AtomicU64::new(0) }
    }

    /// Returns the limits of this budget.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Charges `bytes` that live as long as the model. Call before allocating; `what` names them in
    /// messages.
    pub fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        self.check_allocation(bytes, what)?;
        self.charge_many(bytes, what)
    }

    /// Charges many small allocations that take `bytes` together.
    pub fn charge_many(&self, bytes: u64, what: &str) -> Result<()> {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.check_total(before.saturating_add(bytes), what)
    }

    /// Checks that `bytes` fit on top of everything charged, for allocations that the model
    /// outlives.
    pub fn check_beside(&self, bytes: u64, what: &str) -> Result<()> {
        self.check_total(self.bytes.load(Ordering::Relaxed).saturating_add(bytes), what)
    }

    fn check_total(&self, bytes: u64, what: &str) -> Result<()> {
        within("max_total", self.limits.max_total, bytes, "bytes in total", what)
    }

    /// Checks a short-lived allocation of `bytes`.
    pub fn check_allocation(&self, bytes: u64, what: &str) -> Result<()> {
        within("max_allocation", self.limits.max_allocation, bytes, "bytes in one allocation", what)
    }

    /// Charges `count` more items; `what` names them in messages.
    pub fn items(&self, count: u64, what: &str) -> Result<()> {
        let before = self.items.fetch_add(count, Ordering::Relaxed);
        within("max_items", self.limits.max_items, before.saturating_add(count), "items", what)
    }

    /// Checks the depth on entering a nested structure.
    pub fn depth(&self, depth: u32, what: &str) -> Result<()> {
        within("max_depth", self.limits.max_depth.into(), depth.into(), "levels", what)
    }

    /// Checks the ratio before decompressing `compressed` bytes to `size`.
    pub fn ratio(&self, compressed: u64, size: u64, what: &str) -> Result<()> {
        let most = compressed.max(1).saturating_mul(self.limits.max_ratio);
        within("max_ratio", most, size, "bytes after decompression", what).map_err(|error| {
            error.hint(
                "deflate never compresses this well; other methods do if all values are \
                     equal, and so does a decompression bomb",
            )
        })
    }
}

/// Returns an error if a limit is exceeded.
#[inline]
fn within(limit: &'static str, most: u64, wanted: u64, unit: &str, what: &str) -> Result<()> {
    if wanted > most {
        return Err(over(limit, most, wanted, unit, what));
    }
    Ok(())
}

#[cold]
fn over(limit: &'static str, most: u64, wanted: u64, unit: &str, what: &str) -> Error {
    Error::limit(format!("{what} needs {wanted} {unit}; the limit is {most}"))
        .remedy(Remedy::RaiseLimit(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn totals_add_up() {
        let budget = Budget::new(Limits::default().max_allocation(100).max_total(150));
        budget.charge(100, "a").unwrap();
        assert_eq!(budget.charge(51, "b").unwrap_err().kind(), ErrorKind::Limit);
        assert!(budget.check_allocation(101, "c").is_err());
    }

    #[test]
    fn a_lying_total_does_not_wrap() {
        let budget =
            Budget::new(Limits::default().max_allocation(u64::MAX).max_total(u64::MAX - 1));
        budget.charge(u64::MAX - 1, "a").unwrap();
        assert!(budget.charge(u64::MAX, "b").is_err());
        assert!(budget.items(u64::MAX, "c").is_err());
        assert!(budget.ratio(1, u64::MAX, "d").is_err());
    }
}
