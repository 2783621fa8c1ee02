//! From names, shapes and configs to a GPTQ layout, or to a finding.

use serde_json::Value as Json;

use super::bid_of;
use crate::catalog::{Finding, TensorInfo};
use crate::dtype::{DType, StoredType};
use crate::schemes::{Bid, Bids, Evidence, Part, TensorId};

/// The sides of one packed weight, once all evidence agrees.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) inputs: u64,
    pub(super) outputs: u64,
    pub(super) groups: u64,
    pub(super) group_size: u64,
    pub(super) scale_type: DType,
    pub(super) zeros_less_one: bool,
}

impl Layout {
    pub(super) fn variant(&self) -> String {
        let group = match self.groups {
            1 => "channel".to_owned(),
            _ => format!("g{}", self.group_size),
        };
        let zeros = if self.zeros_less_one { "" } else { "-v2" };
        format!("4bit-{group}{zeros}")
    }
}

type Found<'a> = (TensorId, &'a TensorInfo);

/// Bids for `prefix.qweight` and its companions, unless the shapes say it is AWQ's.
pub(super) fn bid_for(
    prefix: &str,
    id: TensorId,
    qweight: &TensorInfo,
    evidence: &Evidence<'_>,
    bids: &mut Bids,
) {
    let find = |suffix: &str| evidence.find(&format!("{prefix}.{suffix}"));
    let settings = Settings::of(evidence);
    if settings.as_ref().is_some_and(|s| !s.is_gptq) || qweight.stored != DType::I32.into() {
        return;
    }
    let (zeros, scales, groups) = (find("qzeros"), find("scales"), find("g_idx"));
    if looks_like_awq(qweight, scales, groups) {
        return;
    }
    let mut parts = vec![Part { role: "qweight", tensor: id }];
    let named = [("qzeros", zeros), ("scales", scales), ("g_idx", groups)];
    parts.extend(named.iter().filter_map(|(role, f)| f.map(|f| Part { role, tensor: f.0 })));
    let name = format!("{prefix}.weight");
    match layout_of(qweight, zeros, scales, groups, settings.as_ref()) {
        Ok(layout) => bids.weights.push(bid_of(layout, name, parts, groups.is_some())),
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
fn looks_like_awq(
    qweight: &TensorInfo,
    scales: Option<Found<'_>>,
    groups: Option<Found<'_>>,
) -> bool {
    let (Some(&packed), Some((_, scales))) = (qweight.shape.get(1), scales) else {
        return false;
    };
    groups.is_none() && scales.shape.get(1) == packed.checked_mul(8).as_ref()
}

fn layout_of(
    qweight: &TensorInfo,
    zeros: Option<Found<'_>>,
    scales: Option<Found<'_>>,
    groups: Option<Found<'_>>,
    settings: Option<&Settings>,
) -> Result<Layout, String> {
    let (_, scales) = scales.ok_or("its `scales` are missing")?;
    let (_, zeros) = zeros.ok_or("its `qzeros` are missing")?;
    let settings = settings.ok_or(
        "no quantization config lies beside it, so the meaning of its zero points is unknown; \
         put config.json or quantize_config.json beside the file",
    )?;
    let &[words, outputs] = &qweight.shape[..] else {
        return Err(format!("qweight has shape {:?}, two dimensions are expected", qweight.shape));
    };
    let &[group_count, scale_columns] = &scales.shape[..] else {
        return Err(format!("scales have shape {:?}, two dimensions are expected", scales.shape));
    };
    if scale_columns != outputs {
        return Err(format!("scales have {scale_columns} columns, qweight has {outputs}"));
    }
    if settings.bits != 4 {
        return Err(format!("{}-bit GPTQ cannot be decoded by this version", settings.bits));
    }
    if let Some(format) = &settings.foreign_format {
        return Err(format!("checkpoint format `{format}` cannot be decoded by this version"));
    }
    let scale_type = match scales.stored {
        StoredType::Element(t @ (DType::F16 | DType::BF16 | DType::F32)) => t,
        ref other => {
            return Err(format!("scales are {}, a float type is expected", other.name()));
        }
    };
    if outputs == 0 || outputs % 8 != 0 || words == 0 || group_count == 0 {
        return Err(format!(
            "qweight {:?} and scales {:?} do not fit",
            qweight.shape, scales.shape
        ));
    }
    if zeros.shape[..] != [group_count, outputs / 8] || zeros.stored != DType::I32.into() {
        return Err(format!(
            "qzeros are {} {:?}, expected I32 [{group_count}, {}]",
            zeros.stored.name(),
            zeros.shape,
            outputs / 8
        ));
    }
    let inputs = words.checked_mul(8).ok_or("qweight is too large")?;
    check_groups(groups, inputs)?;
    let group_size = settings.group_size.unwrap_or(inputs);
    if inputs.div_ceil(group_size) != group_count {
        return Err(format!(
            "the config's group size {group_size} gives {} groups of {inputs} inputs, scales have {group_count}",
            inputs.div_ceil(group_size)
        ));
    }
    Ok(Layout {
        inputs,
        outputs,
        groups: group_count,
        group_size,
        scale_type,
        zeros_less_one: settings.zeros_less_one,
    })
}

fn check_groups(groups: Option<Found<'_>>, inputs: u64) -> Result<(), String> {
    match groups {
        Some((_, g)) if g.shape[..] != [inputs] || g.stored != DType::I32.into() => {
            Err(format!("g_idx is {} {:?}, expected I32 [{inputs}]", g.stored.name(), g.shape))
        }
        _ => Ok(()),
    }
}

/// What the config says, wherever it lies.
struct Settings {
    is_gptq: bool,
    bits: u64,
    group_size: Option<u64>,
    zeros_less_one: bool,
    foreign_format: Option<String>,
}

impl Settings {
    fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let (_, json) = evidence.quantization()?;
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let format = text("checkpoint_format").or_else(|| text("format")).unwrap_or("gptq");
        let known = ["gptq", "gptq_v2", "gemm"].contains(&format);
        Some(Self {
            is_gptq: text("quant_method").is_none_or(|method| method == "gptq"),
            bits: json.get("bits").and_then(Json::as_u64).unwrap_or(0),
            group_size: json.get("group_size").and_then(Json::as_u64).filter(|&g| g > 0),
            zeros_less_one: format != "gptq_v2",
            foreign_format: (!known).then(|| format.to_owned()),
        })
    }
}
