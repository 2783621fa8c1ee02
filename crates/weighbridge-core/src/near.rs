//! Suggestions for mistyped names.

use crate::text::{listed, shortened};

/// Maximum number of suggestions.
const MOST: usize = 3;

/// The closest few of these names, best first. A name that differs only in letter case or in
/// punctuation is the only suggestion.
pub fn closest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let allowed = (wanted.chars().count() / 4).max(1);
    let bare = letters(&wanted);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            if !bare.is_empty() && letters(&lower) == bare {
                return Some((0, name));
            }
            let begins =
                wanted.len() > 2 && (lower.starts_with(&wanted) || wanted.starts_with(&lower));
            let distance = if begins { 1 } else { distance(&wanted, &lower, allowed)? };
            Some((distance.max(1), name))
        })
        .collect();
    close.sort_unstable();
    if close.first().is_some_and(|(distance, _)| *distance == 0) {
        close.retain(|(distance, _)| *distance == 0);
    }
    close.into_iter().take(MOST).map(|(_, name)| shortened(name, 100)).collect()
}

/// `did you mean A or B?`, if some of these names are close.
pub fn did_you_mean<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let close = closest(typed, names);
    (!close.is_empty()).then(|| format!("did you mean {}?", listed(&close, "or")))
}

/// Letters and digits alone.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// How many characters must be put in, taken out, changed or swapped with the next; `None` if more
/// than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    /// Longer names are not typed.
    const LONGEST: usize = 300;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > LONGEST {
        return None;
    }
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = above[j] + usize::from(from != to);
            let mut least = changed.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && *from == b[j - 1] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger() {
        let names = ["model.safetensors", "README.md", "model.gguf", "Qwen3-8B"];
        let close = |typed| closest(typed, names.into_iter());
        assert_eq!(close("modle.safetensors"), ["model.safetensors"]);
        assert_eq!(close("model.saftensors"), ["model.safetensors"]);
        assert_eq!(close("qwen3-8b"), ["Qwen3-8B"]);
        assert_eq!(close("Qwen3"), ["Qwen3-8B"]);
        assert!(close("something else entirely").is_empty());
        let types = ["Q4_K", "Q4_K_M", "Q4_K_S"];
        assert_eq!(closest("q4km", types.into_iter()), ["Q4_K_M"], "punctuation alone");
        assert_eq!(closest("Q4_K_X", types.into_iter()), types);
    }

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting", 5), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("", "ab", 2), Some(2));
        assert_eq!(distance("gtpq", "gptq", 1), Some(1), "swapped");
    }
}
