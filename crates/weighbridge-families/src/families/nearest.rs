//! The family whose name is most like one that is not known.

use super::{FAMILIES, Family, NAMES};

/// Names with fewer equal letters at the start are not alike.
const FEWEST: usize = 4;

/// The name of the family that a class or a `model_type` is most like. A newer version of a model has the
/// beginning of its name in common with an older one.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    let wanted = plain(name);
    let alike = |family: &Family| {
        let names = family.classes.iter().chain(family.types).chain(family.also);
        names.map(|known| likeness(&wanted, &plain(known))).max().unwrap_or_default()
    };
    let all = FAMILIES.iter().zip(NAMES).map(|(family, (_, name))| (alike(family), name));
    let best = all.rev().max_by_key(|(alike, _)| *alike)?;
    (best.0.0 >= FEWEST).then(|| best.1.to_lowercase())
}

/// A name without what classes add, in small letters and digits only.
fn plain(name: &str) -> String {
    let name = name.split("For").next().unwrap_or_default();
    let name = name.strip_suffix("Model").unwrap_or(name);
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// How many letters two names begin with, and how few more the known one has.
fn likeness(wanted: &str, known: &str) -> (usize, isize) {
    let same = wanted.bytes().zip(known.bytes()).take_while(|(a, b)| a == b).count();
    (same, -known.len().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn versions_of_a_model_are_alike() {
        let near = |name: &str| nearest(name).unwrap_or_default();
        assert_eq!(near("Olmo9ForCausalLM"), "olmo");
        assert_eq!(near("qwen3_6_moe"), "qwen3");
        assert_eq!(near("granite_new"), "granite");
        assert_eq!(nearest("Zebra"), None);
    }
}
