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

use crate::arithmetic::columns::config::{AUTO_ROUND, FILES, Packed, ROTATED, Settings};
use crate::arithmetic::columns::{self, Companions, Sides, Zeros};
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::parts::parts_of;
use crate::framework::{
    Bids, ConfigFile, Configs, Evidence, Method, SHARED, Scheme, Sign, StoredTensor, Summary,
    TargetLayout, Traces,
};

mod settings;
mod target;

/// The AWQ scheme.
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

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        settings::are_ours(configs).then_some((Sign::Settings, self.name()))
    }

    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        &[&target::AwqLayout]
    }

    fn traces(&self) -> Traces {
        Traces { files: &["quant_config.json", "quantize_config.json"], ..SHARED }
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
            // Without a config, another scheme has these names too and reports them.
            if config.is_some() {
                let own = info.name.strip_suffix(".qzeros");
                columns::check_orphan(own, info, true, evidence, bids);
            }
        }
    }
}

fn bid_for(
    prefix: &str,
    (id, qweight): StoredTensor<'_>,
    evidence: &Evidence<'_>,
    config: Option<&Settings<'_, ()>>,
    bids: &mut Bids,
) {
    let find = |suffix: &str| evidence.find(&format!("{prefix}.{suffix}"));
    let beside = Companions::of(prefix, evidence);
    if config.is_none() && !is_gemm(qweight, beside.scales) {
        return;
    }
    let parts = parts_of([
        ("qweight", Some((id, qweight))),
        ("qzeros", beside.zeros),
        ("scales", beside.scales),
        ("scaled_zeros", find("scaled_zeros")),
        ("g_idx", beside.groups),
    ]);
    let rotated = ["theta", "pairs"].iter().any(|suffix| find(suffix).is_some());
    let decided = match config {
        _ if rotated => {
            Err("its inputs are rotated in pairs (ParoQuant), which is not supported".to_owned())
        }
        _ if beside.groups.is_some() => {
            Err("it has a `g_idx`, which AWQ does not use; the config may belong to another model"
                .to_owned())
        }
        Some(config) => configured(prefix, config, qweight, &beside),
        None => sides_of(qweight, &beside, Packed::default()),
    };
    let decided = decided.map_err(|reason| ("undecodable", reason));
    let choice = || evidence.chosen(&format!("{prefix}.weight"));
    let decided = decided.and_then(|sides| {
        let variant = format!("gemm-4bit-{}", sides.grouping());
        match config {
            Some(config) if config.rotated => by_choice(&variant, choice(), ROTATED)?,
            Some(_) => {}
            None => by_choice(&variant, choice(), NO_CONFIG)?,
        }
        Ok((sides, variant))
    });
    columns::bid_or_refuse((prefix, qweight), parts, decided, bids);
}

/// Shapes alone do not tell the order of outputs in a word, so the user must.
const NO_CONFIG: &str = "no quantization config found; eight interleaved outputs per word (AWQ) \
                         and eight in natural order have the same shapes; add config.json or \
                         quant_config.json, or set its scheme if it is AWQ";

/// Returns an error unless the user chose this reading.
fn by_choice(variant: &str, choice: Option<&str>, why: &str) -> Result<(), (&'static str, String)> {
    match choice.and_then(|choice| choice.strip_prefix("awq/")) {
        Some(named) if named == variant || named == "gemm" => Ok(()),
        _ => Err(("ambiguous", format!("{why} (awq/{variant})"))),
    }
}

/// Whether the shapes fit this layout.
fn is_gemm(qweight: &TensorInfo, scales: Option<StoredTensor<'_>>) -> bool {
    let (&[_, packed], Some((_, scales))) = (&qweight.shape[..], scales) else { return false };
    scales.shape.get(1) == packed.checked_mul(8).as_ref() && qweight.stored == DType::I32.into()
}

fn configured(
    prefix: &str,
    config: &Settings<'_, ()>,
    qweight: &TensorInfo,
    beside: &Companions<'_>,
) -> Result<Sides, String> {
    if let Err(name) = &config.layout {
        return Err(format!("AWQ layout `{name}` is not supported"));
    }
    let mut reason = None;
    for packed in config.of_module(prefix)? {
        let sides = match packed.bits {
            Some(4) | None => sides_of(qweight, beside, packed),
            Some(bits) => Err(format!("the config says {bits} bits, but AWQ has 4")),
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
    beside: &Companions<'_>,
    packed: Packed,
) -> Result<Sides, String> {
    let (_, scales) = beside.scales.ok_or("its `scales` are missing")?;
    let (&[inputs, words], &[groups, outputs]) = (&qweight.shape[..], &scales.shape[..]) else {
        return Err(format!(
            "qweight is {:?} and scales are {:?}, expected two dimensions each",
            qweight.shape, scales.shape
        ));
    };
    if qweight.stored != DType::I32.into() || words.checked_mul(8) != Some(outputs) {
        return Err(format!(
            "qweight is {} {:?}, expected I32 [in, {}], an eighth of the scales' {outputs} \
             outputs; the layouts gemv and gemv_fast are not supported",
            qweight.stored.name(),
            qweight.shape,
            outputs / 8,
        ));
    }
    let (_, zeros) = beside.zeros.ok_or(
        "its `qzeros` are missing, and no config states whether its codes are centred on 8",
    )?;
    if zeros.shape[..] != [groups, words] || zeros.stored != DType::I32.into() {
        return Err(format!(
            "qzeros are {} {:?}, expected I32 [{groups}, {words}]",
            zeros.stored.name(),
            zeros.shape,
        ));
    }
    let scale_type = columns::scale_type(scales)?;
    if inputs == 0 || outputs == 0 || groups == 0 {
        return Err(format!("qweight {:?} and scales {:?} are empty", qweight.shape, scales.shape));
    }
    let group_size = packed.group_size(inputs, groups)?;
    Ok(Sides { inputs, outputs, groups, group_size, scale_type, zeros: Zeros::Interleaved })
}

#[cfg(test)]
mod tests;
