//! What the hash of a weight and that of a model are made of.
//!
//! A *text* is its length in bytes and then its bytes, a *shape* its number of dimensions and then
//! the dimensions, outermost first; all numbers have 64 bits and are little-endian. The hash
//!
//! - of a weight as it is stored is that of the text `weighbridge hash 1 stored`, and for each of its
//!   parts, sorted by role: the role, the name of the type, the shape, and the BLAKE3 of its bytes;
//! - of the values of a weight is that of the text `weighbridge hash 1 values`, its shape, and the
//!   BLAKE3 of its numbers as f32;
//! - of a model is that of the text `weighbridge hash 1 model`, and for each weight, sorted by name:
//!   the name and its hash.
//!
//! Whatever changes here makes a new version: hashes of two versions are never the same.

use blake3::{Hash, Hasher};

/// The version that the texts below state.
pub(super) const VERSION: u32 = 1;

const STORED: &str = "weighbridge hash 1 stored";
const VALUES: &str = "weighbridge hash 1 values";
const MODEL: &str = "weighbridge hash 1 model";

/// A stored tensor of a weight.
pub(super) struct Part<'a> {
    pub(super) role: &'a str,
    pub(super) dtype: &'a str,
    pub(super) shape: &'a [u64],
    pub(super) bytes: Hash,
}

/// The hash of a weight as it is stored. Parts of the same role keep their order.
pub(super) fn stored<'a>(parts: impl Iterator<Item = Part<'a>>) -> Hash {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|part| part.role);
    let mut hasher = Hasher::new();
    text(&mut hasher, STORED);
    for part in parts {
        text(&mut hasher, part.role);
        text(&mut hasher, part.dtype);
        dimensions(&mut hasher, part.shape);
        hasher.update(part.bytes.as_bytes());
    }
    hasher.finalize()
}

/// The hash of the values of a weight.
pub(super) fn values(shape: &[u64], numbers: &Hash) -> Hash {
    let mut hasher = Hasher::new();
    text(&mut hasher, VALUES);
    // Some formats have no scalars, and store one as an array of one element.
    dimensions(&mut hasher, if shape.is_empty() { &[1] } else { shape });
    hasher.update(numbers.as_bytes());
    hasher.finalize()
}

/// The hash of a model.
pub(super) fn model<'a>(weights: impl Iterator<Item = (&'a str, Hash)>) -> Hash {
    let mut weights: Vec<_> = weights.collect();
    weights.sort_by(|a, b| (a.0, a.1.as_bytes()).cmp(&(b.0, b.1.as_bytes())));
    let mut hasher = Hasher::new();
    text(&mut hasher, MODEL);
    for (name, hash) in weights {
        text(&mut hasher, name);
        hasher.update(hash.as_bytes());
    }
    hasher.finalize()
}

fn text(hasher: &mut Hasher, text: &str) {
    number(hasher, text.len() as u64);
    hasher.update(text.as_bytes());
}

fn dimensions(hasher: &mut Hasher, shape: &[u64]) {
    number(hasher, shape.len() as u64);
    shape.iter().for_each(|dimension| number(hasher, *dimension));
}

fn number(hasher: &mut Hasher, number: u64) {
    hasher.update(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts_and_none_runs_into_the_next() {
        let bytes = blake3::hash(b"bytes");
        let part = Part { role: "ab", dtype: "c", shape: &[2, 3], bytes };
        let others = [
            Part { role: "a", dtype: "bc", ..part },
            Part { role: "abc", dtype: "", ..part },
            Part { shape: &[3, 2], ..part },
            Part { shape: &[6], ..part },
            Part { bytes: blake3::hash(b"byte"), ..part },
        ];
        let first = stored([Part { ..part }].into_iter());
        for other in others {
            assert_ne!(stored([other].into_iter()), first);
        }
        assert_ne!(stored([Part { ..part }, Part { ..part }].into_iter()), first);
        assert_ne!(values(&[2, 3], &bytes), values(&[3, 2], &bytes));
        assert_eq!(values(&[], &bytes), values(&[1], &bytes));
    }

    #[test]
    fn the_order_of_parts_and_weights_does_not_matter() {
        let [a, b] = [b"a", b"b"].map(|text| blake3::hash(text));
        let part = |role, bytes| Part { role, dtype: "U8", shape: &[1], bytes };
        let one = stored([part("scales", a), part("weight", b)].into_iter());
        assert_eq!(one, stored([part("weight", b), part("scales", a)].into_iter()));
        assert_ne!(one, stored([part("scales", b), part("weight", a)].into_iter()));
        let two = model([("x", a), ("y", b)].into_iter());
        assert_eq!(two, model([("y", b), ("x", a)].into_iter()));
        assert_ne!(two, model([("x", b), ("y", a)].into_iter()));
    }

    #[test]
    fn the_version_is_the_one_in_the_texts() {
        for text in [STORED, VALUES, MODEL] {
            assert!(text.contains(&format!(" {VERSION} ")), "{text}");
        }
    }
}
