//! What vouches for the bytes of the sources: checksums that their origins state. Where nothing does,
//! that is said.

use crate::error::Result;
use crate::input::Vouched;
use crate::model::Model;
use crate::source::Source;
use crate::text::escaped;

/// Notes on the files for whose bytes nothing vouches; an error if a file is not what its origin
/// states.
pub(super) fn unvouched<'m>(models: impl Iterator<Item = &'m Model>) -> Result<Vec<String>> {
    let inputs = models.flat_map(|model| model.sources().iter().map(Source::input));
    let (mut not_whole, mut unstated) = (Vec::new(), Vec::new());
    for input in inputs {
        let names = match input.vouch()? {
            Vouched::Yes => continue,
            Vouched::NotWhole => &mut not_whole,
            Vouched::Unstated => &mut unstated,
        };
        names.push(escaped(&input.name().to_string_lossy()).into_owned());
    }
    let reasons = [
        (not_whole, "not every byte was read once and in order, so their SHA-256 was not checked"),
        (unstated, "the server states neither a checksum nor a strong ETag"),
    ];
    let of = |(names, why): &(Vec<String>, &str)| note(names, why);
    Ok(reasons.iter().filter_map(of).collect())
}

fn note(names: &[String], why: &str) -> Option<String> {
    let first = names.first()?;
    let more = match names.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("nothing vouches for the bytes of {first}{more}: {why}"))
}
