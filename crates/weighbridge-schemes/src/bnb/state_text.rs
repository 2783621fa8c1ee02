//! A weight's `quant_state`, formatted as by Python's `json.dumps`.
//!
//! Its length must be known before the numbers are, and the offset of nested scales is one of them.
//! So such a state is padded with spaces to the length of the longest offset.

use super::nearest;
use super::scales;
use crate::dtype::DType;

/// Maximum length of a single-precision number as Python writes it.
const LONGEST_NUMBER: usize = 22;

/// Returns the state of a weight; with nested scales, up to its offset.
pub(super) fn state(kind: &str, dtype: DType, shape: &[u64], is_nested: bool) -> String {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let (block, sizes) = (nearest::BLOCK, sizes.join(", "));
    let dtype = torch_name(dtype);
    let start = format!(
        r#"{{"quant_type": "{kind}", "blocksize": {block}, "dtype": "{dtype}", "shape": [{sizes}]"#
    );
    if is_nested {
        let block = scales::BLOCK;
        format!(
            r#"{start}, "nested_blocksize": {block}, "nested_dtype": "float32", "nested_offset": "#
        )
    } else {
        start + "}"
    }
}

/// Returns the length of a state in bytes.
pub(super) fn length(state: &str, is_nested: bool) -> usize {
    state.len() + if is_nested { LONGEST_NUMBER + 1 } else { 0 }
}

/// Completes a state with its offset, and pads it with spaces to its length.
pub(super) fn with_offset(state: &str, offset: f32) -> String {
    let text = format!("{state}{}}}", python_number(f64::from(offset)));
    format!("{text:<0$}", length(state, true))
}

/// Returns torch's name of a type.
pub(super) fn torch_name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "bfloat16",
        DType::F16 => "float16",
        _ => "float32",
    }
}

/// Formats a finite number as Python does: the fewest digits that parse to the same number.
fn python_number(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..=15 => format!("{number:?}"),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let cases: [(f32, &str); 9] = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (123_456.78, "123456.78125"),
            (0.1, "0.10000000149011612"),
            (1e-4, "9.999999747378752e-05"),
            (1.5e-4, "0.0001500000071246177"),
            (1e-38, "9.999999350456404e-39"),
            (3e15, "3000000028082176.0"),
            (1e16, "1.0000000272564224e+16"),
        ];
        for (number, expected) in cases {
            let text = python_number(f64::from(number));
            assert_eq!(text, expected);
            assert!(text.len() <= LONGEST_NUMBER, "{text}");
        }
    }

    #[test]
    fn a_state_has_the_same_length_whatever_its_offset() {
        let state = state("nf4", DType::BF16, &[3, 50], true);
        for offset in [0.0, 0.1, 1e-30, 1.234_567_8e-4, f32::MAX] {
            let text = with_offset(&state, offset);
            assert_eq!(text.len(), length(&state, true));
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json["nested_offset"].as_f64(), Some(f64::from(offset)));
        }
    }
}
