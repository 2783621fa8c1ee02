//! Weights whose codes are in blocks of 16 bytes: gpt-oss, with transformers' and OpenAI's names.

use std::sync::Arc;

use super::packed::{rows_of_codes, with_codes};
use super::transposed::Transposed;
use super::{GPT_OSS, GROUP};
use crate::arithmetic::matrix::FLOATS4;
use crate::catalog::{Finding, Shape, TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Part, Recipe, TensorId};

/// The naming convention of a weight.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    /// `P_blocks`: transformers returns the transposed weight.
    Transformers,
    /// `P.blocks`
    OpenAi,
}

/// Bids for `P_blocks` or `P.blocks`; returns whether the tensor is accounted for.
pub(super) fn bid_for(
    evidence: &Evidence<'_>,
    id: TensorId,
    info: &TensorInfo,
    bids: &mut Bids,
) -> bool {
    let is_u8 = info.stored.element() == Some(DType::U8);
    report_orphan(evidence, info, bids);
    let (name, names, scales) =
        match (info.name.strip_suffix("_blocks"), info.name.strip_suffix(".blocks")) {
            (Some(name), _) => (name, Names::Transformers, format!("{name}_scales")),
            (_, Some(name)) => (name, Names::OpenAi, format!("{name}.scales")),
            _ => return false,
        };
    let scales = evidence.find(&scales);
    if !is_u8 || (scales.is_none() && info.shape.last() != Some(&(GROUP / 2))) {
        return false;
    }
    let parts = parts_of([("blocks", Some((id, info))), ("scales", scales)]);
    let native = evidence.model_dtype().unwrap_or(DType::BF16);
    match understood(info, scales.map(|(_, info)| info)) {
        Ok(sides) => bids.weights.push(bid_of(name, names, sides, native, parts)),
        Err(reason) => {
            let bid = Bid::refused(name, unblocked(&info.shape), parts, &reason);
            bids.refuse(info, "undecodable", bid);
        }
    }
    true
}

/// Reports three-dimensional scales without their blocks.
fn report_orphan(evidence: &Evidence<'_>, info: &TensorInfo, bids: &mut Bids) {
    let transformers = info.name.strip_suffix("_scales").map(|name| format!("{name}_blocks"));
    let openai = || info.name.strip_suffix(".scales").map(|name| format!("{name}.blocks"));
    let Some(blocks) = transformers.or_else(openai) else { return };
    let looks_so = info.stored.element() == Some(DType::U8) && info.shape.len() == 3;
    if looks_so && evidence.method() == Some(GPT_OSS) && evidence.find(&blocks).is_none() {
        let message = format!(
            "scales of an MXFP4 weight, but {} is not in the model; a shard may be missing",
            crate::text::escaped(&blocks)
        );
        bids.findings.push(Finding::of(&info.name, "orphan", message));
    }
}

/// Returns matrices, rows and columns, or why the parts do not fit.
fn understood(blocks: &TensorInfo, scales: Option<&TensorInfo>) -> Result<[u64; 3], String> {
    let scales = scales.ok_or("its scales are missing")?;
    let &[matrices, rows, groups, bytes] = &blocks.shape[..] else {
        refuse!("blocks have shape {:?}, expected four dimensions", blocks.shape)
    };
    refuse_if!(bytes != GROUP / 2, "blocks have {bytes} bytes, expected 16");
    let byte_scales = [Some(DType::U8), Some(DType::F8_E8M0)].contains(&scales.stored.element());
    refuse_if!(
        scales.shape[..] != [matrices, rows, groups] || !byte_scales,
        "scales are {}, expected U8 [{matrices}, {rows}, {groups}]",
        described(scales)
    );
    let columns = groups.checked_mul(GROUP).ok_or("there are too many blocks")?;
    // A stack of no matrices may state any dimensions; a single matrix of them must still be
    // countable.
    element_count(&[rows, columns]).ok_or("there are too many blocks")?;
    element_count(&[matrices, rows, columns]).ok_or("there are too many blocks")?;
    Ok([matrices, rows, columns])
}

/// Returns the shape with the last two dimensions merged into columns.
fn unblocked(stored: &Shape) -> Shape {
    match &stored[..] {
        [front @ .., groups, bytes] => {
            let columns = groups.saturating_mul(*bytes).saturating_mul(2);
            front.iter().copied().chain([columns]).collect()
        }
        _ => stored.clone(),
    }
}

fn bid_of(name: &str, names: Names, sides: [u64; 3], native: DType, parts: Vec<Part>) -> Bid {
    let [matrices, rows, columns] = sides;
    // In these two, rows of gate and up alternate.
    let interleaved = name.ends_with("gate_up_proj") || name.ends_with("mlp1_weight");
    let (shape, recipe): (Shape, Arc<dyn Recipe>) = match names {
        Names::Transformers => (
            [matrices, columns, rows].into_iter().collect(),
            Arc::new(Transposed::new(rows, columns, native)),
        ),
        Names::OpenAi => {
            let matrix = rows_of_codes(FLOATS4.clone(), columns, None, native);
            let recipe = with_codes(matrix, &sides);
            (sides.into_iter().collect(), Arc::new(recipe))
        }
    };
    let variant = match (names, interleaved) {
        (Names::Transformers, true) => "mxfp4-transposed-interleaved",
        (Names::Transformers, false) => "mxfp4-transposed",
        (Names::OpenAi, true) => "mxfp4-interleaved",
        (Names::OpenAi, false) => "mxfp4",
    };
    Bid {
        name: name.to_owned(),
        shape,
        variant: variant.into(),
        native: Some(native),
        parts,
        recipe: Ok(recipe),
    }
}
