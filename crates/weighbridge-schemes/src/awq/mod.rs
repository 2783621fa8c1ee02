//! AWQ in the layout for matrix multiplication (GEMM): eight outputs of one input in a word.
//!
//! ```text
//! P.qweight  I32 [in, out / 8]        nibbles 0 4 1 5 2 6 3 7 of a word are outputs 0 .. 7
//! P.qzeros   I32 [groups, out / 8]    in the same order
//! P.scales   F16 [groups, out]
//! ```
//!
//! Recipe: `w[out][in] = scale[g][out] * (code - zero)`, see `columns`; canonical is
//! AutoAWQ 0.2.9 (`dequantize_gemm`). Zero points are stored as they are. The layouts for
//! matrix-vector multiplication (GEMV, GEMV_fast, llm-awq) are recognised and refused.

use std::sync::Arc;

use crate::arithmetic::columns::config::{AUTO_ROUND, FILES, Packed, ROTATED, Settings};
use crate::arithmetic::columns::{self, Columns, WordLayout, Zeros, plain_codes};
use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};
use crate::framework::{
    Bid, Bids, ConfigFile, Configs, Evidence, Method, Part, Scheme, Sign, StoredTensor, Summary,
    TargetLayout, Traces,
};

mod settings;
mod target;

use settings::Layout;

/// The scheme.
pub struct Awq;

impl Scheme for Awq {
    fn name(&self) -> &'static str {
        "awq"
    }

    fn methods(&self) -> &'static [Method] {
        &[settings::METHOD, AUTO_ROUND]
    }

    fn config_files(&self) -> &'static [ConfigFile] {
        &FILES
    }

    fn implied_method(&self, configs: Configs<'_>) -> Option<(Sign, &'static str)> {
        settings::are_ours(configs).then_some((Sign::Settings, self.name()))
    }

    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        &[&target::AwqLayout]
    }

    fn traces(&self) -> Traces {
        Traces {
            config_keys: &["quantization_config"],
            files: &["quant_config.json", "quantize_config.json"],
            metadata: &[],
        }
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.may_end_with(&[".qweight", ".qzeros", ".scales"])
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let Ok(config) = settings::of(evidence) else { return };
        for &(id, info) in evidence.tensors() {
            if let Some(prefix) = info.name.strip_suffix(".qweight") {
                bid_for(prefix, (id, info), evidence, config.as_ref(), bids);
            }
            // Without a config another scheme has these names too, and reports them.
            if config.is_some() {
                let own = info.name.strip_suffix(".qzeros");
                columns::check_orphan(own, info, true, evidence, bids);
            }
        }
    }
}

/// The sides of one packed weight.
struct Sides {
    inputs: u64,
    outputs: u64,
    groups: u64,
    group_size: u64,
    scale_type: DType,
}

fn bid_for(
    prefix: &str,
    (id, qweight): StoredTensor<'_>,
    evidence: &Evidence<'_>,
    config: Option<&Settings<'_, Layout>>,
    bids: &mut Bids,
) {
    let find = |suffix: &str| evidence.find(&format!("{prefix}.{suffix}"));
    let (zeros, scales) = (find("qzeros"), find("scales"));
    if config.is_none() && !is_gemm(qweight, scales) {
        return;
    }
    let mut parts = vec![Part { role: "qweight", tensor: id }];
    let (rest, groups) = (find("scaled_zeros"), find("g_idx"));
    let named = [("qzeros", zeros), ("scales", scales), ("scaled_zeros", rest), ("g_idx", groups)];
    parts.extend(named.iter().filter_map(|(role, f)| f.map(|f| Part { role, tensor: f.0 })));
    let name = format!("{prefix}.weight");
    let rotated = ["theta", "pairs"].iter().any(|suffix| find(suffix).is_some());
    let decided = match config {
        _ if rotated => Err("its inputs are rotated in pairs (ParoQuant); this version cannot \
                             decode it"
            .to_owned()),
        _ if groups.is_some() => {
            Err("it has a `g_idx`, which AWQ does not use: the config may be another model's"
                .to_owned())
        }
        Some(config) => configured(prefix, config, qweight, zeros, scales),
        None => sides_of(qweight, zeros, scales, Packed::default()),
    };
    let decided = decided.map_err(|reason| ("undecodable", reason));
    let decided = decided.and_then(|sides| match config {
        Some(config) if config.rotated => by_choice(sides, evidence.chosen(&name), ROTATED),
        Some(_) => Ok(sides),
        None => by_choice(sides, evidence.chosen(&name), NO_CONFIG),
    });
    match decided {
        Ok(sides) => bids.weights.push(bid_of(&sides, name, parts)),
        Err((kind, reason)) => {
            let bid = Bid::refused(name, qweight.shape.clone(), parts, &reason);
            bids.refuse(qweight, kind, bid);
        }
    }
}

/// Shapes alone cannot tell in which order outputs lie in a word, so the user must.
const NO_CONFIG: &str = "no quantization config lies beside it; it looks like eight interleaved \
                         outputs in each word, but outputs in their natural order would look the \
                         same; put config.json or quant_config.json beside the file, or say that \
                         it is AWQ";

/// The sides, if the user chose this reading.
fn by_choice(
    sides: Sides,
    choice: Option<&str>,
    why: &str,
) -> Result<Sides, (&'static str, String)> {
    let variant = sides.variant();
    match choice.and_then(|choice| choice.strip_prefix("awq/")) {
        Some(named) if named == variant || named == "gemm" => Ok(sides),
        _ => Err(("ambiguous", format!("{why} (awq/{variant})"))),
    }
}

impl Sides {
    fn variant(&self) -> String {
        match self.groups {
            1 => "gemm-4bit-channel".to_owned(),
            _ => format!("gemm-4bit-g{}", self.group_size),
        }
    }
}

fn bid_of(sides: &Sides, name: String, parts: Vec<Part>) -> Bid {
    let &Sides { inputs, outputs, groups, group_size, scale_type } = sides;
    let columns = Columns {
        codes: plain_codes(4),
        word_layout: WordLayout::Outputs,
        inputs,
        outputs,
        groups,
        group_size,
        scale_type,
        zeros: Zeros::Interleaved,
        indexed: false,
    };
    Bid {
        name,
        shape: [outputs, inputs].into_iter().collect(),
        variant: sides.variant().into(),
        native: Some(scale_type),
        parts,
        recipe: Ok(Arc::new(columns)),
    }
}

/// Whether the shapes are those of this layout.
fn is_gemm(qweight: &TensorInfo, scales: Option<StoredTensor<'_>>) -> bool {
    let (&[_, packed], Some((_, scales))) = (&qweight.shape[..], scales) else { return false };
    scales.shape.get(1) == packed.checked_mul(8).as_ref() && qweight.stored == DType::I32.into()
}

fn configured(
    prefix: &str,
    config: &Settings<'_, Layout>,
    qweight: &TensorInfo,
    zeros: Option<StoredTensor<'_>>,
    scales: Option<StoredTensor<'_>>,
) -> Result<Sides, String> {
    if let Layout::Other(name) = &config.layout {
        return Err(format!("AWQ's layout `{name}` cannot be decoded by this version"));
    }
    let mut reason = None;
    for packed in config.of_module(prefix)? {
        let sides = match packed.bits {
            Some(4) | None => sides_of(qweight, zeros, scales, packed),
            Some(bits) => Err(format!("the config says {bits} bits, AWQ has 4")),
        };
        match sides {
            Ok(sides) => return Ok(sides),
            Err(why) => _ = reason.get_or_insert(why),
        }
    }
    Err(reason.unwrap_or_default())
}

fn sides_of(
    qweight: &TensorInfo,
    zeros: Option<StoredTensor<'_>>,
    scales: Option<StoredTensor<'_>>,
    packed: Packed,
) -> Result<Sides, String> {
    let (_, scales) = scales.ok_or("its `scales` are missing")?;
    let (&[inputs, words], &[groups, outputs]) = (&qweight.shape[..], &scales.shape[..]) else {
        return Err(format!(
            "qweight {:?} and scales {:?} are expected to have two dimensions",
            qweight.shape, scales.shape
        ));
    };
    if qweight.stored != DType::I32.into() || words.checked_mul(8) != Some(outputs) {
        return Err(format!(
            "qweight is {} {:?}, expected I32 [in, {}], an eighth of the scales' {outputs} outputs; \
             the layouts gemv and gemv_fast cannot be decoded by this version",
            qweight.stored.name(),
            qweight.shape,
            outputs / 8,
        ));
    }
    let (_, zeros) = zeros.ok_or(
        "its `qzeros` are missing, and nothing says whether its codes are then centred on 8",
    )?;
    if zeros.shape[..] != [groups, words] || zeros.stored != DType::I32.into() {
        return Err(format!(
            "qzeros are {} {:?}, expected I32 [{groups}, {words}]",
            zeros.stored.name(),
            zeros.shape,
        ));
    }
    let scale_type = match scales.stored {
        StoredType::Element(t @ (DType::F16 | DType::BF16 | DType::F32)) => t,
        ref other => {
            return Err(format!("scales are {}, a float type is expected", other.name()));
        }
    };
    if inputs == 0 || outputs == 0 || groups == 0 {
        return Err(format!("qweight {:?} and scales {:?} are empty", qweight.shape, scales.shape));
    }
    let group_size = packed.group_size(inputs, groups)?;
    Ok(Sides { inputs, outputs, groups, group_size, scale_type })
}

#[cfg(test)]
mod tests;
