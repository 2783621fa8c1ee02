//! Pickles next to the opened weights: recognised by content and searched for attacks.
//!
//! Python loads a pickle whatever it is called, and runs it up to the first byte that makes no
//! sense. So neither the extension nor a clean end is asked for.

use crate::catalog::{Catalog, Finding};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::{Budget, Limits};

use super::super::zip::looks_like_zip;
use super::super::{Audited, Opening, PROBE_BYTES, Probe, Recognition};
use super::pickle::{Class, Extent, Program, extent, is_joblib, run};
use super::report::Checkpoint;

mod carriers;

/// The kind of finding for a global that only an attack needs.
const DANGEROUS: &str = "dangerous-global";

/// The kind of finding for a file that may hide one.
const UNCHECKED: &str = "unchecked";

/// Most bytes that are read of a file that may be a pickle of protocol 0 or 1. These have no first
/// bytes of their own, so any text could be one.
const MOST_UNMARKED: u64 = 64 << 20;

/// The dangerous globals of a file; `None` if it is not a pickle and carries none.
pub(super) fn audit(input: &Input, opening: &Opening<'_>) -> Result<Option<Audited>> {
    audit_at(input, opening, 0)
}

/// `depth` counts the files around this one.
fn audit_at(input: &Input, opening: &Opening<'_>, depth: u32) -> Result<Option<Audited>> {
    let head = input.head(PROBE_BYTES)?;
    if let Some(carried) = carriers::audit(input, &head, opening, depth)? {
        return Ok(Some(carried));
    }
    let dangers = pickle(input, &head, opening)?;
    let probe = Probe { head: &head, input };
    let is_named_so = probe.is_named_as(&super::files::FILES) || carriers::is_pickled(input.name());
    Ok(dangers.map(|dangers| Audited { what: "a pickle".to_owned(), dangers, is_named_so }))
}

/// The dangerous globals of a pickle, or of an archive of PyTorch; `None` if it is none.
fn pickle(input: &Input, head: &[u8], opening: &Opening<'_>) -> Result<Option<Vec<Finding>>> {
    let is_program = if looks_like_zip(head) {
        super::recognize_zip(&Probe { head, input }) != Recognition::No
    } else if is_marked(head) {
        // A length at the start of another format may look like the mark.
        !matches!(extent(head, 0), Extent::Broken(_)) || is_attack(head) || is_joblib(head)
    } else if super::is_tar(head) {
        true
    } else {
        return unmarked(head, input, opening);
    };
    if !is_program {
        return Ok(None);
    }
    let catalog = super::open(input, opening)?;
    Ok(Some(dangers(catalog)))
}

/// Whether a file may be a pickle, by its first bytes.
fn may_be_pickle(head: &[u8]) -> bool {
    !matches!(extent(head, 0), Extent::Broken(_)) && !head.is_empty()
        || is_attack(head)
        || is_marked(head) && is_joblib(head)
}

/// Whether the first bytes of a file are those of a pickle that only an attack needs.
pub(super) fn is_attack(head: &[u8]) -> bool {
    let Ok(program) = run(head, 0, &Budget::new(Limits::default())) else { return false };
    if is_marked(head) {
        program.heap.globals().iter().any(|global| global.class == Class::Dangerous)
    } else {
        calls_dangerous(&program)
    }
}

/// Whether a file says that it is a pickle.
fn is_marked(head: &[u8]) -> bool {
    matches!(head, [0x80, 0..=5, ..])
}

/// A file of opcodes without a first one that marks it as a pickle.
fn unmarked(head: &[u8], input: &Input, opening: &Opening<'_>) -> Result<Option<Vec<Finding>>> {
    if matches!(extent(head, 0), Extent::Broken(_)) && !is_attack(head) {
        return Ok(None);
    }
    let whole = input.whole_len()?;
    let bytes = input.bytes(0, whole.min(MOST_UNMARKED), opening.budget, "the pickle")?;
    let program = run(&bytes, 0, opening.budget)?;
    if !calls_dangerous(&program) {
        // A long harmless start may hide an attack behind it.
        let is_cut = whole > MOST_UNMARKED && matches!(extent(&bytes, 0), Extent::More(_));
        let message = "its first 64 MiB are instructions of a pickle without an end";
        return if is_cut { Err(Error::limit(message)) } else { Ok(None) };
    }
    let mut file = Checkpoint::new(opening, Catalog::default());
    file.report(&program.heap)?;
    Ok(Some(dangers(file.finish())))
}

/// Whether a dangerous function is called. That it is named is not enough for a file that may be
/// a list of words.
fn calls_dangerous(program: &Program<'_>) -> bool {
    let heap = &program.heap;
    (0..u32::try_from(heap.len()).unwrap_or(u32::MAX)).any(|id| {
        let object = heap.object(id);
        object.is_some_and(|object| heap.class(object.class) == Some(Class::Dangerous))
    })
}

fn dangers(catalog: Catalog) -> Vec<Finding> {
    let is_danger = |finding: &Finding| [DANGEROUS, UNCHECKED].contains(&finding.kind);
    catalog.findings.into_iter().filter(is_danger).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_need_no_mark_and_no_end() {
        for attack in [
            &b"cos\nsystem\n(S'id'\ntR."[..],
            b"cos\nsystem\n(S'id'\ntRgarbage",
            b"(S'id'\nios\nsystem\n.",
            b"\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00id\x85R.",
            b"\x80\x01cos\nsystem\n(S'id'\ntR.",
        ] {
            assert!(is_attack(attack), "{}", attack.escape_ascii());
        }
    }

    #[test]
    fn texts_are_not_attacks() {
        for text in [
            &b"cos\nsystem\nsin\ntan\n"[..],
            b"code\neval\n",
            b"import os\nos.system('id')\n",
            b"{\"a\": \"cos\\nsystem\\n\"}",
            b"",
            b"\x80\x02}q\x00.",
        ] {
            assert!(!is_attack(text), "{}", text.escape_ascii());
        }
    }
}
