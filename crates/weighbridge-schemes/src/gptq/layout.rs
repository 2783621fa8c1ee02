//! Derives a GPTQ layout or a finding from names, shapes and configs.

use crate::arithmetic::columns::config::{Packed, ROTATED, Settings};
use crate::arithmetic::columns::{self, Companions, Sides, Zeros};
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::parts::parts_of;
use crate::framework::{Bids, Evidence, StoredTensor};
use crate::text::shortened;

/// Supported widths.
const WIDTHS: [u32; 4] = [2, 3, 4, 8];

fn variant(sides: &Sides) -> String {
    let Zeros::Stream { bits, less_one } = sides.zeros else { return String::new() };
    let zeros = if less_one { "" } else { "-v2" };
    format!("{bits}bit-{}{zeros}", sides.grouping())
}

/// Bids for `prefix.qweight` and its companions, unless the shapes show packed outputs.
pub(super) fn bid_for(
    prefix: &str,
    (id, qweight): StoredTensor<'_>,
    evidence: &Evidence<'_>,
    config: Option<&Settings<'_, bool>>,
    bids: &mut Bids,
) {
    let beside = Companions::of(prefix, evidence);
    // Another kernel's order, under its own names.
    if evidence.find(&format!("{prefix}.wscales")).is_some() {
        return;
    }
    let packs_outputs = packs_outputs(qweight, &beside);
    if config.is_none() && packs_outputs || qweight.stored != DType::I32.into() {
        return;
    }
    let parts = parts_of([
        ("qweight", Some((id, qweight))),
        ("qzeros", beside.zeros),
        ("scales", beside.scales),
        ("g_idx", beside.groups),
    ]);
    let (readings, why) = match config {
        Some(_) if packs_outputs => (Err(OUTPUTS.to_owned()), ""),
        Some(config) => {
            let why = if config.rotated { ROTATED } else { OPEN_CONFIG };
            (configured(prefix, qweight, &beside, config), why)
        }
        None => {
            let both = [true, false].map(|less_one| (Packed::default(), less_one));
            (readings(qweight, &beside, &both), NO_CONFIG)
        }
    };
    let choice = || evidence.chosen(&format!("{prefix}.weight"));
    let readings = readings.map_err(|reason| ("undecodable", reason));
    let decided = readings.and_then(|readings| one_of(readings, why, &choice));
    let decided = decided.map(|sides| (sides, variant(&sides)));
    columns::bid_or_refuse((prefix, qweight), parts, decided, bids);
}

/// Whether words hold eight outputs each instead of inputs: the scales have eight times the packed
/// columns.
fn packs_outputs(qweight: &TensorInfo, beside: &Companions<'_>) -> bool {
    let (Some(&packed), Some((_, scales))) = (qweight.shape.get(1), beside.scales) else {
        return false;
    };
    beside.groups.is_none() && scales.shape.get(1) == packed.checked_mul(8).as_ref()
}

const OUTPUTS: &str = "the config says GPTQ, but the shapes pack eight outputs per word, which is \
                       another method's layout; use the config of this model";
const NO_CONFIG: &str = "no quantization config found, so its zero points are ambiguous: stored \
                         minus one, as in most files, or unchanged (v2); the wrong choice shifts \
                         every value by one step";
const OPEN_CONFIG: &str = "the config does not state its bits and group size, or only with an \
                           unsupported pattern";

/// Returns the only reading, or the one that the user chose.
fn one_of<'e>(
    readings: Vec<Sides>,
    why: &str,
    ask: &dyn Fn() -> Option<&'e str>,
) -> Result<Sides, (&'static str, String)> {
    let readings = match <[Sides; 1]>::try_from(readings) {
        Ok([one]) if why != ROTATED => return Ok(one),
        Ok(one) => one.into(),
        Err(readings) => readings,
    };
    let choice = ask();
    let named = choice.and_then(|choice| choice.strip_prefix("gptq/"));
    if let Some(one) = readings.iter().find(|sides| Some(&*variant(sides)) == named) {
        return Ok(*one);
    }
    let shown: Vec<String> =
        readings.iter().map(|sides| format!("gptq/{}", variant(sides))).collect();
    let not_it = choice.map_or_else(String::new, |choice| {
        format!("; '{}' was given, but is not one of them", shortened(choice, 40))
    });
    let advice = match why {
        ROTATED => "",
        _ => "; add config.json or quantize_config.json, or set its scheme",
    };
    let reason = format!("{why}; choices: {}{advice}{not_it}", shown.join(" or "));
    Err(("ambiguous", reason))
}

/// Returns the readings that config and shapes allow: one, unless the config leaves it open.
fn configured(
    prefix: &str,
    qweight: &TensorInfo,
    beside: &Companions<'_>,
    config: &Settings<'_, bool>,
) -> Result<Vec<Sides>, String> {
    let less_one = match &config.layout {
        Ok(less_one) => *less_one,
        Err(name) if name == "marlin" => {
            return Err(
                "checkpoint format marlin is not supported: its codes are shuffled for a GPU kernel"
                    .to_owned(),
            );
        }
        Err(name) => {
            return Err(format!("checkpoint format `{name}` is not supported"));
        }
    };
    let possible = config.of_module(prefix)?;
    let possible: Vec<_> = possible.into_iter().map(|packed| (packed, less_one)).collect();
    readings(qweight, beside, &possible)
}

/// Returns every reading that the shapes allow, for the possible bits, group sizes and zero points;
/// if there is none, why the first does not fit.
fn readings(
    qweight: &TensorInfo,
    beside: &Companions<'_>,
    possible: &[(Packed, bool)],
) -> Result<Vec<Sides>, String> {
    let mut fitting: Vec<Sides> = Vec::new();
    let mut reason = None;
    for &(packed, less_one) in possible {
        let widths = match packed.bits {
            None => WIDTHS.to_vec(),
            Some(bits) => match u32::try_from(bits).ok().filter(|bits| WIDTHS.contains(bits)) {
                Some(bits) => vec![bits],
                None => {
                    reason.get_or_insert_with(|| unknown_width(bits));
                    continue;
                }
            },
        };
        for bits in widths {
            match sides_of(qweight, beside, bits, packed, less_one) {
                Ok(sides) if fitting.contains(&sides) => {}
                Ok(sides) => fitting.push(sides),
                Err(why) => _ = reason.get_or_insert(why),
            }
        }
    }
    match reason {
        Some(reason) if fitting.is_empty() => Err(reason),
        _ => Ok(fitting),
    }
}

fn unknown_width(bits: u64) -> String {
    let planar = if (5..8).contains(&bits) { " (bit planes)" } else { "" };
    format!("{bits}-bit GPTQ{planar} is not supported")
}

/// Returns the dimensions for codes of `bits` bits.
fn sides_of(
    qweight: &TensorInfo,
    beside: &Companions<'_>,
    bits: u32,
    packed: Packed,
    less_one: bool,
) -> Result<Sides, String> {
    let (_, scales) = beside.scales.ok_or("its `scales` are missing")?;
    let (_, zeros) = beside.zeros.ok_or("its `qzeros` are missing")?;
    let &[words, outputs] = &qweight.shape[..] else {
        return Err(format!("qweight has shape {:?}, expected two dimensions", qweight.shape));
    };
    let &[groups, scale_columns] = &scales.shape[..] else {
        return Err(format!("scales have shape {:?}, expected two dimensions", scales.shape));
    };
    if scale_columns != outputs {
        return Err(format!("scales have {scale_columns} columns, but qweight has {outputs}"));
    }
    let scale_type = columns::scale_type(scales)?;
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
    let group_size = match (packed.group_size, beside.groups) {
        // A list of groups needs no size.
        (None, Some(_)) => inputs.div_ceil(groups),
        _ => packed.group_size(inputs, groups)?,
    };
    let zeros = Zeros::Stream { bits, less_one };
    Ok(Sides { inputs, outputs, groups, group_size, scale_type, zeros })
}

/// Returns the inputs in `words` words: as many as fit, unless `g_idx` has fewer.
fn inputs_of(words: u64, beside: &Companions<'_>, bits: u32) -> Result<u64, String> {
    let bits = u64::from(bits);
    let capacity = words.checked_mul(32).ok_or("qweight is too large")? / bits;
    let Some((_, groups)) = beside.groups else {
        return match words * 32 % bits {
            0 => Ok(capacity),
            _ => Err(format!(
                "codes of {bits} bits do not fill its {words} words, and there is no `g_idx` to \
                 tell their number"
            )),
        };
    };
    match (&groups.shape[..], &groups.stored) {
        (&[inputs], stored)
            if *stored == DType::I32.into()
                && inputs.checked_mul(bits).map(|bits| bits.div_ceil(32)) == Some(words) =>
        {
            Ok(inputs)
        }
        _ => Err(format!(
            "g_idx is {} {:?}, expected I32 [{capacity}] for {bits} bits",
            groups.stored.name(),
            groups.shape
        )),
    }
}
