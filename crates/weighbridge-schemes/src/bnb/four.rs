//! NF4 and FP4: derives a recipe or a finding from names, shapes and the state.

use std::sync::Arc;

use super::absmax::{Coded, MAP, Stored};
use super::state::State;
use super::{Group, orphan, other_method};
use crate::arithmetic::matrix::{
    Arithmetic, Choice, Codes, ENDLESS, Factors, Loss, Matrix, Packing, scale_of,
};
use crate::catalog::{TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Recipe, StoredTensor};

/// Values of the NF4 codes: quantiles of a normal distribution, as published.
#[rustfmt::skip]
pub(super) const NF4: [f32; 16] = [
    -1.0, -0.696_192_8, -0.525_073_05, -0.394_917_5,
    -0.284_441_38, -0.184_773_43, -0.091_050_036, 0.0,
    0.079_580_3, 0.160_930_2, 0.246_112_3, 0.337_915_24,
    0.440_709_83, 0.562_617, 0.722_956_84, 1.0,
];

/// Values of the FP4 codes; the second half are their negatives, including -0.
pub(super) const FP4: [f32; 8] =
    [0.0, 0.0625 / 12.0, 8.0 / 12.0, 1.0, 4.0 / 12.0, 0.5, 2.0 / 12.0, 0.25];

pub(super) fn table_of(kind: &str) -> Option<[f32; 16]> {
    match kind {
        "nf4" => Some(NF4),
        "fp4" => Some(std::array::from_fn(|code| match FP4.get(code) {
            Some(&number) => number,
            None => -FP4[code - 8],
        })),
        _ => None,
    }
}

/// Companion tensors of a weight.
struct Companions<'a> {
    absmax: Option<StoredTensor<'a>>,
    nested_absmax: Option<StoredTensor<'a>>,
    nested_map: Option<StoredTensor<'a>>,
    map: Option<StoredTensor<'a>>,
}

/// Bids for a weight and its companions.
pub(super) fn bid_for(group: &Group<'_>, evidence: &Evidence<'_>, bids: &mut Bids) {
    let find = |suffix: &str| evidence.find(&format!("{}.{suffix}", group.weight));
    let all = ["absmax", "nested_absmax", "nested_quant_map", "quant_map"].map(find);
    let [absmax, nested_absmax, nested_map, map] = all;
    let states = group.states.iter().map(|(_, found)| *found);
    let Some(weight) = evidence.find(group.weight) else {
        let all = all.into_iter().flatten().chain(states);
        return all.for_each(|(_, info)| orphan(info, group.weight, bids));
    };
    let parts = parts_of([
        ("weight", Some(weight)),
        ("absmax", absmax),
        ("nested_absmax", nested_absmax),
        ("nested_quant_map", nested_map),
    ]);
    let mut drop = |(id, _), reason: &str| bids.dropped.push((id, reason.to_owned()));
    states.for_each(|state| drop(state, "quantization state, not a weight"));
    if let Some(map) = map {
        drop(map, "copy of a table built into bitsandbytes");
    }
    let beside = Companions { absmax, nested_absmax, nested_map, map };
    match recipe_of(group, weight.1, &beside, evidence) {
        Ok((state, recipe)) => {
            let nested = if state.nested.is_some() { "-nested" } else { "" };
            bids.weights.push(Bid {
                name: group.weight.to_owned(),
                variant: format!("{}-g{}{nested}", state.kind, state.block).into(),
                native: Some(state.native),
                shape: state.shape,
                parts,
                recipe: Ok(recipe),
            });
        }
        Err(reason) => bids.refuse_tensor(weight.1, parts, &reason),
    }
}

/// Returns the state that all evidence agrees on, and the recipe.
fn recipe_of(
    group: &Group<'_>,
    weight: &TensorInfo,
    beside: &Companions<'_>,
    evidence: &Evidence<'_>,
) -> Result<(State, Arc<dyn Recipe>), String> {
    other_method(evidence)?;
    let (state, table) = state_of(group, evidence)?;
    check_config(&state.kind, evidence)?;
    let elements = element_count(&state.shape).ok_or_else(|| {
        format!("its quant_state has shape {:?}, which is too large", state.shape)
    })?;
    check_codes(weight, &state, elements)?;
    let absmax = check_absmax(beside, &state, elements.div_ceil(state.block))?;
    if let Some(map) = beside.map {
        check_map(map, &table, &state.kind, evidence)?;
    }
    let factors: Box<dyn Factors> = match state.nested {
        Some(nested) => Box::new(Coded { nested }),
        None => Box::new(Stored { dtype: absmax }),
    };
    let recipe = Arc::new(Matrix {
        codes: Codes::new(Packing::HighNibbles, |code| table[usize::from(code)]),
        columns: ENDLESS,
        row_bytes: 0,
        group: state.block,
        factors,
        arithmetic: Arithmetic::Times,
        native: state.native,
        // Codes are chosen with scales in single precision.
        choice: Choice::Nearest(Loss::rounded_to(absmax)),
    });
    Ok((state, recipe))
}

/// Returns the state and the table of its kind.
fn state_of(group: &Group<'_>, evidence: &Evidence<'_>) -> Result<(State, [f32; 16]), String> {
    let (kind, (id, info)) = match group.states[..] {
        [one] => one,
        [] => refuse!(
            "its quant_state is missing, so its shape and dtype are unknown; add the file with \
             `.quant_state.bitsandbytes__nf4` or `__fp4`"
        ),
        _ => {
            let kinds: Vec<_> = group.states.iter().map(|(kind, _)| *kind).collect();
            refuse!("it has several quant_states ({}), expected one", kinds.join(", "));
        }
    };
    let Some(table) = table_of(kind) else {
        refuse!("its kind `{kind}` is unknown, expected nf4 or fp4")
    };
    refuse_if!(
        info.stored != DType::U8.into(),
        "its quant_state is {}, expected U8",
        info.stored.name()
    );
    let state = State::parse(&evidence.bytes(id)?)?;
    refuse_if!(
        state.kind != kind,
        "its quant_state is named {kind}, but says quant_type {}",
        crate::text::shortened(&state.kind, 40)
    );
    Ok((state, table))
}

/// Checks the kind in a config of four-bit weights.
fn check_config(kind: &str, evidence: &Evidence<'_>) -> Result<(), String> {
    let Some((file, json)) = evidence.quantization() else {
        return Ok(());
    };
    let is_four = json.get("load_in_4bit").and_then(serde_json::Value::as_bool);
    let named = json.get("bnb_4bit_quant_type").and_then(serde_json::Value::as_str);
    match named {
        Some(named) if is_four == Some(true) && named != kind => Err(format!(
            "its quant_state says {kind}, but {file} says bnb_4bit_quant_type {}; use the config \
             of this model",
            crate::text::shortened(named, 40)
        )),
        _ => Ok(()),
    }
}

/// Checks the size of the codes: two per byte, in any stored type.
fn check_codes(weight: &TensorInfo, state: &State, elements: u64) -> Result<(), String> {
    use DType::{BF16, F16, F32, F64, I8, U8};
    let storages = [U8, I8, F16, BF16, F32, F64];
    refuse_if!(
        !weight.stored.element().is_some_and(|dtype| storages.contains(&dtype)),
        "its dtype is {}, expected codes in U8, I8, F16, BF16, F32 or F64",
        weight.stored.name()
    );
    refuse_if!(
        weight.bytes != elements.div_ceil(2),
        "its quant_state has shape {:?}, which needs {} bytes of codes, but there are {}",
        state.shape,
        elements.div_ceil(2),
        weight.bytes
    );
    Ok(())
}

/// Checks the scales of the blocks: floats, or codes with their companions. Returns their type.
fn check_absmax(beside: &Companions<'_>, state: &State, blocks: u64) -> Result<DType, String> {
    let (_, absmax) = beside.absmax.ok_or("its `absmax` is missing")?;
    let has_tensors = beside.nested_absmax.is_some() || beside.nested_map.is_some();
    let kinds: &[DType] = match &state.nested {
        Some(_) => &[DType::U8],
        None => &[DType::F32, DType::BF16, DType::F16],
    };
    let dtype = check(absmax, "absmax", kinds, blocks)?;
    let Some(nested) = &state.nested else {
        refuse_if!(has_tensors, "it has nested scales, but its quant_state has no `nested_offset`");
        return Ok(dtype);
    };
    let (_, outer) = beside.nested_absmax.ok_or("its `nested_absmax` is missing")?;
    let (_, map) = beside.nested_map.ok_or("its `nested_quant_map` is missing")?;
    check(outer, "nested_absmax", &[DType::F32], blocks.div_ceil(nested.block))?;
    check(map, "nested_quant_map", &[DType::F32], MAP)?;
    Ok(dtype)
}

/// Returns the type of a list of `count` numbers, which must be one of `kinds`, usually the first.
pub(super) fn check(
    info: &TensorInfo,
    role: &str,
    kinds: &[DType],
    count: u64,
) -> Result<DType, String> {
    match info.stored.element() {
        Some(dtype) if kinds.contains(&dtype) && info.shape[..] == [count] => Ok(dtype),
        _ => Err(format!("its {role} is {}, expected {} [{count}]", described(info), kinds[0])),
    }
}

/// Rejects a stored table that differs from the library's own, which ignores it.
fn check_map(
    (id, info): StoredTensor<'_>,
    table: &[f32; 16],
    kind: &str,
    evidence: &Evidence<'_>,
) -> Result<(), String> {
    check(info, "quant_map", &[DType::F32], 16)?;
    let bytes = evidence.bytes(id)?;
    let stored = |code: usize| scale_of(DType::F32, &bytes, code);
    match (0..16).find(|&code| stored(code) != table[code]) {
        None => Ok(()),
        Some(code) => Err(format!(
            "its quant_map has {} for code {code}, but {kind} has {}; bitsandbytes ignores the \
             map, so the right table is unknown",
            stored(code),
            table[code]
        )),
    }
}
