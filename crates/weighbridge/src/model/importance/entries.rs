//! Importance matrices of the older form: one entry after the other, everything little-endian.
//!
//! ```text
//! i32 entries
//! each:  i32 length, that many bytes: the weight's name
//!        i32 calls, i32 count, count * f32: sums over that many calls
//! then, or the file ends here:
//! i32 chunks, i32 length, that many bytes: the text that was read
//! ```
//!
//! A column's importance is its sum divided by the calls, or the sum itself if there were none.

use super::{Numbers, Stored, not_one, up_to_zero};
use crate::cursor::{Cursor, Endian};
use crate::error::Result;
use crate::input::Input;
use crate::limits::Budget;

/// The longest name or text that a file may hold.
const MOST_NAME: usize = 1 << 16;

/// Sums of one weight.
struct Entry {
    /// Where they begin.
    offset: u64,
    count: usize,
    calls: i32,
}

struct Entries {
    input: Input,
    entries: Vec<Entry>,
}

/// Reads names and lengths.
pub(super) fn open(input: Input, budget: &Budget) -> Result<Stored> {
    let mut at = Cursor::new(&input, 0, Endian::Little);
    let count = at.i32("the number of entries")?;
    if count < 1 {
        return Err(not_one(&format!("it states {count} entries")));
    }
    let (mut weights, mut entries) = (Vec::new(), Vec::new());
    for _ in 0..count {
        budget.items(1, "entries of the importance matrix")?;
        let name = text(&mut at, "a name")?;
        let name = String::from_utf8(name).map_err(|_| not_one("a name is not UTF-8"))?;
        budget.charge_many(2 * name.len() as u64, "names of the importance matrix")?;
        let entry = entry(&mut at, budget)?;
        weights.push((name, entry.count));
        entries.push(entry);
    }
    let (chunks, datasets) = end(&mut at, input.whole_len()?)?;
    Ok(Stored { weights, datasets, chunks, numbers: Box::new(Entries { input, entries }) })
}

/// A length and that many bytes, up to the first zero.
fn text(at: &mut Cursor<'_>, what: &str) -> Result<Vec<u8>> {
    let len = at.i32("a length")?;
    let fits = usize::try_from(len).ok().filter(|len| *len <= MOST_NAME);
    let len = fits.ok_or_else(|| not_one(&format!("{what} has {len} bytes")).at(at.position()))?;
    Ok(up_to_zero(at.take(len, what)?).to_vec())
}

fn entry(at: &mut Cursor<'_>, budget: &Budget) -> Result<Entry> {
    let calls = at.i32("the number of calls")?;
    let stated = at.i32("the number of values")?;
    let offset = at.position();
    let count = usize::try_from(stated).ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| not_one(&format!("it states {stated} values")).at(offset))?;
    let bytes = 4 * count as u64;
    budget.check_allocation(bytes, "the importance of one weight")?;
    at.skip(bytes, "the importance of a weight")?;
    Ok(Entry { offset, count, calls })
}

/// What may follow the entries: the number of chunks, and a text.
fn end(at: &mut Cursor<'_>, len: u64) -> Result<(u32, Vec<Vec<u8>>)> {
    if at.position() == len {
        return Ok((0, Vec::new()));
    }
    let chunks = u32::try_from(at.i32("the number of chunks")?).unwrap_or(0);
    let mut datasets = Vec::new();
    if at.position() < len {
        let dataset = text(at, "the name of a text")?;
        datasets.extend((!dataset.is_empty()).then_some(dataset));
    }
    if at.position() != len {
        return Err(not_one("there are bytes after the last entry").at(at.position()));
    }
    Ok((chunks, datasets))
}

impl Numbers for Entries {
    fn read(&self, index: usize) -> Result<Vec<f32>> {
        let Entry { offset, count, calls } = self.entries[index];
        let mut scratch = Vec::new();
        let bytes = self.input.view(offset, 4 * count, &mut scratch)?;
        let sums = bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes);
        #[allow(clippy::cast_precision_loss)] // So does llama-quantize.
        Ok(if calls > 0 { sums.map(|sum| sum / calls as f32).collect() } else { sums.collect() })
    }
}
