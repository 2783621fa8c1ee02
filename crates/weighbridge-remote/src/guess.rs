//! Which bytes of a file are asked for first: more than most headers have, and not much more.

use std::ops::Range;

use weighbridge_containers::conventions::{Header, USUAL_HEADER as USUAL};
use weighbridge_containers::{self as containers, Container};

/// A shard of a set: there are many, and each header is short.
const SHARD: u64 = 16 << 10;
/// Short texts are read whole.
const TEXT: u64 = 16 << 20;

/// The first bytes to ask for, by a file's name and, where it is known, its length.
pub(crate) fn first(name: &str, len: Option<u64>) -> Range<u64> {
    let most = len.unwrap_or(u64::MAX);
    match (header(name), len) {
        (Some(Header::Last(bytes)), Some(len)) => len.saturating_sub(bytes)..len,
        (Some(Header::First(bytes)), _) if bytes > USUAL => 0..bytes.min(most),
        (None, Some(len)) if is_text(name) && len <= TEXT => 0..len,
        _ if is_shard(name) => 0..SHARD.min(most),
        _ => 0..USUAL.min(most),
    }
}

/// Where the header of a file lies, by its name.
fn header(name: &str) -> Option<Header> {
    format(name).map(|format| format.conventions().header)
}

fn format(name: &str) -> Option<&'static dyn Container> {
    let (_, extension) = name.rsplit_once('.')?;
    containers::by_extension(extension).map(|(format, _)| format)
}

fn is_text(name: &str) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    extension.eq_ignore_ascii_case("json")
}

/// Whether a file is a shard whose header begins it, and an index may say how long that is.
pub(crate) fn is_indexed_shard(name: &str) -> bool {
    let is_indexed = format(name).is_some_and(|format| format.conventions().indexed);
    is_indexed && matches!(header(name), Some(Header::First(_))) && is_shard(name)
}

/// The first bytes of a shard, where its index is known: an index and the headers name the same
/// tensors, and a header says about twice as much of each.
pub(crate) fn first_of_shard(index: u64, shards: u64) -> u64 {
    (index / shards.max(1)).saturating_mul(2).clamp(SHARD, USUAL)
}

/// How much more is fetched when a header goes on behind the `read` bytes that are known.
pub(crate) fn more(name: &str, read: u64) -> u64 {
    let at_once = match header(name) {
        Some(Header::First(bytes)) if bytes > USUAL => bytes / 4 * 3,
        _ => 0,
    };
    (read / 5 + at_once).max(64 << 10)
}

/// Whether a name has `-00001-of-00163` before its ending.
pub(crate) fn is_shard(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let Some((rest, total)) = stem.rsplit_once("-of-") else { return false };
    let Some((_, index)) = rest.rsplit_once('-') else { return false };
    let counts = |text: &str| text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    counts(index) && counts(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses() {
        assert_eq!(first("model.safetensors", None), 0..USUAL);
        assert_eq!(first("model.safetensors", Some(5)), 0..5);
        assert_eq!(first("m-00001-of-00163.safetensors", Some(1 << 30)), 0..SHARD);
        assert_eq!(first("m-Q4_K_M-00001-of-00003.GGUF", None), 0..1 << 20);
        assert_eq!(first("a.pth", Some(1 << 20)), (1 << 20) - (64 << 10)..1 << 20);
        assert_eq!(first("a.pth", None), 0..USUAL);
        assert_eq!(first("x.index.json", Some(3 << 20)), 0..3 << 20);
        assert!(!is_shard("model-1-of-2.safetensors") && !is_shard("out-of-memory"));
    }

    #[test]
    fn an_index_tells_how_long_headers_are() {
        assert_eq!(first_of_shard(1000, 10), SHARD);
        assert_eq!(first_of_shard(9 << 20, 163), (9 << 20) / 163 * 2);
        assert_eq!(first_of_shard(u64::MAX, 0), USUAL);
    }

    #[test]
    fn a_header_that_goes_on_costs_a_fifth_more() {
        assert_eq!(more("a.safetensors", USUAL), 64 << 10);
        assert_eq!(more("a.gguf", 5 << 20), (1 << 20) + (768 << 10));
    }
}
