//! Logical shapes, `[outputs, inputs]`, derived from the stored shapes.

use super::{Group, details};
use crate::catalog::{Shape, element_count};

fn matrix(outputs: u64, inputs: u64) -> Option<Shape> {
    Some([outputs, inputs].into_iter().collect())
}

/// Returns `[outputs, inputs]` times integers: the stored elements hold that many each.
pub(super) fn scaled(group: &Group<'_, '_>, rows: u64, columns: u64) -> Option<Shape> {
    let (stored_rows, stored_columns) = group.sides()?;
    matrix(stored_rows.checked_mul(rows)?, stored_columns.checked_mul(columns)?)
}

/// Returns `[outputs, inputs]` times integers if inputs are stored first.
pub(super) fn turned(group: &Group<'_, '_>, rows: u64, columns: u64) -> Option<Shape> {
    let stored = scaled(group, rows, columns)?;
    Some(stored.into_iter().rev().collect())
}

/// Scales are codes, eight per word along the outputs; the permutation has one entry per input.
pub(super) fn exl2(group: &Group<'_, '_>) -> Option<Shape> {
    let inputs = group.count(".q_invperm").or_else(|| group.count(".q_perm"))?;
    matrix(group.side(".q_scale", 1)?.checked_mul(8)?, inputs)
}

/// Tiles of 16 x 16, inputs first.
pub(super) fn exl3(group: &Group<'_, '_>) -> Option<Shape> {
    let &[inputs, outputs, _] = &group.anchor.1.shape[..] else { return None };
    matrix(outputs.checked_mul(16)?, inputs.checked_mul(16)?)
}

/// One sign per input (`SU`) and per output (`SV`).
pub(super) fn signs(group: &Group<'_, '_>) -> Option<Shape> {
    matrix(group.count(".SV")?, group.count(".SU")?)
}

/// Codes `[out / og, in / ig, codebooks]`, vectors `[codebooks, 2^bits, og, ig]`.
pub(super) fn aqlm(group: &Group<'_, '_>) -> Option<Shape> {
    let &[outputs, inputs, _] = &group.anchor.1.shape[..] else { return None };
    let (og, ig) = (group.side(".codebooks", 2)?, group.side(".codebooks", 3)?);
    matrix(outputs.checked_mul(og)?, inputs.checked_mul(ig)?)
}

/// Only the config states the dimensions; scales and the permutation have the inputs, a bias the
/// outputs.
pub(super) fn vptq(group: &Group<'_, '_>) -> Option<Shape> {
    let layers = group.evidence.quantization().and_then(|(_, json)| json.get("config_for_layers"));
    let layer = layers.and_then(|layers| layers.get(group.module));
    let side = |key: &str| layer?.get(key)?.as_u64().filter(|&side| side > 0);
    let inputs = side("in_features")
        .or_else(|| group.count(".weight_scale"))
        .or_else(|| group.count(".perm"))?;
    matrix(side("out_features").or_else(|| group.bias())?, inputs)
}

/// A word holds 16 numbers of a row of a tile.
pub(super) fn spqr(group: &Group<'_, '_>) -> Option<Shape> {
    let inputs = group.count(".in_perm").filter(|&inputs| inputs > 0)?;
    let elements = group.anchor.1.elements().checked_mul(16)?;
    (elements % inputs == 0).then(|| matrix(elements / inputs, inputs))?
}

/// Scales have one row per output; indices keep the inputs as columns.
pub(super) fn higgs(group: &Group<'_, '_>) -> Option<Shape> {
    matrix(group.side(".scales", 0)?, group.sides()?.1)
}

/// As many inputs per byte as the config's bits allow.
pub(super) fn by_bits_of_config(group: &Group<'_, '_>) -> Option<Shape> {
    let (_, json) = group.evidence.quantization()?;
    let bits = json.get("bits")?.as_u64().filter(|bits| [1, 2, 4, 8].contains(bits))?;
    scaled(group, 1, 8 / bits)
}

/// Tiles of 16 inputs, eight codes per word.
pub(super) fn marlin(group: &Group<'_, '_>) -> Option<Shape> {
    let (tiles, words) = group.sides()?;
    matrix(words / 2, tiles.checked_mul(16)?)
}

/// Half of the inputs are stored.
pub(super) fn marlin_24(group: &Group<'_, '_>) -> Option<Shape> {
    let (tiles, words) = group.sides()?;
    matrix(words / 2, tiles.checked_mul(32)?)
}

/// Stated in a separate tensor.
pub(super) fn hqq(group: &Group<'_, '_>) -> Option<Shape> {
    let sides = details::whole_numbers(group, ".shape")?;
    Some(sides.into_iter().collect())
}

/// Packed along the rows, with one scale per row. Rows are groups, so the outputs must come from a
/// bias.
pub(super) fn quanto_packed(group: &Group<'_, '_>) -> Option<Shape> {
    let rows = group.count(".weight._scale")?;
    let columns = group.sides()?.1;
    let elements = rows.checked_mul(columns)?;
    match group.bias() {
        Some(outputs) if elements % outputs == 0 => matrix(outputs, elements / outputs),
        _ => matrix(rows, columns),
    }
}

/// By the tensor's class.
pub(super) fn torchao(group: &Group<'_, '_>) -> Option<Shape> {
    let info = group.anchor.1;
    match details::torchao_type(group)?.as_str() {
        "Int4Tensor" | "NVFP4Tensor" => scaled(group, 1, 2),
        "Int4PlainInt32Tensor" => scaled(group, 1, 8),
        "Int4TilePackedTo4dTensor" => {
            let outputs = info.shape.first()?.checked_mul(8).filter(|&outputs| outputs > 0)?;
            matrix(outputs, info.bytes.checked_mul(2)? / outputs)
        }
        _ => Some(info.shape.clone()),
    }
}

/// Low-rank matrices have both dimensions; otherwise bits and scales determine the rows.
pub(super) fn sdnq(group: &Group<'_, '_>) -> Option<Shape> {
    if let (Some(outputs), Some(inputs)) = (group.side(".svd_up", 0), group.side(".svd_down", 1)) {
        return matrix(outputs, inputs);
    }
    let bits = details::sdnq_bits(group)?;
    let elements = group.anchor.1.bytes.checked_mul(8)? / bits;
    let scale = group.companion(".scale")?;
    let outputs = match scale.shape[..] {
        [1, .., last] if last > 1 => last,
        [first, ..] => first,
        [] => return None,
    };
    let fits = outputs > 0 && elements % outputs == 0 && element_count(&scale.shape)? > 0;
    fits.then(|| matrix(outputs, elements / outputs))?
}
