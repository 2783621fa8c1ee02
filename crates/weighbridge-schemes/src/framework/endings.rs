//! Suffixes of a model's tensor names: the part after the last dot.
//!
//! A model has a handful of them, regardless of its number of tensors. For every tensor, schemes
//! look for companions under a dozen names. If no name has such a suffix, they need not build the
//! name and look it up.

/// Maximum number of suffixes. A list of more is not worth keeping.
const MOST: usize = 64;

/// The suffixes; `None` if there are too many.
#[derive(Debug)]
pub(crate) struct Endings<'a>(Option<Vec<&'a str>>);

impl<'a> Endings<'a> {
    pub(crate) fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let mut endings: Vec<&str> = Vec::new();
        for name in names {
            let ending = ending(name);
            if !endings.contains(&ending) {
                endings.push(ending);
            }
            if endings.len() > MOST {
                return Self(None);
            }
        }
        Self(Some(endings))
    }

    /// Whether all suffixes are among these.
    pub(crate) fn are_among(&self, known: &[&str]) -> bool {
        self.0.as_ref().is_some_and(|all| all.iter().all(|ending| known.contains(ending)))
    }

    /// Whether a name may end in `suffix`; false only if none does.
    pub(crate) fn may_end_with(&self, suffix: &str) -> bool {
        let Some(endings) = &self.0 else { return true };
        endings.iter().any(|ending| agree(ending.as_bytes(), suffix.as_bytes()))
    }
}

/// Whether a name with this ending may end in `suffix`: the shorter ends the longer, and in a
/// longer suffix, a dot precedes the ending. It is called a hundred times per model. Searching for
/// the dot first took a third of the time of opening a small file.
fn agree(ending: &[u8], suffix: &[u8]) -> bool {
    match suffix.len().checked_sub(ending.len() + 1) {
        Some(dot) => suffix[dot] == b'.' && suffix[dot + 1..] == *ending,
        None => ending.ends_with(suffix),
    }
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_that_some_name_has_is_never_denied() {
        let names = ["a.b.weight", "a.b.weight_scale_inv", "plain", "x.", ".y", "ö.scäle"];
        let endings = Endings::of(names.iter().copied());
        for name in names {
            for (at, _) in name.char_indices() {
                assert!(endings.may_end_with(&name[at..]), "{}", &name[at..]);
            }
        }
        for absent in ["_scale", ".scale", ".b.weigh", ".plain_scale", "weights"] {
            assert!(!endings.may_end_with(absent), "{absent}");
        }
    }

    #[test]
    fn too_many_endings_deny_nothing() {
        let names: Vec<String> = (0..=MOST).map(|i| format!("t{i}")).collect();
        assert!(Endings::of(names.iter().map(String::as_str)).may_end_with("absent"));
        assert!(!Endings::of(names[1..].iter().map(String::as_str)).may_end_with("absent"));
    }
}
