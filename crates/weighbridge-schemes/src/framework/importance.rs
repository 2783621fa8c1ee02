//! How much the columns of a weight matter, as somebody measured while the model ran.

use std::sync::Arc;

use crate::error::Result;

/// The importance of one weight's columns.
#[allow(clippy::len_without_is_empty)] // There is at least one number.
pub trait Importance: Send + Sync {
    /// A number for each column; of a stack of matrices, for each column of each matrix. Read when
    /// they are first needed, by any thread.
    fn values(&self) -> Result<Arc<[f32]>>;

    /// How many numbers there are.
    fn len(&self) -> Result<usize> {
        Ok(self.values()?.len())
    }

    /// A checksum of all numbers, by which two can be told apart.
    fn checksum(&self) -> Result<u32> {
        let mut sum = crc32fast::Hasher::new();
        self.values()?.iter().for_each(|value| sum.update(&value.to_le_bytes()));
        Ok(sum.finalize())
    }
}

/// The same importance for every column.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    /// How many columns there are.
    pub columns: usize,
}

impl Importance for Even {
    fn values(&self) -> Result<Arc<[f32]>> {
        Ok(vec![1.0; self.columns].into())
    }
}
