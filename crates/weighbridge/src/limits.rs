//! How much a file may cost.
//!
//! Every length that a file states is charged against a [`Budget`] before memory is asked for,
//! so a header that lies about its sizes ends in an error, not in a dead process.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Remedy, Result};

/// Bounds on what opening and reading a model may cost.
///
/// The defaults open every real model we know of and keep a hostile file from hurting.
///
/// ```
/// let limits = weighbridge::Limits::default().max_items(10_000).max_allocation(1 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest single block of memory, in bytes.
    pub max_allocation: u64,
    /// All memory that one model's headers and metadata may take together, in bytes.
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
            // Deflate itself cannot do better than 1032:1, and a tensor of zeros gets there.
            max_ratio: 1100,
            max_pickle_steps: 50_000_000,
        }
    }
}

macro_rules! setters {
    ($($name:ident: $type:ty),*) => {
        impl Limits {
            $(
                #[doc = concat!("The same limits with another `", stringify!($name), "`.")]
                #[must_use]
                pub fn $name(mut self, value: $type) -> Self {
                    self.$name = value;
                    self
                }
            )*
        }
    };
}

setters!(
    max_allocation: u64, max_total: u64, max_items: u64, max_depth: u32, max_ratio: u64,
    max_pickle_steps: u64
);

/// The running account of one open: what the limits allow, less what was spent.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    bytes: AtomicU64,
    items: AtomicU64,
}

impl Budget {
    /// A fresh account.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, bytes: AtomicU64::new(0), items: AtomicU64::new(0) }
    }

    /// The limits this account is held to.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Call before reserving `bytes` that live as long as the model; `what` finishes "memory for".
    pub fn charge(&self, bytes: u64, what: &str) -> Result<()> {
        self.check_allocation(bytes, what)?;
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limits.max_total {
            return Err(over(
                "bytes in all",
                before.saturating_add(bytes),
                self.limits.max_total,
                what,
            )
            .remedy(Remedy::RaiseLimit("max_total")));
        }
        Ok(())
    }

    /// Call before reserving a short-lived buffer of `bytes`.
    pub fn check_allocation(&self, bytes: u64, what: &str) -> Result<()> {
        if bytes > self.limits.max_allocation {
            return Err(over("bytes at once", bytes, self.limits.max_allocation, what)
                .remedy(Remedy::RaiseLimit("max_allocation")));
        }
        Ok(())
    }

    /// Call before taking up `count` more items; `what` names them ("tensors").
    pub fn items(&self, count: u64, what: &str) -> Result<()> {
        let before = self.items.fetch_add(count, Ordering::Relaxed);
        if before.saturating_add(count) > self.limits.max_items {
            return Err(over("items", before.saturating_add(count), self.limits.max_items, what)
                .remedy(Remedy::RaiseLimit("max_items")));
        }
        Ok(())
    }

    /// Call on entering a nested structure.
    pub fn depth(&self, depth: u32, what: &str) -> Result<()> {
        if depth > self.limits.max_depth {
            return Err(over("levels", u64::from(depth), self.limits.max_depth.into(), what)
                .remedy(Remedy::RaiseLimit("max_depth")));
        }
        Ok(())
    }

    /// Call before inflating `compressed` bytes to `size`.
    pub fn ratio(&self, compressed: u64, size: u64, what: &str) -> Result<()> {
        let most = compressed.max(1).saturating_mul(self.limits.max_ratio);
        if size > most {
            return Err(over("bytes after decompression", size, most, what)
                .hint("no honest archive compresses this well")
                .remedy(Remedy::RaiseLimit("max_ratio")));
        }
        Ok(())
    }
}

fn over(unit: &str, wanted: u64, limit: u64, what: &str) -> Error {
    Error::limit(format!("{what} would take {wanted} {unit}, the limit is {limit}"))
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
