//! The types that a weight may have where the size of the whole decides.

use std::collections::HashMap;
use std::sync::Arc;

use super::file_types::{FILE_TYPES, FileType};
use super::notes::Notes;
use super::{checked_importance, encoder};
use crate::blocks::Block;
use crate::catalog::Value;
use crate::framework::{Encoder, Even, Importance, Request, TypeAssignment};

/// Types that need no importance, and those that do. Types whose rows must be whole blocks of 256 come
/// with ones that fit other rows.
const PLAIN: &[&str] =
    &["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "IQ4_XS", "IQ4_NL", "Q4_0", "Q5_0", "Q5_1"];
const BY_IMPORTANCE: &[&str] = &["IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"];

/// The encoders of every type that a weight may have.
pub(super) fn alternatives(request: &Request<'_>, at: usize) -> Vec<Arc<dyn Encoder>> {
    let Some(weight) = request.weights.get(at) else { return Vec::new() };
    // What does not fit was refused before.
    let known = checked_importance(request, weight, &mut Notes::default()).ok().flatten();
    let columns = weight.shape.last().and_then(|columns| usize::try_from(*columns).ok());
    let even = columns.filter(|_| request.wishes.thorough).map(|columns| Even { columns });
    let even = even.map(|even| Arc::new(even) as Arc<dyn Importance>);
    let more = if known.is_some() { BY_IMPORTANCE } else { &[] };
    let importance = known.or(even);
    let of = |name: &&str| encoder(Block::from_name(name)?, importance.clone()).ok();
    PLAIN.iter().chain(more).filter_map(of).collect()
}

/// The number of the file type that most elements have.
pub(super) fn described(fates: &[TypeAssignment], request: &Request<'_>) -> Vec<(String, Value)> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for (fate, weight) in fates.iter().zip(request.weights) {
        if let TypeAssignment::Encode(encoder) = fate {
            let elements: u64 = weight.shape.iter().product();
            *counts.entry(encoder.name()).or_default() += elements;
        }
    }
    let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
    // Of the file types around a type, the first is the plainest.
    let is_it = |file: &&FileType| most.is_some_and(|(name, _)| name == file.base);
    let file = FILE_TYPES.iter().find(is_it);
    let entry =
        |file: &FileType| ("general.file_type".to_owned(), Value::Unsigned(32, file.id.into()));
    file.map(entry).into_iter().collect()
}
