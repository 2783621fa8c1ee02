//! How much a file may cost.
//!
//! Every length that a file states is charged against a [`Budget`] before memory is asked for,
//! so a header that lies about its sizes ends in an error, not in a dead process.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Remedy, Result};

/// How many bytes may be made of one stored byte before somebody is asked. The densest types become
/// 30 times as large in f32; what goes beyond this repeats stored bytes.
pub const MOST_EXPANSION: u64 = 1000;

/// Bounds on what opening and reading a model may cost.
///
/// The defaults open every real model we know of and keep a hostile file from hurting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest single block of memory, in bytes.
    pub max_allocation: u64,
    /// All memory that one model's headers and metadata may take together, in bytes; lists made of
    /// them, such as reports and plans, included.
    pub max_total: u64,
    /// Tensors, metadata entries, archive members and the like, together.
    pub max_items: u64,
    /// How deep arrays, dictionaries and archives may nest.
    pub max_depth: u32,
    /// Decompressed bytes per compressed byte.
    pub max_ratio: u64,
    /// Instructions of the pickle machine.
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

/// Gives options methods that set a field each: `name(value: Type) field = value;`.
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
    /// These limits with another `max_allocation`.
    max_allocation(value: u64) max_allocation = value;

    /// These limits with another `max_total`.
    max_total(value: u64) max_total = value;

    /// These limits with another `max_items`.
    max_items(value: u64) max_items = value;

    /// These limits with another `max_depth`.
    max_depth(value: u32) max_depth = value;

    /// These limits with another `max_ratio`.
    max_ratio(value: u64) max_ratio = value;

    /// These limits with another `max_pickle_steps`.
    max_pickle_steps(value: u64) max_pickle_steps = value;
}

/// The running account of one open: what the limits allow, less what was spent.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    bytes: AtomicU64,
    items: AtomicU64,
}

impl Budget {
    /// A fresh account.
    pub fn new(limits: Limits) -> Self {
        Self { limits, bytes: AtomicU64::new(0), items: AtomicU64::new(0) }
    }

    /// The limits this account is held to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Call before reserving `bytes` that live as long as the model; `what` finishes "memory for".
    pub fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        self.check_allocation(bytes, what)?;
        self.charge_many(bytes, what)
    }

    /// Call before keeping many small things that take `bytes` together.
    pub fn charge_many(&self, bytes: u64, what: &str) -> Result<()> {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.check_total(before.saturating_add(bytes), what)
    }

    /// Call before making what takes `bytes` beside everything that was charged, and ends before the
    /// model does.
    pub fn check_beside(&self, bytes: u64, what: &str) -> Result<()> {
        self.check_total(self.bytes.load(Ordering::Relaxed).saturating_add(bytes), what)
    }

    fn check_total(&self, bytes: u64, what: &str) -> Result<()> {
        within("max_total", self.limits.max_total, bytes, "bytes in total", what)
    }

    /// Call before reserving a short-lived buffer of `bytes`.
    pub fn check_allocation(&self, bytes: u64, what: &str) -> Result<()> {
        within("max_allocation", self.limits.max_allocation, bytes, "bytes in one allocation", what)
    }

    /// Call before taking up `count` more items; `what` names them ("tensors").
    pub fn items(&self, count: u64, what: &str) -> Result<()> {
        let before = self.items.fetch_add(count, Ordering::Relaxed);
        within("max_items", self.limits.max_items, before.saturating_add(count), "items", what)
    }

    /// Call on entering a nested structure.
    pub fn depth(&self, depth: u32, what: &str) -> Result<()> {
        within("max_depth", self.limits.max_depth.into(), depth.into(), "levels", what)
    }

    /// Call before inflating `compressed` bytes to `size`.
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

/// Refuses what is more than a limit.
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
