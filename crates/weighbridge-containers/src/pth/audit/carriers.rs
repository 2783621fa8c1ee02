//! Files that carry pickles: compressed files, archives, and arrays of objects.
//!
//! ```text
//! x.pkl.gz, x.joblib   gzip, zlib, bzip2, xz, LZMA, zstd around a pickle
//! x.zip, x.npz         members that are one of these or a pickle
//! x.npy                an array of objects: a header, then a pickle
//! ```
//!
//! Only what starts like a pickle or like one of these is unpacked, within the budget.

use std::path::Path;

use crate::catalog::Finding;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::streams::StreamCompression;
use crate::text::shortened;

use super::super::super::zip::{Archive, Member, looks_like_zip};
use super::super::super::{Audited, Opening, PROBE_BYTES, Probe, Recognition};
use super::super::{legacy, npz, recognize_zip};
use super::{audit_at, may_be_pickle};

/// Files in files; what goes deeper hides something.
const MAX_NESTING: u32 = 4;

/// Extensions of files that programs write pickles to, whatever they compress them with.
const PICKLED: [&str; 4] = ["pkl", "pickle", "joblib", "dill"];

/// Whether a file is named as one that holds a pickle.
pub(super) fn is_pickled(path: &Path) -> bool {
    PICKLED.contains(&&*extension(path))
}

/// The extension of a file, in lower case.
fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The dangerous globals that a file carries; `None` if it is no such file, or carries none.
pub(super) fn audit(
    input: &Input,
    head: &[u8],
    opening: &Opening<'_>,
    depth: u32,
) -> Result<Option<Audited>> {
    if looks_like_zip(head) {
        return match recognize_zip(&Probe { head, input }) {
            Recognition::No => archive(input, opening, depth),
            _ => Ok(None),
        };
    }
    if npz::object_pickle(input, opening.budget)?.is_some() {
        return array(input, opening).map(Some);
    }
    match StreamCompression::of(head) {
        Some(compression) => compressed(compression, input, opening, depth),
        None => Ok(None),
    }
}

/// Whether a file is one of these, or a pickle, by its first bytes.
fn is_worth_unpacking(head: &[u8], opening: &Opening<'_>) -> Result<bool> {
    let is_carrier = looks_like_zip(head) || StreamCompression::of(head).is_some();
    let input = Input::from_bytes(head.to_vec(), "");
    Ok(is_carrier || may_be_pickle(head) || npz::object_pickle(&input, opening.budget)?.is_some())
}

fn check_depth(depth: u32) -> Result<()> {
    if depth < MAX_NESTING {
        return Ok(());
    }
    Err(Error::limit(format!("archives are nested more than {MAX_NESTING} deep")))
}

fn compressed(
    compression: StreamCompression,
    input: &Input,
    opening: &Opening<'_>,
    depth: u32,
) -> Result<Option<Audited>> {
    // `x.pkl.gz` and `x.joblib` both are.
    let stem = input.name().file_stem().map(Path::new).unwrap_or(Path::new(""));
    let is_pickled = is_pickled(input.name()) || is_pickled(stem);
    if compression == StreamCompression::Lz4 && !is_pickled {
        return Ok(None);
    }
    let budget = opening.budget;
    let start = compression.start(input, PROBE_BYTES, budget)?;
    if !is_worth_unpacking(&start, opening)? {
        return Ok(None);
    }
    check_depth(depth)?;
    let contents = compression.contents(input, budget, "the compressed file")?;
    let inner = Input::from_bytes(contents, &input.name().to_string_lossy());
    let is_named_so = is_pickled || compression.is_named(&extension(input.name()));
    let found = audit_at(&inner, opening, depth.saturating_add(1))?;
    let what = |what: String| format!("{what} in {}", compression.name());
    Ok(found.map(|found| Audited { what: what(found.what), is_named_so, ..found }))
}

fn archive(input: &Input, opening: &Opening<'_>, depth: u32) -> Result<Option<Audited>> {
    let archive = match Archive::open(input, opening.budget) {
        Ok(archive) => archive,
        Err(error) if error.kind() == ErrorKind::Malformed => return Ok(None),
        Err(error) => return Err(error),
    };
    let (mut dangers, mut carries) = (Vec::new(), false);
    for member in archive.members() {
        let name = archive.name(member);
        let Some(found) = in_member(&archive, member, opening, depth)? else { continue };
        carries = true;
        dangers.extend(found.dangers.into_iter().map(|finding| Finding {
            message: format!("{} in it: {}", shortened(name, 80), finding.message),
            ..finding
        }));
    }
    let what = "an archive with pickles".to_owned();
    Ok(carries.then_some(Audited { what, dangers, is_named_so: true }))
}

/// The dangerous globals in a member of an archive. One that is damaged cannot be loaded either.
fn in_member(
    archive: &Archive<'_>,
    member: &Member,
    opening: &Opening<'_>,
    depth: u32,
) -> Result<Option<Audited>> {
    let mut scratch = Vec::new();
    let start = match archive.start_of(member, PROBE_BYTES, &mut scratch) {
        Ok(start) => start,
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => {
            return Err(error);
        }
        Err(_) => return Ok(None),
    };
    if !is_worth_unpacking(start, opening)? {
        return Ok(None);
    }
    check_depth(depth)?;
    let contents = match archive.contents(member, opening.budget, "an archive member") {
        Ok(contents) => contents,
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => {
            return Err(error);
        }
        Err(_) => return Ok(None),
    };
    opening.budget.charge(contents.len() as u64, "an archive member")?;
    let inner = Input::from_bytes(contents.into_owned(), archive.name(member));
    audit_at(&inner, opening, depth.saturating_add(1))
}

/// An array of objects.
fn array(input: &Input, opening: &Opening<'_>) -> Result<Audited> {
    let budget = opening.budget;
    let start = npz::object_pickle(input, budget)?.unwrap_or(0);
    let len = input.whole_len()?.saturating_sub(start);
    let bytes = input.bytes(start, len, budget, "the array of objects")?.into_owned();
    let inner = Input::from_bytes(bytes, "");
    let dangers = super::dangers(legacy::open(&inner, opening)?);
    let is_named_so = Probe { head: &[], input }.is_named_as(npz::array_conventions());
    Ok(Audited { what: "an array of objects (a pickle)".to_owned(), dangers, is_named_so })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::limits::{Budget, Limits};

    /// A call of a function with a text, in protocol 2.
    const ATTACK: &[u8] = b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R.";
    const HARMLESS: &[u8] = b"\x80\x02}q\0.";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn npy(descr: &str, contents: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}\n");
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), contents].concat()
    }

    /// An archive of one stored member.
    fn zip(name: &str, contents: &[u8]) -> Vec<u8> {
        let (sum, len) = (crc32fast::hash(contents), u32::try_from(contents.len()).unwrap());
        let fields = [
            &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &sum.to_le_bytes(),
            &len.to_le_bytes(),
            &len.to_le_bytes(),
            &u16::try_from(name.len()).unwrap().to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        let local = [b"PK\x03\x04", &fields[..], name.as_bytes(), contents].concat();
        let entry = [b"PK\x01\x02\x14\0", &fields[..], &[0; 14], name.as_bytes()].concat();
        let [at, size] = [&local, &entry].map(|bytes| u32::try_from(bytes.len()).unwrap());
        let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &size.to_le_bytes()[..], &at.to_le_bytes()];
        [&local[..], &entry, &end.concat(), &[0, 0]].concat()
    }

    /// What a file is said to be, and how many dangerous things are in it.
    fn audited(name: &str, bytes: Vec<u8>) -> Option<(String, usize, bool)> {
        let budget = Budget::new(Limits::default());
        let found = crate::audit(&Input::from_bytes(bytes, name), &budget).unwrap();
        found.map(|found| (found.what, found.dangers.len(), found.is_named_so))
    }

    #[test]
    fn carried_attacks_are_found() {
        for (name, bytes, what, is_named_so) in [
            ("x.pkl.gz", gzip(ATTACK), "a pickle in gzip", true),
            ("x.joblib", gzip(ATTACK), "a pickle in gzip", true),
            ("x.json", gzip(ATTACK), "a pickle in gzip", false),
            ("x.gz", gzip(&gzip(ATTACK)), "a pickle in gzip in gzip", true),
            ("x.npy", npy("|O", ATTACK), "an array of objects (a pickle)", true),
            ("x.txt", npy("|O", ATTACK), "an array of objects (a pickle)", false),
            ("x.zip", zip("a/b", ATTACK), "an archive with pickles", true),
            ("x.npz", zip("a.npy", &npy("|O", ATTACK)), "an archive with pickles", true),
            ("x.zip", zip("a.zip", &zip("b", &gzip(ATTACK))), "an archive with pickles", true),
            ("x.gz", gzip(&zip("a/data.pkl", ATTACK)), "a pickle in gzip", true),
        ] {
            assert_eq!(audited(name, bytes), Some((what.to_owned(), 1, is_named_so)), "{what}");
        }
    }

    #[test]
    fn what_carries_no_attack_raises_no_alarm() {
        assert_eq!(audited("x.gz", gzip(HARMLESS)), Some(("a pickle in gzip".into(), 0, true)));
        for (name, bytes) in [
            ("x.csv.gz", gzip(b"name,value\nos,system\n")),
            ("x.npy", npy("<f4", ATTACK)),
            ("x.zip", zip("a.txt", b"hello")),
            ("x.gz", b"\x1f\x8b\x08 damaged".to_vec()),
            ("x.lz4", b"\x04\x22\x4d\x18....".to_vec()),
        ] {
            assert_eq!(audited(name, bytes), None, "{name}");
        }
    }

    #[test]
    fn nested_files_and_bombs_are_limited() {
        let deep = (0..9).fold(ATTACK.to_vec(), |inner, _| gzip(&inner));
        let budget = Budget::new(Limits::default());
        let error = crate::audit(&Input::from_bytes(deep, "x.gz"), &budget).err().unwrap();
        assert!(error.to_string().contains("nested"), "{error}");
        let bomb = gzip(&[HARMLESS, &vec![b'N'; 4 << 20]].concat());
        let tight = Budget::new(Limits::default().max_allocation(1 << 20));
        assert!(crate::audit(&Input::from_bytes(bomb, "x.gz"), &tight).is_err());
        let lz4 = Input::from_bytes(&b"\x04\x22\x4d\x18...."[..], "x.pkl.lz4");
        assert!(crate::audit(&lz4, &budget).is_err());
    }

    #[test]
    fn several_pickles_in_a_row_are_all_searched() {
        let found = audited("x.pkl", [HARMLESS, HARMLESS, ATTACK].concat());
        assert_eq!(found, Some(("a pickle".into(), 1, true)));
        let found = audited("x.pkl", [HARMLESS, b"import os"].concat());
        assert_eq!(found, Some(("a pickle".into(), 0, true)));
    }
}
