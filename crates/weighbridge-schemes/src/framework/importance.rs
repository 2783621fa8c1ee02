//! Importance of a weight's columns, measured while the model ran.

use std::sync::Arc;

use crate::error::Result;

/// The importance of one weight's columns.
#[allow(clippy::len_without_is_empty)] // There is at least one number.
pub trait Importance: Send + Sync {
    /// Returns one number per column; for a stack of matrices, per column of each matrix. Any
    /// thread may call it; the numbers are read on first use.
    fn values(&self) -> Result<Arc<[f32]>>;

    /// Returns the number of values.
    fn len(&self) -> Result<usize> {
        Ok(self.values()?.len())
    }

    /// Returns a checksum of all values, to tell two matrices apart.
    fn checksum(&self) -> Result<u32> {
        let mut sum = crc32fast::Hasher::new();
        self.values()?.iter().for_each(|value| sum.update(&value.to_le_bytes()));
        Ok(sum.finalize())
    }
}

/// Equal importance for every column.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    /// Number of columns.
    pub columns: usize,
}

impl Importance for Even {
    fn values(&self) -> Result<Arc<[f32]>> {
        Ok(vec![1.0; self.columns].into())
    }
}
