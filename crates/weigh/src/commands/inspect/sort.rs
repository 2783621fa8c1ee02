//! Sorts the list of weights.

use std::cmp::{Ordering, Reverse};

use weighbridge::ops::TensorReport;

use super::args::Sort;

/// Sorts the weights. The sort is stable: ties stay in file order.
pub(super) fn sort(tensors: &mut [TensorReport], by: Sort) {
    match by {
        Sort::Bytes => tensors.sort_by_key(|tensor| Reverse(tensor.bytes)),
        Sort::Parameters => tensors.sort_by_key(|tensor| Reverse(tensor.parameters)),
        Sort::Bits => tensors.sort_by(|a, b| bits(b).total_cmp(&bits(a))),
        Sort::Name => tensors.sort_by(|a, b| by_name(&a.name, &b.name)),
    }
}

/// Bits per parameter; 0 for a weight without elements.
#[allow(clippy::cast_precision_loss)] // A ratio for people.
pub(super) fn bits(tensor: &TensorReport) -> f64 {
    match tensor.parameters {
        0 => 0.0,
        parameters => tensor.bytes as f64 * 8.0 / parameters as f64,
    }
}

/// Orders names with numbers by value: `layers.2` before `layers.10`.
pub(super) fn by_name(mut a: &str, mut b: &str) -> Ordering {
    loop {
        let (text_a, digits_a, rest_a) = split(a);
        let (text_b, digits_b, rest_b) = split(b);
        let [value_a, value_b] = [digits_a, digits_b].map(|digits| digits.trim_start_matches('0'));
        let order = text_a
            .cmp(text_b)
            .then_with(|| value_a.len().cmp(&value_b.len()))
            .then_with(|| value_a.cmp(value_b))
            .then_with(|| digits_a.len().cmp(&digits_b.len()));
        if order.is_ne() || (rest_a.is_empty() && rest_b.is_empty()) {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// Splits a name into the text before the first number, the number and the rest.
fn split(name: &str) -> (&str, &str, &str) {
    let is_digit = |c: char| c.is_ascii_digit();
    let (text, rest) = name.split_at(name.find(is_digit).unwrap_or(name.len()));
    let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
    (text, &rest[..end], &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_by_their_value() {
        let mut names = ["l.10.a", "l.2.b", "l.2", "l", "k.3", "l.2.a", "l.02.a", "l.1"];
        names.sort_by(|a, b| by_name(a, b));
        assert_eq!(names, ["k.3", "l", "l.1", "l.2", "l.2.a", "l.2.b", "l.02.a", "l.10.a"]);
    }
}
