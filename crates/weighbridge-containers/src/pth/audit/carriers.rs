//! Files that carry pickles: compressed files, archives, and arrays of objects.
//!
//! ```text
//! x.pkl.gz, x.joblib   gzip, zlib, bzip2, xz, LZMA, zstd around a pickle
//! x.zip, x.npz         members that are one of these or a pickle
//! x.npy                an array of objects: a header, then a pickle
//! ```
//!
//! Only what starts like a pickle or like one of these is unpacked, within the budget.

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
const PICKLED: [&str; 6] = ["pkl", "pickle", "joblib", "dill", "pkl5", "p"];

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
    Ok(is_carrier
        || may_be_pickle(head)
        || npz::object_pickle(&input, opening.budget)?.is_some())
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
    let extension = |path: &std::path::Path| {
        path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
    };
    let stem = input.name().file_stem().map(std::path::PathBuf::from).unwrap_or_default();
    let endings = [extension(input.name()), extension(&stem)];
    let is_pickled = endings.iter().any(|ending| PICKLED.contains(&&**ending));
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
    let is_named_so = is_pickled || compression.is_named(&endings[0]);
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
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => return Err(error),
        Err(_) => return Ok(None),
    };
    if !is_worth_unpacking(start, opening)? {
        return Ok(None);
    }
    check_depth(depth)?;
    let contents = match archive.contents(member, opening.budget, "an archive member") {
        Ok(contents) => contents,
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => return Err(error),
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
