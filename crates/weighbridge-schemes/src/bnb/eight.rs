//! INT8: derives a recipe or a finding from names, shapes and the format.

use std::sync::Arc;

use super::four::check;
use super::{orphan, other_method};
use crate::arithmetic::matrix::{Arithmetic, Choice, Codes, Grid, Loss, Matrix, Packing, Scales};
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Recipe, StoredTensor};

/// The library's factor; dividing by 127 would give other numbers.
#[allow(clippy::excessive_precision)] // As the library spells it.
pub(super) const OVER_127: f32 = 7.874015718698502e-3;

/// Weights are rounded to half precision first, so the scale does not exactly match the codes.
const LOSS: Loss =
    Loss { original: [1e-4 + 1.0 / (1 << 10) as f32, 1.0 / (1 << 25) as f32], ..Loss::NONE };

/// Layouts of `weight_format`.
const FORMATS: [&str; 4] = ["row", "col32", "col_turing", "col_ampere"];

/// Bids for `prefix.weight` with its scales.
pub(super) fn bid_for(
    prefix: &str,
    scales: Option<StoredTensor<'_>>,
    evidence: &Evidence<'_>,
    bids: &mut Bids,
) {
    let name = format!("{prefix}.weight");
    let format = evidence.find(&format!("{prefix}.weight_format"));
    let weight = evidence.find(&name);
    // Without scales, only weights that look like bitsandbytes' are taken.
    let is_bytes = |(_, info): &StoredTensor<'_>| info.stored == DType::I8.into();
    let Some(found) = weight.filter(|found| scales.is_some() || is_bytes(found)) else {
        return scales.into_iter().for_each(|(_, info)| orphan(info, &name, bids));
    };
    let reason = "row layout description, not a weight";
    bids.dropped.extend(format.map(|(id, _)| (id, reason.to_owned())));
    let (parts, weight) = (parts_of([("weight", Some(found)), ("SCB", scales)]), found.1);
    match columns_of(weight, scales, format, evidence) {
        Ok(columns) => bids.weights.push(Bid {
            name,
            shape: weight.shape.clone(),
            variant: "int8".into(),
            native: Some(DType::F32),
            parts,
            recipe: Ok(recipe(columns)),
        }),
        Err(reason) => bids.refuse_tensor(weight, parts, &reason),
    }
}

pub(super) fn recipe(columns: u64) -> Arc<dyn Recipe> {
    Arc::new(Matrix {
        codes: Codes::new(Packing::Bytes, |code| f32::from(code.cast_signed())),
        columns,
        row_bytes: columns,
        group: columns.max(1),
        factors: Box::new(Scales::plain(Grid::rows(1, DType::F32, 1))),
        arithmetic: Arithmetic::TimesTimes(OVER_127),
        native: DType::F32,
        choice: Choice::Nearest(LOSS),
    })
}

/// Returns the columns that all evidence agrees on.
fn columns_of(
    weight: &TensorInfo,
    scales: Option<StoredTensor<'_>>,
    format: Option<StoredTensor<'_>>,
    evidence: &Evidence<'_>,
) -> Result<u64, String> {
    other_method(evidence)?;
    let (_, scales) = scales.ok_or("its scales `SCB` are missing")?;
    let &[rows, columns] = &weight.shape[..] else {
        refuse!("its shape is {:?}, expected two dimensions", weight.shape)
    };
    refuse_if!(
        weight.stored != DType::I8.into(),
        "it has scales `SCB`, but its dtype is {}, expected I8",
        weight.stored.name()
    );
    check(scales, "SCB", &[DType::F32], rows)?;
    format.map_or(Ok(()), |format| check_format(format, evidence))?;
    Ok(columns)
}

/// Checks the format. Current versions of the library take only rows.
fn check_format((id, info): StoredTensor<'_>, evidence: &Evidence<'_>) -> Result<(), String> {
    refuse_if!(
        info.stored != DType::U8.into() || info.bytes != 1,
        "its weight_format is {}, expected one U8",
        described(info)
    );
    let format = evidence.bytes(id)?.first().copied().unwrap_or(u8::MAX);
    match FORMATS.get(usize::from(format)) {
        Some(&"row") => Ok(()),
        Some(name) => Err(format!(
            "its weight_format is {format} ({name}), a tiled layout of old bitsandbytes versions, \
             which is not supported; load and save the model with the version that wrote it, \
             without running it in between"
        )),
        None => Err(format!("its weight_format is {format}, which is unknown; expected 0 (rows)")),
    }
}
