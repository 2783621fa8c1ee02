//! How the files of a format are named, which of them belong together, and what comes first in a
//! directory.
//!
//! Each format states this once, in its folder. Finding a model, naming a file that is not one, and
//! every list of formats in a message are derived from it.
//!
//! Stems (names without their extension) are matched by patterns: `*` at an end stands for
//! anything, `#` at the end for a number.

/// What a format says about its files.
#[derive(Debug)]
pub struct Conventions {
    /// The name of the format in reports; if it can be written, the extension of its files too.
    pub name: &'static str,
    /// What people call the format.
    pub label: &'static str,
    /// What a file is that has one of the extensions, and how it begins: finishes "its name
    /// promises ..".
    pub promise: &'static str,
    /// What its files begin with, as far as that is fixed.
    pub magic: &'static [Magic],
    /// The extensions of its files.
    pub extensions: &'static [Extension],
    /// Where the header of a file lies.
    pub header: Header,
    /// Where the format stands among those that a directory holds; the lowest is taken.
    pub preference: u8,
    /// Whether an `*.index.json` may say which file holds which tensor.
    pub indexed: bool,
    /// Whether each file, or each numbered series, is a model of its own.
    pub independent: bool,
    /// Whether one file of a numbered series, given by name, stands for the whole series.
    pub any_part_is_whole: bool,
    /// Stems of files that are one model together.
    pub together: &'static [&'static str],
    /// Which stems come first, best first; those on one line are equal.
    pub stems: &'static [&'static [&'static str]],
    /// Stems of files that are no weights although they have the extension.
    pub not_weights: &'static [&'static [&'static str]],
    /// Stems of files that accompany a model, and what those files are.
    pub companions: &'static [(&'static str, &'static str)],
    /// Files that are easily taken for this format.
    pub look_alikes: &'static [Signature],
}

/// Where the header of a file lies, for whoever fetches it over a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// It begins the file; so many bytes hold most headers.
    First(u64),
    /// It ends the file.
    Last(u64),
}

/// More than most headers have, and not much more.
pub const USUAL_HEADER: u64 = 128 << 10;

impl Conventions {
    /// A format whose files are models of their own, whatever they are called. Every format fills
    /// in its names and its extensions.
    pub const USUAL: Self = Self {
        name: "",
        label: "",
        promise: "",
        magic: &[],
        extensions: &[],
        header: Header::First(USUAL_HEADER),
        preference: u8::MAX,
        indexed: false,
        independent: true,
        any_part_is_whole: false,
        together: &[],
        stems: &[],
        not_weights: &[],
        companions: &[],
        look_alikes: &[],
    };

    /// Its extension of that name, in any letter case.
    pub fn extension(&self, name: &str) -> Option<&'static Extension> {
        self.extensions.iter().find(|extension| extension.name.eq_ignore_ascii_case(name))
    }

    /// Whether files of this format can begin so.
    pub fn can_begin(&self, head: &[u8]) -> bool {
        self.magic.iter().any(|magic| magic.fits(head))
    }

    /// How early a stem comes in a directory; 0 is first.
    pub fn stem_rank(&self, stem: &str) -> usize {
        let fits = |patterns: &&[&str]| any_fits(patterns, stem);
        self.stems.iter().position(fits).unwrap_or(self.stems.len())
    }

    /// Whether a file of that stem is no weights, although it has the extension.
    pub fn is_not_weights(&self, stem: &str) -> bool {
        self.not_weights.iter().any(|patterns| any_fits(patterns, stem))
    }

    /// Whether a stem is one of those that come first.
    pub fn knows_beginning(&self, stem: &str) -> bool {
        let begins = |pattern: &&str| stem.starts_with(pattern.trim_end_matches('*'));
        self.stems.iter().copied().flatten().any(begins)
    }
}

/// An extension of a format's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// In lower case, without the dot.
    pub name: &'static str,
    /// When the configs beside such a file are read.
    pub configs: Configs,
    /// Whether files of a directory are taken for weights by it.
    pub listed: bool,
    /// Whether other programs use it for other things, so that the name or the first bytes of a
    /// file in a directory must tell.
    pub shared: bool,
}

impl Extension {
    /// An extension that is the format's own.
    pub const fn new(name: &'static str, configs: Configs) -> Self {
        Self { name, configs, listed: true, shared: false }
    }

    /// Others use it as well.
    pub const fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Files of a directory are not taken for weights by it.
    pub const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }
}

/// When the configs beside a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configs {
    /// Never: the file says all about itself, a config beside it belongs to something else.
    Never,
    /// Once a tensor was found that could be the packed form of something.
    IfPacked,
    /// Always.
    Always,
}

/// Bytes at a fixed place of a file.
#[derive(Clone, Copy, Debug)]
pub struct Magic {
    /// Where they are.
    pub offset: usize,
    /// What they are.
    pub bytes: &'static [u8],
}

impl Magic {
    /// Bytes at the start of a file.
    pub const fn start(bytes: &'static [u8]) -> Self {
        Self { offset: 0, bytes }
    }

    /// Whether a file that begins with `head` has them.
    pub fn fits(&self, head: &[u8]) -> bool {
        head.get(self.offset..).is_some_and(|rest| rest.starts_with(self.bytes))
    }
}

/// A kind of file that cannot be read, known by some of its first bytes.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The bytes.
    pub magic: Magic,
    /// What the file is: finishes "this is ..".
    pub what: &'static str,
    /// The way out.
    pub hint: fn() -> String,
    /// Whether a format that can be read may begin like this too, so that all of them are asked
    /// first.
    pub ambiguous: bool,
}

/// Whether one of the patterns fits a stem.
pub fn any_fits(patterns: &[&str], stem: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, stem))
}

fn fits(pattern: &str, stem: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('#') {
        let number = stem.strip_prefix(start);
        return number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    }
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => stem.contains(pattern.trim_matches('*')),
        (Some(end), None) => stem.ends_with(end),
        (None, Some(start)) => stem.starts_with(start),
        (None, None) => stem == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, stem) in [
            ("model", "model"),
            ("model*", "model-x"),
            ("*_optim_states", "mp_rank_00_optim_states"),
            ("*mmproj*", "a-mmproj-b"),
            ("*", "anything"),
            ("weights.#", "weights.00"),
        ] {
            assert!(fits(pattern, stem), "{pattern} {stem}");
        }
        for (pattern, stem) in [
            ("model", "model-x"),
            ("model*", "a-model"),
            ("weights.#", "weights."),
            ("weights.#", "weights.0a"),
        ] {
            assert!(!fits(pattern, stem), "{pattern} {stem}");
        }
    }
}
