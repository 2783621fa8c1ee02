//! Numbers into blocks: an [`Encoder`] for each block type that has one.

use std::ops::Range;
use std::sync::Arc;

use super::kernel::{Coding, Kernel, Rows};
use super::origins::add_levels;
use super::{FAMILIES, kernel_of};
use crate::blocks::Block;
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::framework::{Decoded, EncodedTensor, Encoder, Groups, Importance, WeightEncoder};
use crate::number::Out;
use crate::simd;

/// Stores numbers in blocks of one type.
#[derive(Clone)]
pub(crate) struct BlockEncoder {
    block: &'static Block,
    kernel: &'static Kernel,
    coding: Coding,
    /// How much the columns of the weight matter.
    importance: Option<Arc<dyn Importance>>,
}

impl BlockEncoder {
    /// One for every type that numbers can be stored in.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let kernels = FAMILIES.iter().copied().flatten();
        kernels.filter_map(|kernel| Self::of(Block::from_name(kernel.name)?))
    }

    /// That of a type, if numbers can be stored in it.
    pub(crate) fn of(block: &'static Block) -> Option<Self> {
        let kernel = kernel_of(block)?;
        Some(Self { block, kernel, coding: kernel.coding?, importance: None })
    }
}

impl Encoder for BlockEncoder {
    fn name(&self) -> &'static str {
        self.block.name
    }

    fn with_importance(&self, importance: Arc<dyn Importance>) -> Option<Arc<dyn Encoder>> {
        Some(Arc::new(Self { importance: Some(importance), ..self.clone() }))
    }

    /// Whether ggml refuses the type without importance.
    fn needs_importance(&self) -> bool {
        self.coding.needs_importance
    }

    fn uses_importance(&self) -> bool {
        self.importance.is_some()
    }

    fn identity(&self) -> Result<String> {
        let name = self.block.name;
        match &self.importance {
            None => Ok(name.to_owned()),
            Some(importance) => Ok(format!("{name}, importance {:08x}", importance.checksum()?)),
        }
    }

    fn types(&self) -> Vec<StoredType> {
        vec![StoredType::Block(self.block)]
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let (elements, bytes) = (u64::from(self.block.elements), u64::from(self.block.bytes));
        let columns = shape.last().copied().unwrap_or(1);
        if columns == 0 || columns % elements != 0 {
            return Err(format!(
                "row length {columns} is not a multiple of the block size ({elements})"
            ));
        }
        let rows = shape[..shape.len() - 1].iter().product::<u64>();
        let row = columns / elements * bytes;
        Ok(vec![EncodedTensor {
            name: name.to_owned(),
            stored: StoredType::Block(self.block),
            shape: shape.into(),
            bytes: rows * row,
            // Some types look at whole rows.
            groups: Groups::Of { elements: columns, bytes: row },
        }])
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let columns = shape.last().copied().unwrap_or(1);
        // A stack of matrices has importance of its own for each of them.
        let matrix = columns * shape.iter().rev().nth(1).copied().unwrap_or(1);
        Box::new(BlockRowsEncoder { of: self.clone(), columns, matrix })
    }
}

/// Stores one weight.
struct BlockRowsEncoder {
    of: BlockEncoder,
    /// Numbers of a row.
    columns: u64,
    /// Numbers of a matrix, of which a stack has several.
    matrix: u64,
}

impl WeightEncoder for BlockRowsEncoder {
    fn encode(&self, elements: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [out] = out else { return Err(Error::usage("expected one tensor of blocks")) };
        let too_large = |_| Error::limit("a row is too large for this machine's address space");
        let columns = usize::try_from(self.columns).map_err(too_large)?;
        let importance = self.of.importance.as_ref().map(|of| of.values()).transpose()?;
        let (mut at, mut values, mut out) = (elements.start, values, &mut **out);
        while !values.is_empty() {
            // As much as lies in one matrix.
            let left = usize::try_from(self.matrix - at % self.matrix).unwrap_or(usize::MAX);
            let count = values.len().min(left);
            let (now, later) = values.split_at(count);
            let (now_out, later_out) = out.split_at_mut(self.bytes_of(count));
            let importance = importance.as_deref().map(|all| self.slice(all, at)).transpose()?;
            let rows = Rows { values: now, columns, importance };
            (self.of.coding.encode)(simd::level(), rows, now_out);
            (at, values, out) = (at + count as u64, later, later_out);
        }
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [blocks] = encoded else { return Ok(false) };
        self.of.kernel.decode(simd::level(), blocks, Out::F32(&mut decoded.numbers));
        add_levels(self.of.block, blocks, &mut decoded.levels);
        Ok(true)
    }
}

impl BlockRowsEncoder {
    /// The bytes of so many numbers.
    fn bytes_of(&self, elements: usize) -> usize {
        elements / self.of.block.elements as usize * self.of.block.bytes as usize
    }

    /// The importance of the columns of the matrix that an element lies in. What has importance
    /// for one matrix only has it for all.
    fn slice<'a>(&self, all: &'a [f32], element: u64) -> Result<&'a [f32]> {
        let columns = usize::try_from(self.columns).unwrap_or(usize::MAX);
        let matrix = usize::try_from(element / self.matrix.max(1)).unwrap_or(usize::MAX);
        let start = if all.len() == columns { 0 } else { matrix.saturating_mul(columns) };
        let end = start.saturating_add(columns);
        all.get(start..end).ok_or_else(|| {
            Error::usage(format!("the importance matrix covers only {} columns", all.len()))
        })
    }
}
