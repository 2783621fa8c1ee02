//! File name conventions of a format: names, shards that belong together, and precedence in a
//! directory.
//!
//! Each format states them once, in its folder. Finding a model, explaining other files, and every
//! list of formats in a message use them.
//!
//! Patterns match stems (names without extension): `*` at either end matches anything, `#` at the
//! end matches a number.

/// The file conventions of a format.
#[derive(Debug)]
pub struct Conventions {
    /// The name of the format in reports; if it can be written, the extension of its files too.
    pub name: &'static str,
    /// The display name of the format.
    pub label: &'static str,
    /// A description of a file with one of the extensions and its first bytes. Completes "its name
    /// promises ..".
    pub promise: &'static str,
    /// The magic bytes of its files, if fixed.
    pub magic: &'static [Magic],
    /// The extensions of its files.
    pub extensions: &'static [Extension],
    /// The position of the header in a file.
    pub header: Header,
    /// The precedence among formats in one directory; the lowest wins.
    pub preference: u8,
    /// Whether an `*.index.json` may say which file holds which tensor.
    pub indexed: bool,
    /// Whether each file, or each numbered series, is a model of its own.
    pub independent: bool,
    /// Whether naming one shard of a numbered series opens the whole series.
    pub any_part_is_whole: bool,
    /// Stems of files that are one model together.
    pub together: &'static [&'static str],
    /// Preferred stems, best first; stems in one slice are equal.
    pub stems: &'static [&'static [&'static str]],
    /// Stems of files that have the extension but are not weights.
    pub not_weights: &'static [&'static [&'static str]],
    /// Stems of files that accompany a model, and what those files are.
    pub companions: &'static [(&'static str, &'static str)],
    /// Files that are easily mistaken for this format.
    pub look_alikes: &'static [Signature],
}

/// The position of the header in a file, for prefetching over a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// At the start of the file; this many bytes cover most headers.
    First(u64),
    /// At the end of the file; this many bytes cover most headers.
    Last(u64),
}

/// A prefetch size slightly above most headers.
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

    /// Returns its extension with this name, ignoring case.
    pub fn extension(&self, name: &str) -> Option<&'static Extension> {
        self.extensions.iter().find(|extension| extension.name.eq_ignore_ascii_case(name))
    }

    /// Returns whether files of this format can start with these bytes.
    pub fn can_begin(&self, head: &[u8]) -> bool {
        self.magic.iter().any(|magic| magic.fits(head))
    }

    /// Returns the precedence of a stem in a directory; 0 is first.
    pub fn stem_rank(&self, stem: &str) -> usize {
        let fits = |patterns: &&[&str]| any_fits(patterns, stem);
        self.stems.iter().position(fits).unwrap_or(self.stems.len())
    }

    /// Returns whether a file with this stem and the extension is not weights.
    pub fn is_not_weights(&self, stem: &str) -> bool {
        self.not_weights.iter().any(|patterns| any_fits(patterns, stem))
    }

    /// Returns whether a stem is one of the preferred ones.
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
    /// When the configs next to such a file are read.
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

/// When the configs next to a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configs {
    /// Never: the file is self-describing, and a config next to it belongs to another model.
    Never,
    /// Only if a tensor may be in packed form.
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

/// An unsupported kind of file, recognised by some of its first bytes.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The bytes.
    pub magic: Magic,
    /// What the file is: finishes "this is ..".
    pub what: &'static str,
    /// Advice for the user.
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
