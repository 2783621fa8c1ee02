//! Names taken apart, into modules and numbers.

use crate::families::pattern;

/// A tensor's name, taken apart.
pub(super) struct Parsed {
    /// Its module, with `#` for numbers.
    pub module: String,
    /// `.weight` or `.bias`.
    pub ending: &'static str,
    /// Its numbers.
    pub numbers: Vec<u64>,
}

/// Takes a GGUF name apart.
pub(super) fn parsed(name: &str) -> Parsed {
    let ending = [".weight", ".bias"].into_iter().find(|ending| name.ends_with(ending));
    let module = &name[..name.len() - ending.map_or(0, str::len)];
    let (module, numbers) = pattern(module);
    Parsed { module, ending: ending.unwrap_or(""), numbers }
}

/// A name with numbers in the places of `#`.
pub(super) fn numbered(pattern: &str, numbers: &[u64]) -> String {
    let mut numbers = numbers.iter();
    let mut name = String::new();
    for (at, part) in pattern.split('#').enumerate() {
        if at > 0 {
            name.push_str(&numbers.next().unwrap_or(&0).to_string());
        }
        name.push_str(part);
    }
    name
}
