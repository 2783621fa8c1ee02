//! Writing numpy's files: one array, or an archive of stored ones.
//!
//! An archive's members carry the CRC-32 of header and data. The layout leaves gaps for it in
//! front of each member and in the directory; in a stream, behind each member.

use crate::error::{Error, Remedy, Result};
use crate::writing::{self, FileContext, Fixed, Holds, Layout, Planned, Writer, end_of};
use crate::zip::write::{MAX_NAME, Member, end};

use crate::text::leads_outside;

use super::header::MAGIC;
use super::{Npy, Npz, types};

/// Headers are filled up to a multiple of this, so that the data can be mapped.
const ALIGNMENT: usize = 64;

/// The most dimensions that numpy has, since version 2; 32 before.
const MAX_RANK: usize = 64;

impl Writer for Npy {
    fn refuses(&self, tensor: &Planned<'_>) -> Option<String> {
        no_type(tensor, "NPY").or_else(|| bad_shape(tensor))
    }

    fn holds(&self) -> Holds {
        Holds::Nothing
    }

    fn lay_out(&self, tensors: &[Planned<'_>], _: &FileContext<'_>) -> Result<Layout> {
        let [tensor] = tensors else {
            return Err(Error::usage(format!(
                "an NPY file holds one array, but {} weights are selected",
                tensors.len()
            ))
            .hint("write an NPZ file to store several")
            .remedy(Remedy::SelectOne));
        };
        let header = header(tensor);
        end_of(header.len() as u64, tensor)?;
        Ok(Layout::behind(header, vec![0], tensor.bytes))
    }
}

impl Writer for Npz {
    fn states_sums(&self) -> bool {
        true
    }

    fn refuses(&self, tensor: &Planned<'_>) -> Option<String> {
        let name = self.refuses_name(tensor.name);
        name.or_else(|| no_type(tensor, "NPZ")).or_else(|| bad_shape(tensor))
    }

    fn refuses_name(&self, name: &str) -> Option<String> {
        let most = MAX_NAME.saturating_sub(4);
        match name {
            name if name.len() > most => {
                Some(format!("the name has {} bytes; archives allow at most {most}", name.len()))
            }
            name if name.contains('\0') => {
                Some("the name contains a zero byte, which archives do not allow".to_owned())
            }
            name if leads_outside(name) => {
                let why = "the name leads outside the extraction folder";
                Some(why.to_owned())
            }
            _ => None,
        }
    }

    fn holds(&self) -> Holds {
        Holds::Nothing
    }

    fn lay_out(&self, tensors: &[Planned<'_>], context: &FileContext<'_>) -> Result<Layout> {
        writing::refuse_duplicates(tensors)?;
        let (mut layout, mut seeds) = (Layout::default(), Vec::new());
        let (mut directory, mut checksums, mut at) = (Vec::new(), Vec::new(), 0u64);
        for (index, tensor) in tensors.iter().enumerate() {
            let (name, array) = (format!("{}.npy", tensor.name), header(tensor));
            let bytes = end_of(array.len() as u64, tensor)?;
            let member = Member { name: &name, bytes, at, streamed: context.streamed };
            seeds.push(crc32fast::hash(&array));
            let (mut front, checksum) = member.local();
            front.extend_from_slice(&array);
            let start = at.saturating_add(front.len() as u64);
            let checksum = checksum.map(|place| (index, place));
            layout.fixed.push(Fixed {
                at,
                bytes: front,
                checksums: checksum.into_iter().collect(),
            });
            layout.places.push(start);
            at = end_of(start, tensor)?;
            if let Some((bytes, place)) = member.descriptor() {
                let next = at.saturating_add(bytes.len() as u64);
                layout.fixed.push(Fixed { at, bytes, checksums: vec![(index, place)] });
                at = next;
            }
            checksums.push((index, member.entry(&mut directory)));
        }
        let bytes = directory.len() as u64;
        end(&mut directory, tensors.len(), at, bytes);
        layout.len = at.saturating_add(directory.len() as u64);
        layout.fixed.push(Fixed { at, bytes: directory, checksums });
        layout.seeds = Some(seeds);
        Ok(layout)
    }
}

fn no_type(tensor: &Planned<'_>, format: &str) -> Option<String> {
    let dtype = tensor.stored.element();
    match dtype.and_then(types::descr) {
        Some(_) => None,
        None if dtype.is_some_and(crate::dtype::DType::is_float) => Some(format!(
            "{}: numpy lacks it; convert it to f32 or f16",
            writing::no_type(tensor, format)
        )),
        None => Some(writing::no_type(tensor, format)),
    }
}

/// Why numpy cannot make an array of this shape, if it cannot: it counts bytes in 63 bits, and an
/// empty dimension as one.
fn bad_shape(tensor: &Planned<'_>) -> Option<String> {
    let rank = tensor.shape.len();
    if rank > MAX_RANK {
        return Some(format!("it has {rank} dimensions; numpy allows at most {MAX_RANK}"));
    }
    let bits = tensor.stored.element().map_or(8, crate::dtype::DType::bits);
    let bytes = writing::full_count(tensor.shape)
        .and_then(|count| count.checked_mul(u64::from(bits).div_ceil(8)))
        .filter(|bytes| i64::try_from(*bytes).is_ok());
    bytes.is_none().then(|| writing::too_large(tensor, "numpy"))
}

/// Magic, version, length and the dictionary, filled up with spaces.
fn header(tensor: &Planned<'_>) -> Vec<u8> {
    let descr = tensor.stored.element().and_then(types::descr).unwrap_or_default();
    let dims: Vec<_> = tensor.shape.iter().map(u64::to_string).collect();
    let shape = match &dims[..] {
        [only] => format!("({only},)"),
        _ => format!("({})", dims.join(", ")),
    };
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The length has two bytes; nothing here has so many dimensions that it would need four.
    let front = MAGIC.len().saturating_add(4);
    let whole = front.saturating_add(dictionary.len()).saturating_add(1);
    let padded = whole.next_multiple_of(ALIGNMENT);
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    let length = u16::try_from(padded.saturating_sub(front)).unwrap_or(u16::MAX);
    out.extend(length.to_le_bytes());
    out.extend_from_slice(dictionary.as_bytes());
    out.resize(padded.saturating_sub(1), b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
