//! The numbers of one weight, or of a part of it.
//!
//! A [`Window`] is some rows and columns of a weight in one type. Nothing is read until it is asked
//! for, and then no more than it shows: a few rows, or the corners of a large one.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Select, Weight};

mod numbers;
mod read;
mod slice;
mod write;

pub use numbers::Numbers;
pub use slice::Slice;

use super::refusals::refuse_problems;
use super::work::setters;

/// Which part of a weight is shown, and in which type.
///
/// ```no_run
/// use weighbridge::Model;
/// use weighbridge::ops::{ShowOptions, Window};
/// let weight = Model::open("model.gguf")?.find("blk.0.ffn_up.weight")?;
/// let options = ShowOptions::default().rows("0:4".parse()?).columns("-8:".parse()?);
/// let window = Window::of(&weight, &options)?;
/// println!("{:?}: {:?}", window.shape(), window.numbers()?);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ShowOptions {
    rows: Option<Slice>,
    columns: Option<Slice>,
    dtype: Option<DType>,
}

setters! { ShowOptions:
    /// Selects a range of the first dimension.
    rows(rows: Slice) rows = Some(rows);

    /// Selects a range of the last dimension.
    columns(columns: Slice) columns = Some(columns);

    /// Sets the type: `F32`, `F16` or `BF16`. Default: the stored type of a plain weight, or the type
    /// that the scheme's own library decodes to.
    dtype(dtype: DType) dtype = Some(dtype);
}

/// A slice of a weight: some rows and columns.
#[derive(Clone, Debug)]
pub struct Window {
    weight: Weight,
    shape: Vec<u64>,
    rows: std::ops::Range<u64>,
    columns: std::ops::Range<u64>,
    dtype: DType,
}

impl Window {
    /// Selects the part of a weight that the options describe.
    pub fn of(weight: &Weight, options: &ShowOptions) -> Result<Self> {
        let in_weight =
            |error: Error| error.in_tensor(weight.name()).in_file(weight.model().path());
        let own = weight.name().to_owned();
        refuse_problems(weight.model(), &Select::new().include(move |name| name == own), false)?;
        let dtype = shown_type(weight, options.dtype).map_err(in_weight)?;
        let mut shape = weight.shape().to_vec();
        let whole = |dim: Option<&u64>| 0..dim.copied().unwrap_or(1);
        let (mut rows, mut columns) = (whole(shape.first()), whole(shape.last()));
        match (&options.rows, &options.columns, &mut shape[..]) {
            (None, None, _) => {}
            (.., []) => {
                return Err(in_weight(Error::usage("it is a scalar and has no rows")));
            }
            (Some(_), Some(_), [_]) => {
                let reason = "it has one dimension; select rows or columns, not both";
                return Err(in_weight(Error::usage(reason)));
            }
            (asked_rows, asked_columns, [.., _]) => {
                rows = asked_rows.as_ref().map_or(rows, |slice| slice.of(shape[0]));
                let last = shape.len() - 1;
                columns = asked_columns.as_ref().map_or(columns, |slice| slice.of(shape[last]));
                if last == 0 {
                    columns = if asked_rows.is_some() { rows.clone() } else { columns };
                    rows = columns.clone();
                }
                shape[0] = rows.end - rows.start;
                shape[last] = columns.end - columns.start;
            }
        }
        Ok(Self { weight: weight.clone(), shape, rows, columns, dtype })
    }

    /// The weight that it is a part of.
    #[must_use]
    pub fn weight(&self) -> &Weight {
        &self.weight
    }

    /// Its own shape, outermost dimension first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The entries of the first dimension.
    #[must_use]
    pub fn rows(&self) -> std::ops::Range<u64> {
        self.rows.clone()
    }

    /// The entries of the last dimension.
    #[must_use]
    pub fn columns(&self) -> std::ops::Range<u64> {
        self.columns.clone()
    }

    /// The type of its numbers.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// This window in another type.
    pub(super) fn in_type(&self, dtype: DType) -> Self {
        Self { dtype, ..self.clone() }
    }

    /// Whether it is all of the weight.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.shape == self.weight.shape()
    }

    /// How many numbers it has.
    #[must_use]
    pub fn elements(&self) -> u64 {
        crate::catalog::element_count(&self.shape).unwrap_or(0)
    }
}

/// An error if something is wrong with the weight of that name.
fn shown_type(weight: &Weight, asked: Option<DType>) -> Result<DType> {
    if let Some(reason) = weight.undecodable() {
        return Err(Error::unsupported(reason));
    }
    match (asked, weight.native()) {
        (Some(dtype @ (DType::F32 | DType::F16 | DType::BF16)), _) => Ok(dtype),
        (Some(dtype), _) => Err(Error::usage(format!("values cannot be shown as {dtype}"))),
        (None, Some(dtype)) if weight.is_plain() && Numbers::of_bytes(dtype, &[]).is_some() => {
            Ok(dtype)
        }
        (None, Some(dtype @ (DType::F16 | DType::BF16))) => Ok(dtype),
        // Types of 8 bits are widened, which loses nothing.
        (None, _) => Ok(DType::F32),
    }
}
