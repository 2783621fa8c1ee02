//! Formats the floating-point numbers of an array as numpy does.
//!
//! Each number has as many digits as distinguish it from its neighbours in its type, and at most
//! eight after the point. All have an exponent if the largest is large for its type, the smallest is
//! small, or their ratio is large.

use weighbridge::f16;

/// Digits after the point.
const DIGITS: usize = 8;

/// A number of a type that knows its shortest digits.
pub(super) trait Float: Copy {
    /// From here on, an exponent is shorter.
    const LARGE: f64;
    /// Digits after the first that always tell a number from its neighbours.
    const ENOUGH: usize;
    /// This number as an f64, without rounding.
    fn exact(self) -> f64;
    /// The nearest number of the type.
    fn nearest(value: f64) -> f64;

    /// The fewest digits that are this number in its type, like `-1.25e-3`: the nearest of them, even
    /// ones if there are two.
    fn shortest(self) -> String {
        let exact = self.exact();
        let is_it = |text: &String| text.parse().is_ok_and(|x| Self::nearest(x) == exact);
        (0..Self::ENOUGH)
            .flat_map(|digits| {
                let nearest = format!("{exact:.digits$e}");
                // Below a power of two, numbers of the type lie closer: the nearest digits may be
                // another number, and those above still this one.
                let above = further_from_zero(&nearest);
                [nearest, above]
            })
            .find(is_it)
            .unwrap_or_else(|| format!("{exact:.*e}", Self::ENOUGH))
    }
}

/// The number with one more in its last digit: `1.25e-3` becomes `1.26e-3`.
fn further_from_zero(text: &str) -> String {
    let (significand, power) = text.split_once('e').unwrap_or((text, "0"));
    let mut digits: Vec<u8> = significand.bytes().collect();
    for digit in digits.iter_mut().rev().filter(|digit| digit.is_ascii_digit()) {
        match *digit {
            b'9' => *digit = b'0',
            _ => {
                *digit += 1;
                return format!("{}e{power}", String::from_utf8_lossy(&digits));
            }
        }
    }
    // Nines only: the next one is a power of ten, which was tried with fewer digits.
    text.to_owned()
}

impl Float for f64 {
    const LARGE: f64 = 1e8;
    const ENOUGH: usize = 16;
    fn exact(self) -> f64 {
        self
    }
    fn nearest(value: f64) -> f64 {
        value
    }
}

impl Float for f32 {
    const LARGE: f64 = 1e6;
    const ENOUGH: usize = 8;
    fn exact(self) -> f64 {
        self.into()
    }
    #[allow(clippy::cast_possible_truncation)] // Rounding is the point.
    fn nearest(value: f64) -> f64 {
        f64::from(value as f32)
    }
}

impl Float for f16 {
    const LARGE: f64 = 1e3;
    const ENOUGH: usize = 4;
    fn exact(self) -> f64 {
        self.to_f64()
    }
    fn nearest(value: f64) -> f64 {
        Self::from_f64(value).to_f64()
    }
}

/// All numbers as words of the same width.
pub(super) fn words<F: Float>(numbers: &[F]) -> Vec<String> {
    let format = if needs_exponents(numbers) {
        Format::with_exponents(numbers)
    } else {
        Format::with_points(numbers)
    };
    let format = format.with_room_for_the_others(numbers);
    numbers.iter().map(|&number| format.word(number)).collect()
}

fn finite<F: Float>(numbers: &[F]) -> impl Iterator<Item = F> {
    numbers.iter().copied().filter(|number| number.exact().is_finite())
}

fn needs_exponents<F: Float>(numbers: &[F]) -> bool {
    let sizes = || finite(numbers).map(|x| x.exact().abs()).filter(|&size| size > 0.0);
    let Some(most) = sizes().reduce(f64::max) else { return false };
    let least = sizes().reduce(f64::min).unwrap_or(most);
    most >= F::LARGE || least < F::nearest(1e-4) || F::nearest(most / least) > 1000.0
}

/// How the numbers of an array are written.
struct Format {
    /// Characters before and after the point.
    left: usize,
    right: usize,
    /// Digits after the point and of the exponent, if there is one.
    exponent: Option<(usize, usize)>,
}

impl Format {
    fn with_points<F: Float>(numbers: &[F]) -> Self {
        let mut format = Self { left: 0, right: 0, exponent: None };
        for number in finite(numbers) {
            let (whole, part) = with_point(number);
            format.left = format.left.max(whole.len());
            format.right = format.right.max(part.len());
        }
        format
    }

    fn with_exponents<F: Float>(numbers: &[F]) -> Self {
        let (mut left, mut digits, mut exponent) = (0, 0, 0);
        for number in finite(numbers) {
            let text = number.shortest();
            let (significand, power) = text.split_once('e').unwrap_or((&text, "0"));
            let after_point = digits_after_point(&text);
            left = left.max(if significand.starts_with('-') { 2 } else { 1 });
            digits = digits.max(if after_point > DIGITS {
                let rounded = format!("{:.DIGITS$e}", number.exact());
                let rounded = rounded.split_once('e').map_or("", |(digits, _)| digits);
                digits_after_point(rounded.trim_end_matches('0'))
            } else {
                after_point
            });
            exponent = exponent.max(power.trim_start_matches('-').len().max(2));
        }
        Self { left, right: exponent + 2 + digits, exponent: Some((digits, exponent)) }
    }

    /// Adds room for NaN and infinities.
    fn with_room_for_the_others<F: Float>(mut self, numbers: &[F]) -> Self {
        for other in numbers.iter().map(|x| x.exact()).filter(|x| !x.is_finite()) {
            let len = if other == f64::NEG_INFINITY { 4 } else { 3 };
            self.left = self.left.max(len - (self.right + 1).min(len));
        }
        self
    }

    fn word<F: Float>(&self, number: F) -> String {
        let (exact, width) = (number.exact(), self.left + self.right + 1);
        if !exact.is_finite() {
            let text = if exact.is_nan() { "nan".to_owned() } else { exact.to_string() };
            return format!("{text:>width$}");
        }
        match self.exponent {
            None => {
                let (whole, part) = with_point(number);
                format!("{whole:>left$}.{part:<right$}", left = self.left, right = self.right)
            }
            Some((digits, places)) => {
                let shortest = number.shortest();
                let text = if digits_after_point(&shortest) == digits {
                    shortest
                } else {
                    format!("{exact:.digits$e}")
                };
                let (significand, power) = text.split_once('e').unwrap_or((&text, "0"));
                let point = if digits == 0 { "." } else { "" };
                let (sign, power) = match power.strip_prefix('-') {
                    Some(power) => ('-', power),
                    None => ('+', power),
                };
                let text = format!("{significand}{point}e{sign}{power:0>places$}");
                format!("{text:>width$}")
            }
        }
    }
}

/// How many digits of `-1.25e-3` stand between the point and the exponent.
fn digits_after_point(text: &str) -> usize {
    let significand = text.split_once('e').map_or(text, |(significand, _)| significand);
    significand.split_once('.').map_or(0, |(_, part)| part.len())
}

/// A number without an exponent: what stands before the point, and what after it.
fn with_point<F: Float>(number: F) -> (String, String) {
    let (whole, part) = without_exponent(&number.shortest());
    if part.len() <= DIGITS {
        return (whole, part);
    }
    let rounded = format!("{:.DIGITS$}", number.exact());
    let (whole, part) = rounded.split_once('.').unwrap_or((&rounded, ""));
    (whole.to_owned(), part.trim_end_matches('0').to_owned())
}

/// The digits of `-1.25e-3` before and after the point, were it written without an exponent.
fn without_exponent(text: &str) -> (String, String) {
    let (significand, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, digits) = match significand.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", significand),
    };
    let digits = digits.replace('.', "");
    let before: i32 = power.parse().map_or(1, |power: i32| power + 1);
    let (whole, part) = match usize::try_from(before) {
        Ok(0) => ("0".to_owned(), digits),
        Ok(before) if before >= digits.len() => (format!("{digits:0<before$}"), String::new()),
        Ok(before) => (digits[..before].to_owned(), digits[before..].to_owned()),
        Err(_) => {
            ("0".to_owned(), format!("{}{digits}", "0".repeat(before.unsigned_abs() as usize)))
        }
    };
    (format!("{sign}{whole}"), part.trim_end_matches('0').to_owned())
}
