//! Names that are close to the one that was typed.

/// The closest few of these names, best first.
pub(in crate::model) fn closest<'a>(
    typed: &str,
    names: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let allowed = (wanted.chars().count() / 4).max(1);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let begins =
                wanted.len() > 2 && (lower.starts_with(&wanted) || wanted.starts_with(&lower));
            let distance = if begins { 1 } else { distance(&wanted, &lower, allowed)? };
            Some((distance, name))
        })
        .collect();
    close.sort();
    close.into_iter().take(3).map(|(_, name)| crate::text::shortened(name, 100)).collect()
}

/// How many characters must be put in, taken out or changed; `None` if more than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > 300 {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
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
    }

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting", 5), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("", "ab", 2), Some(2));
    }
}
