//! Which stretch of a file is asked for first: what its reader will want, by its name.

use std::ops::Range;

const USUAL: u64 = 128 << 10;
const GGUF: u64 = 1 << 20;
const ARCHIVE: u64 = 64 << 10;
/// Headers of shards are short, and there may be a thousand of them.
const SHARD: u64 = 16 << 10;

/// The first stretch of a file; `size` is its length, where a listing said it.
pub(crate) fn first_stretch(name: &str, size: Option<u64>) -> Range<u64> {
    let name = name.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let from_start = |len: u64| 0..size.map_or(len, |size| len.min(size));
    // Archives have their directory at the end.
    if let Some(size) = size.filter(|_| ends(&[".pth", ".pt", ".bin", ".ckpt", ".npz"])) {
        return size.saturating_sub(ARCHIVE)..size;
    }
    match () {
        () if ends(&[".gguf"]) => from_start(GGUF),
        () if is_shard(&name) => from_start(SHARD),
        () => from_start(USUAL),
    }
}

/// Whether a name has `-00001-of-00042` before its ending.
fn is_shard(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let number = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    let Some((rest, count)) = stem.rsplit_once("-of-") else { return false };
    number(count) && rest.rsplit_once('-').is_some_and(|(_, index)| number(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_follow_the_name() {
        assert_eq!(first_stretch("model.safetensors", None), 0..128 << 10);
        assert_eq!(first_stretch("model.safetensors", Some(100)), 0..100);
        assert_eq!(first_stretch("M-Q4_K.GGUF", Some(1 << 30)), 0..1 << 20);
        assert_eq!(first_stretch("model-00001-of-01000.safetensors", None), 0..16 << 10);
        assert_eq!(first_stretch("model-1-of-2.safetensors", None), 0..128 << 10);
        assert_eq!(
            first_stretch("pytorch_model.bin", Some(1 << 20)),
            (1 << 20) - (64 << 10)..1 << 20
        );
        assert_eq!(first_stretch("pytorch_model.bin", None), 0..128 << 10);
        assert_eq!(first_stretch("x.npz", Some(10)), 0..10);
    }
}
