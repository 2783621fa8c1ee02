//! Names that differ by a prefix.

use std::collections::HashMap;

/// Modules that libraries wrap around a model.
const WRAPPERS: &[&str] =
    &["module", "model", "language_model", "text_model", "transformer", "base_model", "_orig_mod"];

/// The most dots in a prefix.
const DEEPEST: usize = 16;

/// The prefix that only names of A have and that makes the most pairs, with those pairs; `None` if
/// they are less than half of what could be paired.
pub(super) fn longer<'n>(
    a: &[(usize, &'n str)],
    b: &[(usize, &str)],
) -> Option<(&'n str, Vec<(usize, usize)>)> {
    let theirs: HashMap<&str, usize> = b.iter().map(|&(index, name)| (name, index)).collect();
    let mut found: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for &(index, name) in a {
        for (dot, _) in name.match_indices('.').take(DEEPEST) {
            if let Some(&other) = theirs.get(&name[dot + 1..]) {
                found.entry(&name[..=dot]).or_default().push((index, other));
            }
        }
    }
    let enough = a.len().min(b.len()).div_ceil(2);
    found
        .into_iter()
        .filter(|(prefix, pairs)| pairs.len() >= enough && !has_number(prefix))
        .max_by_key(|(prefix, pairs)| (pairs.len(), std::cmp::Reverse(prefix.len())))
}

/// Whether one of its parts is a number: then it leads into a layer and is no wrapper.
fn has_number(prefix: &str) -> bool {
    prefix.split('.').any(|part| part.parse::<u64>().is_ok())
}

/// A name without the wrappers in front of it.
pub(super) fn bare(mut name: &str) -> &str {
    while let Some((first, rest)) = name.split_once('.') {
        if !WRAPPERS.contains(&first) || !rest.contains('.') {
            break;
        }
        name = rest;
    }
    name
}

/// Pairs of names that are equal without their wrappers, unless two of one model become equal.
pub(super) fn unwrapped(a: &[(usize, &str)], b: &[(usize, &str)]) -> Vec<(usize, usize)> {
    let index = |names: &[(usize, &str)]| {
        let mut found: HashMap<String, Option<usize>> = HashMap::new();
        for &(index, name) in names {
            let entry = found.entry(bare(name).to_owned());
            entry.and_modify(|one| *one = None).or_insert(Some(index));
        }
        found
    };
    let (ours, theirs) = (index(a), index(b));
    let mut pairs: Vec<(usize, usize)> =
        ours.into_iter().filter_map(|(name, one)| Some((one?, (*theirs.get(&name)?)?))).collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_must_explain_half() {
        let a = [(0, "model.norm.weight"), (1, "model.a.weight"), (2, "vision.norm.weight")];
        let b = [(0, "norm.weight"), (1, "a.weight")];
        let (prefix, pairs) = longer(&a, &b).unwrap();
        assert_eq!((prefix, pairs.len()), ("model.", 2));
        let b = [(0, "norm.weight"), (1, "b.weight"), (2, "c.weight"), (3, "d.weight")];
        assert!(longer(&a, &b).is_none());
        assert!(longer(&[(0, "model.layers.0.norm.weight")], &[(0, "norm.weight")]).is_none());
    }

    #[test]
    fn wrappers_come_off_in_any_order() {
        assert_eq!(bare("language_model.model.layers.0.x"), "layers.0.x");
        assert_eq!(bare("model.language_model.layers.0.x"), "layers.0.x");
        assert_eq!(bare("model.weight"), "model.weight");
    }

    #[test]
    fn two_that_become_one_do_not_pair() {
        let a = [(0, "model.x.w"), (1, "module.x.w"), (2, "model.y.w")];
        assert_eq!(unwrapped(&a, &[(5, "x.w"), (6, "y.w")]), [(2, 6)]);
    }
}
