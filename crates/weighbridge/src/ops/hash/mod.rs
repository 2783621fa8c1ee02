//! Hashes weights, so that one line tells whether two models are equal.
//!
//! Workers hash tiles of every stored tensor, or of every weight as f32 if values are requested.
//! [`tree`] combines the tiles. [`encoding`] defines the hash of a model.

use std::iter;

use blake3::Hash;

use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Model, Weight};
use crate::pipeline::{held_as_stored, held_at_once};

mod encoding;
mod report;
mod stored;
mod tree;
mod values;

pub use report::{HashOptions, HashReport, HashedPart, HashedWeight};

use super::refusals::readable;
use encoding::Part;
use stored::StoredPart;
use values::Values;

/// Hashes the stored tensors or the decoded values of a model.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let report = ops::hash(&Model::open("model.gguf")?, &ops::HashOptions::default())?;
/// println!("{}", report.hash);
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn hash(model: &Model, options: &HashOptions) -> Result<HashReport> {
    // A weight's handle, its hash, those of its parts, and its lines in the report.
    let each = (4 * size_of::<HashedWeight>() + 2 * size_of::<StoredPart<'_>>() + 300) as u64;
    model.check_list(each, 4, "the list of hashes")?;
    let (select, skip) = (&options.select, options.skip_unreadable);
    let (weights, skipped) = readable(model, select, options.values, skip)?;
    model.will_need_all();
    let (bytes, tensors) = if options.values {
        hash_values(&weights, options)?
    } else {
        hash_stored(&weights, options)?
    };
    model.check_sums(&|| options.work.refuse_cancelled())?;
    model.refuse_changed()?;
    let hashes = weights.iter().map(Weight::name).zip(tensors.iter().map(|(hash, _)| *hash));
    let hash = encoding::model(hashes);
    let listed = |(weight, (hash, parts)): (&Weight, Hashed)| HashedWeight {
        name: weight.name().to_owned(),
        hash: hash.to_string(),
        shape: weight.shape().to_vec(),
        parts: (!options.values).then_some(parts),
    };
    let tensors = options.tensors.then(|| {
        let mut tensors: Vec<_> = weights.iter().zip(tensors).map(listed).collect();
        // Lists of two models can be compared line by line.
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        tensors
    });
    Ok(HashReport {
        path: model.path().to_string_lossy().into_owned(),
        hash: hash.to_string(),
        of: if options.values { "values" } else { "stored" },
        encoding: encoding::VERSION,
        weights: weights.len() as u64,
        bytes,
        notes: notes(model, &weights, skipped.len(), options),
        skipped,
        tensors,
    })
}

/// The hash of a weight and those of its parts.
type Hashed = (Hash, Vec<HashedPart>);

/// Hashes what is stored; gives the number of bytes, too.
fn hash_stored(weights: &[Weight], options: &HashOptions) -> Result<(u64, Vec<Hashed>)> {
    let parts = weights.iter().flat_map(|weight| iter::repeat(weight).zip(weight.parts()));
    let items = parts.map(|(weight, (_, source, info))| Ok(StoredPart::new(weight, source, info)));
    let bytes = |all: &[StoredPart<'_>]| {
        all.iter().map(|item| item.info.bytes).fold(0, u64::saturating_add)
    };
    let items = options.work.run(&models(weights), items, bytes, |item| {
        let held = held_as_stored(item.source, item.info);
        Ok((item.weight.name(), item.needed_bytes(), held))
    })?;
    let total = bytes(&items);
    let mut hashes = items.into_iter().map(|item| item.tree.finish());
    let of_weight = |weight: &Weight| {
        let parts: Vec<_> = weight.parts().zip(&mut hashes).collect();
        let encoded = parts.iter().map(|((role, _, info), bytes)| Part {
            role,
            dtype: info.stored.name(),
            shape: &info.shape,
            bytes: *bytes,
        });
        let hash = encoding::stored(encoded);
        let listed = parts.iter().filter(|_| options.tensors);
        let parts = listed.map(|((role, _, info), bytes)| HashedPart {
            name: info.name.to_string(),
            role,
            dtype: info.stored.name().to_owned(),
            shape: info.shape.to_vec(),
            bytes: info.bytes,
            hash: bytes.to_string(),
        });
        (hash, parts.collect())
    };
    Ok((total, weights.iter().map(of_weight).collect()))
}

/// Hashes the numbers; gives how many bytes they are as f32, too.
fn hash_values(weights: &[Weight], options: &HashOptions) -> Result<(u64, Vec<Hashed>)> {
    let bytes = weights.iter().map(|weight| weight.elements().saturating_mul(4));
    let total = bytes.fold(0, u64::saturating_add);
    let items = weights.iter().map(Values::new);
    let items = options.work.run(
        &models(weights),
        items,
        |_| total,
        |item| Ok((item.weight.name(), item.needed_bytes()?, held_at_once(item.weight))),
    )?;
    let hashed = weights
        .iter()
        .zip(items)
        .map(|(weight, item)| (encoding::values(weight.shape(), &item.tree.finish()), Vec::new()));
    Ok((total, hashed.collect()))
}

fn models(weights: &[Weight]) -> Vec<&Model> {
    weights.first().map(Weight::model).into_iter().collect()
}

/// What was decided, and what a hash does not tell.
fn notes(model: &Model, weights: &[Weight], skipped: usize, options: &HashOptions) -> Vec<String> {
    let mut notes: Vec<String> = model.notes_and_hazards().map(str::to_owned).collect();
    let all = model.weights().len();
    if weights.len() + skipped < all {
        notes.push(format!("{} of {all} weights are selected and hashed", weights.len()));
    }
    let dropped = model.dropped().count();
    if dropped > 0 && !options.values {
        let tensors = if dropped == 1 { "stored tensor is" } else { "stored tensors are" };
        notes.push(format!("{dropped} {tensors} part of no weight and not hashed"));
    }
    let is_wider =
        |weight: &&Weight| weight.is_plain() && weight.native().is_some_and(is_wider_than_f32);
    let rounded = weights.iter().filter(is_wider).count();
    if rounded > 0 && options.values {
        let weights = if rounded == 1 { "weight is" } else { "weights are" };
        notes.push(format!(
            "{rounded} {weights} stored in types wider than f32 and hashed after rounding to f32"
        ));
    }
    notes
}

/// Whether some numbers of a type are rounded when they become f32.
fn is_wider_than_f32(dtype: DType) -> bool {
    if dtype.is_float() { dtype.bits() > 32 } else { dtype.bits() >= 32 }
}
