//! From names, shapes and configs to a GPTQ layout, or to a finding.

use std::sync::Arc;

use crate::catalog::{Finding, TensorInfo};
use crate::dtype::{DType, StoredType};
use crate::schemes::columns::config::{Config, Layout, Packed};
use crate::schemes::columns::{Columns, Lay, Zeros, plain_codes};
use crate::schemes::{Bid, Bids, Evidence, Part, TensorId};

/// The widths that are decoded.
const WIDTHS: [u32; 4] = [2, 3, 4, 8];

/// The sides of one packed weight, once all evidence agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sides {
    bits: u32,
    inputs: u64,
    outputs: u64,
    groups: u64,
    group_size: u64,
    scale_type: DType,
    less_one: bool,
}

impl Sides {
    fn variant(&self) -> String {
        let group = match self.groups {
            1 => "channel".to_owned(),
            _ => format!("g{}", self.group_size),
        };
        let zeros = if self.less_one { "" } else { "-v2" };
        format!("{}bit-{group}{zeros}", self.bits)
    }

    fn bid(self, name: String, parts: Vec<Part>) -> Bid {
        let variant = self.variant().into();
        let Self { bits, inputs, outputs, groups, group_size, scale_type, less_one } = self;
        let columns = Columns {
            codes: plain_codes(bits),
            lay: Lay::Inputs,
            inputs,
            outputs,
            groups,
            group_size,
            scale_type,
            zeros: Zeros::Stream { bits, less_one },
            indexed: parts.len() > 3,
        };
        Bid {
            name,
            shape: [outputs, inputs].into_iter().collect(),
            variant,
            native: Some(scale_type),
            parts,
            recipe: Ok(Arc::new(columns)),
        }
    }
}

type Found<'a> = (TensorId, &'a TensorInfo);

/// What lies beside the packed codes.
struct Companions<'a> {
    zeros: Option<Found<'a>>,
    scales: Option<Found<'a>>,
    groups: Option<Found<'a>>,
}

/// Bids for `prefix.qweight` and its companions, unless the shapes say it is AWQ's.
pub(super) fn bid_for(
    prefix: &str,
    (id, qweight): Found<'_>,
    evidence: &Evidence<'_>,
    config: Option<&Config<'_>>,
    bids: &mut Bids,
) {
    let find = |suffix: &str| evidence.find(&format!("{prefix}.{suffix}"));
    let beside =
        Companions { zeros: find("qzeros"), scales: find("scales"), groups: find("g_idx") };
    // Another kernel's order, under names of its own.
    if find("wscales").is_some() {
        return;
    }
    let is_awq = looks_like_awq(qweight, &beside);
    if config.is_none() && is_awq || qweight.stored != DType::I32.into() {
        return;
    }
    let mut parts = vec![Part { role: "qweight", tensor: id }];
    let named = [("qzeros", beside.zeros), ("scales", beside.scales), ("g_idx", beside.groups)];
    parts.extend(named.iter().filter_map(|(role, f)| f.map(|f| Part { role, tensor: f.0 })));
    let name = format!("{prefix}.weight");
    let sides = match config {
        Some(_) if is_awq => {
            Err("the config says GPTQ, but its shapes are those of AWQ: eight outputs in each word"
                .to_owned())
        }
        Some(config) => config
            .of_module(prefix)
            .and_then(|packed| configured(qweight, &beside, &config.layout, packed)),
        None => without_config(qweight, &beside),
    };
    match sides {
        Ok(sides) => bids.weights.push(sides.bid(name, parts)),
        Err(reason) => {
            bids.findings.push(Finding::of(&qweight.name, "undecodable", reason.clone()));
            bids.weights.push(Bid {
                name,
                shape: qweight.shape.clone(),
                variant: "undecided".into(),
                native: None,
                parts,
                recipe: Err(reason.into()),
            });
        }
    }
}

/// AWQ packs along the outputs: eight times the packed columns are the scales' columns.
fn looks_like_awq(qweight: &TensorInfo, beside: &Companions<'_>) -> bool {
    let (Some(&packed), Some((_, scales))) = (qweight.shape.get(1), beside.scales) else {
        return false;
    };
    beside.groups.is_none() && scales.shape.get(1) == packed.checked_mul(8).as_ref()
}

/// What the config and the shapes say together.
fn configured(
    qweight: &TensorInfo,
    beside: &Companions<'_>,
    layout: &Layout,
    packed: Packed,
) -> Result<Sides, String> {
    let bits = packed.bits.ok_or("the config does not say of how many bits its codes are")?;
    let less_one = match layout {
        Layout::Gptq { less_one } => *less_one,
        Layout::OtherGptq(name) if name == "marlin" => {
            return Err(
                "its checkpoint format is marlin, whose codes are shuffled for one kernel; \
                        this version cannot decode it"
                    .to_owned(),
            );
        }
        Layout::OtherGptq(name) | Layout::OtherAwq(name) => {
            return Err(format!("checkpoint format `{name}` cannot be decoded by this version"));
        }
        Layout::AwqGemm => return Err("its config says AWQ".to_owned()),
    };
    let bits = u32::try_from(bits).ok().filter(|bits| WIDTHS.contains(bits)).ok_or_else(|| {
        let planar = if (5..8).contains(&bits) { ", whose bits lie in planes," } else { "" };
        format!("{bits}-bit GPTQ{planar} cannot be decoded by this version")
    })?;
    let sides = sides_of(qweight, beside, bits, less_one)?;
    let group_size = packed.group_size.flatten().unwrap_or(sides.inputs);
    if sides.inputs.div_ceil(group_size) != sides.groups {
        return Err(format!(
            "the config's group size {group_size} gives {} groups of {} inputs, scales have {}",
            sides.inputs.div_ceil(group_size),
            sides.inputs,
            sides.groups
        ));
    }
    Ok(Sides { group_size, ..sides })
}

/// The shapes tell the bits and the groups, but never how zero points are stored.
fn without_config(qweight: &TensorInfo, beside: &Companions<'_>) -> Result<Sides, String> {
    let readings = readings(qweight, beside)?;
    let shown: Vec<String> =
        readings.iter().map(|sides| format!("gptq/{}", sides.variant())).collect();
    Err(format!(
        "no quantization config lies beside it, so the meaning of its zero points is unknown: \
         stored less one, as most files have them, or as they are (v2), which shifts every value \
         by one step. It may be {}; put config.json or quantize_config.json beside the file, or \
         say which",
        shown.join(" or ")
    ))
}

/// Everything that the shapes allow for.
fn readings(qweight: &TensorInfo, beside: &Companions<'_>) -> Result<Vec<Sides>, String> {
    let both = |bits| [true, false].map(|less_one| sides_of(qweight, beside, bits, less_one));
    let all: Vec<Result<Sides, String>> = WIDTHS.into_iter().flat_map(both).collect();
    let fitting: Vec<Sides> = all.iter().filter_map(|sides| sides.clone().ok()).collect();
    match (fitting.is_empty(), all.into_iter().find_map(Result::err)) {
        (true, Some(reason)) => Err(reason),
        _ => Ok(fitting),
    }
}

/// What the shapes say for codes of so many bits.
fn sides_of(
    qweight: &TensorInfo,
    beside: &Companions<'_>,
    bits: u32,
    less_one: bool,
) -> Result<Sides, String> {
    let (_, scales) = beside.scales.ok_or("its `scales` are missing")?;
    let (_, zeros) = beside.zeros.ok_or("its `qzeros` are missing")?;
    let &[words, outputs] = &qweight.shape[..] else {
        return Err(format!("qweight has shape {:?}, two dimensions are expected", qweight.shape));
    };
    let &[groups, scale_columns] = &scales.shape[..] else {
        return Err(format!("scales have shape {:?}, two dimensions are expected", scales.shape));
    };
    if scale_columns != outputs {
        return Err(format!("scales have {scale_columns} columns, qweight has {outputs}"));
    }
    let scale_type = match scales.stored {
        StoredType::Element(t @ (DType::F16 | DType::BF16 | DType::F32)) => t,
        ref other => {
            return Err(format!("scales are {}, a float type is expected", other.name()));
        }
    };
    let inputs = inputs_of(words, beside, bits)?;
    let zero_words = outputs.checked_mul(bits.into()).ok_or("qweight is too large")?.div_ceil(32);
    if outputs == 0 || inputs == 0 || groups == 0 {
        return Err(format!(
            "qweight {:?} and scales {:?} do not fit",
            qweight.shape, scales.shape
        ));
    }
    if zeros.shape[..] != [groups, zero_words] || zeros.stored != DType::I32.into() {
        return Err(format!(
            "qzeros are {} {:?}, expected I32 [{groups}, {zero_words}] for {bits} bits",
            zeros.stored.name(),
            zeros.shape,
        ));
    }
    let group_size = inputs.div_ceil(groups);
    Ok(Sides { bits, inputs, outputs, groups, group_size, scale_type, less_one })
}

/// The inputs that so many words hold: all there is room for, unless `g_idx` says less.
fn inputs_of(words: u64, beside: &Companions<'_>, bits: u32) -> Result<u64, String> {
    let bits = u64::from(bits);
    let room = words.checked_mul(32).ok_or("qweight is too large")? / bits;
    let Some((_, groups)) = beside.groups else { return Ok(room) };
    match (&groups.shape[..], &groups.stored) {
        (&[inputs], stored)
            if *stored == DType::I32.into()
                && inputs.checked_mul(bits).map(|bits| bits.div_ceil(32)) == Some(words) =>
        {
            Ok(inputs)
        }
        _ => Err(format!(
            "g_idx is {} {:?}, expected I32 [{room}] for {bits} bits",
            groups.stored.name(),
            groups.shape
        )),
    }
}
