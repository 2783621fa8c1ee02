//! Linear attention, as Qwen 3.5 has it: several heads of values for each head of keys.
//!
//! Hugging Face has the value heads of a key head together. GGUF has the first of every key head, then
//! the second of every key head, so that keys need only be repeated as a whole.

use super::view::{Rows, View};
use crate::families::LinearPart;

/// The heads of linear attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    key_heads: u64,
    key_width: u64,
    value_heads: u64,
    value_width: u64,
}

impl Linear {
    /// How many heads there are, and how wide they are, if values can go by keys.
    pub fn of(keys: [u64; 2], values: [u64; 2]) -> Option<Self> {
        let ([key_heads, key_width], [value_heads, value_width]) = (keys, values);
        let has_some = [key_heads, key_width, value_heads, value_width].iter().all(|one| *one > 0);
        let all = value_heads.checked_mul(value_width);
        let keys = key_heads.checked_mul(key_width).and_then(|keys| keys.checked_mul(2));
        let is_countable = all.zip(keys).is_some_and(|(all, keys)| all.checked_add(keys).is_some());
        let fits = has_some && is_countable && value_heads.is_multiple_of(key_heads);
        fits.then_some(Self { key_heads, key_width, value_heads, value_width })
    }

    /// A weight with its value heads in GGUF's order, or as they are; none if it has another shape
    /// than these heads make.
    pub fn view(&self, part: LinearPart, shape: &[u64], is_tiled: bool) -> Option<View> {
        let values = self.value_heads * self.value_width;
        let keys = 2 * self.key_heads * self.key_width;
        let (rows, columns) = match *shape {
            // A vector whose order changes is a column.
            [rows] => (rows, 1),
            [rows, columns] | [rows, 1, columns] => (rows, columns),
            _ => return None,
        };
        let (start, run, fits) = match part {
            LinearPart::Mixed => (keys, self.value_width, rows == keys + values),
            LinearPart::Values => (0, self.value_width, rows == values),
            LinearPart::Heads => (0, 1, rows == self.value_heads),
            LinearPart::Columns => (0, 1, columns == values),
        };
        let members = self.value_heads / self.key_heads;
        let seen = match (part, shape) {
            _ if !fits => return None,
            (LinearPart::Columns, _) if members > 1 => {
                vec![rows.checked_mul(self.value_heads)?, self.value_width]
            }
            (_, [rows]) if members == 1 => vec![*rows],
            _ => vec![rows, columns],
        };
        let rows = if is_tiled && members > 1 {
            Rows::Tiled { start, groups: self.key_heads, members, run }
        } else {
            Rows::From(0)
        };
        Some(View { rows, ..View::whole(&seen) })
    }

    /// How the order differs, in words.
    pub fn words(&self) -> Option<String> {
        let members = self.value_heads / self.key_heads;
        (members > 1).then(|| format!("value heads interleaved, {members} per key head"))
    }
}
