//! Finds names similar to a mistyped one.

/// Number of suggestions.
const MOST: usize = 3;

/// The most similar names, best first: equal last components, names that contain the typed one, and
/// typing mistakes.
pub(super) fn names<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = typed.to_lowercase();
    let mut close: Vec<(usize, &str)> =
        names.filter_map(|name| Some((how_far(&wanted, &name.to_lowercase())?, name))).collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// The distance of a name from the typed one; `None` if they are not similar.
fn how_far(typed: &str, name: &str) -> Option<usize> {
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let slips = distance(typed, name, (typed.chars().count() / 4).max(1));
    let (typed_last, name_last) = (last(typed), last(name));
    match slips {
        Some(slips) => Some(slips),
        None if typed_last == name_last => Some(10),
        None if typed.len() > 2 && name.contains(typed) => Some(11),
        None if distance(&typed_last, &name_last, typed_last.len() / 4).is_some() => Some(12),
        None => None,
    }
}

/// The edit distance; `None` if it exceeds `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    /// Longer names are not compared.
    const LONGEST: usize = 200;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > LONGEST {
        return None;
    }
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let changed = above[column] + usize::from(from != to);
            line.push(changed.min(above[column + 1] + 1).min(line[column] + 1));
        }
        above = line;
    }
    above.last().copied().filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    #[test]
    fn slips_and_endings() {
        let all = ["general.architecture", "general.name", "llama.context_length", "config.vocab"];
        let near = |typed| super::names(typed, all.into_iter());
        assert_eq!(near("general.architectur"), ["general.architecture"]);
        assert_eq!(near("genral.name"), ["general.name"]);
        assert_eq!(near("context_length"), ["llama.context_length"]);
        assert_eq!(near("model.vocab"), ["config.vocab"]);
        assert_eq!(near("length"), ["llama.context_length"]);
        assert!(near("rope_scaling").is_empty());
    }
}
