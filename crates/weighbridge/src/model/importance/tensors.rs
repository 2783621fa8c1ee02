//! Importance matrices as tensors in a container: for each weight `NAME.in_sum2`, sums of squares
//! for each column of each matrix, and `NAME.counts`, how many there were for each matrix.
//!
//! A column's importance is its sum divided by its matrix's count. An expert that no token reached
//! counts as if all of its columns were equally important.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Numbers, Stored, not_one};
use crate::catalog::Value;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::model::{Model, Weight};
use crate::text::escaped;

/// Keys of the metadata, all of which there must be.
const DATASETS: &str = "imatrix.datasets";
const CHUNKS: &str = "imatrix.chunk_count";
const CHUNK_SIZE: &str = "imatrix.chunk_size";

/// The sums and counts of each weight.
struct Tensors(Vec<(Weight, Weight)>);

/// Reads names and lengths.
pub(super) fn open(path: &Path, budget: &Budget) -> Result<Stored> {
    let model = Model::open(path)?;
    let (datasets, chunks) = metadata(&model)?;
    let mut found: BTreeMap<String, (Option<Weight>, Option<Weight>)> = BTreeMap::new();
    for weight in model.weights() {
        if let Some(name) = weight.name().strip_suffix(".in_sum2") {
            found.entry(name.to_owned()).or_default().0 = Some(weight.clone());
        } else if let Some(name) = weight.name().strip_suffix(".counts") {
            found.entry(name.to_owned()).or_default().1 = Some(weight.clone());
        }
    }
    let (mut weights, mut tensors) = (Vec::new(), Vec::new());
    for (name, pair) in found {
        let (Some(sums), Some(counts)) = pair else {
            return Err(
                not_one("it has sums without counts, or counts without sums").in_tensor(&name)
            );
        };
        check(&sums, &counts, budget).map_err(|error| error.in_tensor(&name))?;
        weights.push((name, sums.len()));
        tensors.push((sums, counts));
    }
    Ok(Stored { weights, datasets, chunks, numbers: Box::new(Tensors(tensors)) })
}

/// The texts, and how many chunks of them were read.
fn metadata(model: &Model) -> Result<(Vec<Vec<u8>>, u32)> {
    let entries = model.metadata();
    let entry = |wanted: &str| {
        let found = entries.iter().find(|(key, ..)| *key == wanted);
        let missing = || not_one(&format!("its metadata has no `{wanted}`"));
        found.map(|(_, value, source)| (*value, *source)).ok_or_else(missing)
    };
    entry(CHUNK_SIZE)?;
    let (value, source) = entry(DATASETS)?;
    let texts = match value {
        Value::Array(array) => source.array(array)?,
        Value::List(values) => values.clone(),
        _ => return Err(not_one(&format!("`{DATASETS}` is not a list"))),
    };
    let texts = texts.iter().filter_map(|text| match text {
        Value::Text(text) => Some(text.as_bytes().to_vec()),
        Value::RawText(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    let chunks = entry(CHUNKS)?.0.as_u64().and_then(|count| u32::try_from(count).ok());
    let wrong = || not_one(&format!("`{CHUNKS}` is not a number of chunks"));
    Ok((texts.collect(), chunks.ok_or_else(wrong)?))
}

/// Whether sums and counts can belong together.
fn check(sums: &Weight, counts: &Weight, budget: &Budget) -> Result<()> {
    for weight in [sums, counts] {
        let is_f32 = |stored: &StoredType| *stored == StoredType::Element(DType::F32);
        if !weight.parts().all(|(_, _, tensor)| is_f32(&tensor.stored)) {
            let message = format!("`{}` is not of type F32", escaped(weight.name()));
            return Err(Error::unsupported(message));
        }
        budget.check_allocation(
            weight.elements().saturating_mul(4),
            "the importance of one weight",
        )?;
    }
    match counts.elements() {
        0 => Err(not_one("it has no counts")),
        _ if sums.elements() == 0 => Err(not_one("it has no sums")),
        matrices if !sums.elements().is_multiple_of(matrices) => Err(not_one(&format!(
            "its {} sums are not a multiple of its {matrices} counts",
            sums.elements()
        ))),
        _ => Ok(()),
    }
}

impl Numbers for Tensors {
    fn read(&self, index: usize) -> Result<Vec<f32>> {
        let (sums, counts) = &self.0[index];
        let mut values = sums.decode_to_vec::<f32>()?;
        let counts = counts.decode_to_vec::<f32>()?;
        let columns = values.len() / counts.len().max(1);
        for (values, count) in values.chunks_exact_mut(columns.max(1)).zip(counts) {
            if !(count.is_finite() && count >= 0.0) {
                let message = format!("a count is {count}, but must be a finite number from 0 on");
                return Err(Error::malformed(message));
            }
            match count.round() {
                count if count > 0.0 => values.iter_mut().for_each(|value| *value /= count),
                _ => values.fill(1.0),
            }
        }
        Ok(values)
    }
}
