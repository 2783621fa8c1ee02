//! Arrays as numpy prints them.
//!
//! Brackets for every dimension, words of one width, lines that are wrapped; of more than a
//! thousand numbers only those at the corners.

use weighbridge::ops::Numbers;

mod floats;
#[cfg(test)]
mod tests;

/// Arrays of more numbers are shown by their corners.
pub(crate) const THRESHOLD: u64 = 1000;
/// How many numbers are shown at either end of a dimension.
pub(crate) const EDGE: u64 = 3;

/// The columns of a line, where there is no terminal to ask.
pub(crate) const WIDTH: usize = 75;

/// Whether an array of this shape is shown by its corners.
pub(crate) fn is_summarized(shape: &[u64]) -> bool {
    shape.iter().fold(1, |product: u64, &dim| product.saturating_mul(dim)) > THRESHOLD
}

/// The text of an array of that shape. `numbers` are those that are shown: all of them, or those of
/// the corners.
pub(crate) fn text(shape: &[u64], numbers: &Numbers, width: usize) -> String {
    if shape.contains(&0) {
        return "[]".to_owned();
    }
    let is_scalar = shape.is_empty();
    let words = match numbers {
        Numbers::F64(numbers) => floats::words(numbers),
        Numbers::F32(numbers) => floats::words(numbers),
        Numbers::F16(numbers) => floats::words(numbers),
        // Every bfloat16 is a float32, and numpy has no type of its own for it.
        Numbers::Bf16(numbers) => {
            floats::words(&numbers.iter().map(|x| x.to_f32()).collect::<Vec<_>>())
        }
        Numbers::Signed(numbers) => whole(numbers.iter().map(ToString::to_string).collect()),
        Numbers::Unsigned(numbers) => whole(numbers.iter().map(ToString::to_string).collect()),
        Numbers::Bool(numbers) => {
            let word = |&is: &bool| match is {
                true if is_scalar => "True".to_owned(),
                true => " True".to_owned(),
                false => "False".to_owned(),
            };
            numbers.iter().map(word).collect()
        }
        _ => Vec::new(),
    };
    let page = Page { shape, words: &words, is_summarized: is_summarized(shape) };
    page.nested(0, 0, 1, isize::try_from(width).unwrap_or(isize::MAX))
}

/// Whole numbers, all as wide as the widest.
fn whole(words: Vec<String>) -> Vec<String> {
    let widest = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>widest$}")).collect()
}

struct Page<'a> {
    shape: &'a [u64],
    words: &'a [String],
    is_summarized: bool,
}

impl Page<'_> {
    /// How many entries of a dimension are shown, and whether some are left out in the middle.
    fn shown(&self, axis: usize) -> (usize, bool) {
        let len = self.shape[axis];
        let is_cut = self.is_summarized && len > 2 * EDGE;
        let shown = if is_cut { 2 * EDGE } else { len };
        (usize::try_from(shown).unwrap_or(usize::MAX), is_cut)
    }

    /// How many words one entry of a dimension has.
    fn words_below(&self, axis: usize) -> usize {
        (axis + 1..self.shape.len()).map(|axis| self.shown(axis).0).product()
    }

    /// The part of the array whose first word is `at`, from a dimension on. Lines after the first are
    /// indented by `indent`; `width` is what is left of a line.
    fn nested(&self, axis: usize, at: usize, indent: usize, width: isize) -> String {
        if axis == self.shape.len() {
            return self.words.get(at).cloned().unwrap_or_default();
        }
        if axis + 1 == self.shape.len() {
            self.line_of_words(at, indent, width)
        } else {
            self.lines(axis, at, indent, width)
        }
    }

    /// The innermost dimension: words, wrapped where a line is full.
    fn line_of_words(&self, at: usize, indent: usize, width: isize) -> String {
        let (shown, is_cut) = self.shown(self.shape.len() - 1);
        let fits = |len: usize| isize::try_from(len).is_ok_and(|len| len < width);
        let (mut done, mut line) = (String::new(), " ".repeat(indent));
        let mut extend = |word: &str, is_last: bool| {
            if !fits(line.len() + word.len()) && line.len() > indent {
                done.push_str(line.trim_end());
                done.push('\n');
                line = " ".repeat(indent);
            }
            line.push_str(word);
            if is_last {
                done.push_str(&line);
            } else {
                line.push(' ');
            }
        };
        for index in 0..shown {
            if is_cut && index as u64 == EDGE {
                extend("...", false);
            }
            extend(self.words.get(at + index).map_or("", String::as_str), index + 1 == shown);
        }
        format!("[{}]", &done[indent..])
    }

    /// An outer dimension: one part below the other.
    fn lines(&self, axis: usize, at: usize, indent: usize, width: isize) -> String {
        let ((shown, is_cut), below) = (self.shown(axis), self.words_below(axis));
        let line_end = "\n".repeat(self.shape.len() - axis - 1);
        let mut parts = Vec::new();
        for index in 0..shown {
            if is_cut && index as u64 == EDGE {
                parts.push("...".to_owned());
            }
            parts.push(self.nested(axis + 1, at + index * below, indent + 1, width - 1));
        }
        format!("[{}]", parts.join(&format!("{line_end}{}", " ".repeat(indent))))
    }
}
