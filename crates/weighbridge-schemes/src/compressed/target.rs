//! Codes of other schemes as packed integers of 4 or 8 bits, or as four-bit floats (NVFP4A16);
//! activations as they are.
//!
//! One group of the config speaks of all linear layers, and those that are not quantized are
//! ignored by name. Where weights differ in bits or groups, each kind has a group that names its
//! modules. Zero points are left out if all of them are the middle, as those of symmetric codes.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::config::SMALL_FLOATS;
use super::loader_faults;
use crate::arithmetic::SmallFloats;
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{
    CodeNumbers, CodedWeight, EncodedTensor, GroupedForm, Groups, LaidOut, LayoutMismatch,
    PackedWeight, Packer, Panel, TargetLayout, ToLayOut,
};

/// The layout.
pub(super) struct PackedLayout;

/// The version whose words these are; those of 4 and 8 bits are the same in all.
const VERSION: &str = "0.19.0";

impl TargetLayout for PackedLayout {
    fn name(&self) -> Option<&'static str> {
        Some("compressed-tensors")
    }

    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>> {
        let is_float =
            |weight: &CodedWeight<'_>| matches!(weight.form.numbers, CodeNumbers::Floats { .. });
        if model.weights.iter().any(is_float) {
            let weights = model.each(|weight| FLOATS.packed(weight))?;
            let loader_faults = loader_faults::NVFP4;
            return Ok(LaidOut { loader_faults, ..LaidOut::described(weights, of_floats(model)) });
        }
        let symmetric = model.is_symmetric();
        let packed = |weight: &CodedWeight<'_>| {
            IntegerPacker { form: weight.form, symmetric }.packed(weight)
        };
        let laid_out = LaidOut::described(model.each(packed)?, settings(model, symmetric));
        let loader_faults = if symmetric { &[] } else { loader_faults::INTEGERS };
        Ok(LaidOut { loader_faults, ..laid_out })
    }
}

/// The tensors of four-bit floats with a factor for all.
const FLOATS: SmallFloats = SmallFloats {
    ends: ["weight_packed", "weight_scale", "weight_global_scale"],
    factor_shape: &[1],
    divides: true,
    has_minus_zero: true,
};

/// Settings of four-bit floats.
fn of_floats(model: &ToLayOut<'_>) -> Json {
    let mut group = group((4, Some(16)), true, &json!(["Linear"]));
    group["format"] = SMALL_FLOATS.into();
    let weights = &mut group["weights"];
    weights["scale_dtype"] = "torch.float8_e4m3fn".into();
    weights["strategy"] = "tensor_group".into();
    weights["type"] = "float".into();
    described(model, SMALL_FLOATS, &json!({ "group_0": group }))
}

/// Settings with these groups.
fn described(model: &ToLayOut<'_>, format: &str, groups: &Json) -> Json {
    let mut ignore: Vec<&str> = model.plain_modules().collect();
    // Where it shares the numbers of the embedding, there is none of its own to be seen.
    if !ignore.contains(&"lm_head") && !model.coded_modules().any(|module| module == "lm_head") {
        ignore.push("lm_head");
    }
    json!({
        "config_groups": groups,
        "format": format,
        "global_compression_ratio": null,
        "ignore": ignore,
        "kv_cache_scheme": null,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "version": VERSION,
    })
}

/// Bits, and columns of a group; `None` is one group for each row.
type Arguments = (u32, Option<u64>);

fn settings(model: &ToLayOut<'_>, symmetric: bool) -> Json {
    let mut kinds: Vec<(Arguments, Vec<&str>)> = Vec::new();
    for (weight, module) in model.weights.iter().zip(model.coded_modules()) {
        let arguments = arguments(model, weight);
        match kinds.iter_mut().find(|(known, _)| *known == arguments) {
            Some((_, modules)) => modules.push(module),
            None => kinds.push((arguments, vec![module])),
        }
    }
    let is_one = kinds.len() == 1;
    let groups: Map<String, Json> = (0..)
        .zip(&kinds)
        .map(|(index, (arguments, modules))| {
            let targets = if is_one { json!(["Linear"]) } else { json!(modules) };
            (format!("group_{index}"), group(*arguments, symmetric, &targets))
        })
        .collect();
    described(model, "pack-quantized", &groups.into())
}

/// A weight with one group is of the same kind as others with groups of that size.
fn arguments(model: &ToLayOut<'_>, weight: &CodedWeight<'_>) -> Arguments {
    let form = &weight.form;
    let is_alike = |other: &CodedWeight<'_>| {
        other.form.groups() > 1
            && other.form.group == form.group
            && other.form.bits() == form.bits()
    };
    let is_grouped = form.groups() > 1 || model.weights.iter().any(is_alike);
    (form.bits(), is_grouped.then_some(form.group))
}

fn group((bits, group): Arguments, symmetric: bool, targets: &Json) -> Json {
    json!({
        "format": "pack-quantized",
        "input_activations": null,
        "output_activations": null,
        "targets": targets,
        "weights": {
            "actorder": null,
            "block_structure": null,
            "dynamic": false,
            "group_size": group,
            "num_bits": bits,
            "observer": null,
            "observer_kwargs": {},
            "scale_dtype": null,
            "strategy": if group.is_some() { "group" } else { "channel" },
            "symmetric": symmetric,
            "type": "int",
            "zp_dtype": if symmetric { None } else { Some("torch.int8") },
        },
    })
}

/// Packs integers.
struct IntegerPacker {
    form: GroupedForm,
    /// Whether zero points are left out.
    symmetric: bool,
}

impl IntegerPacker {
    fn packed(self, weight: &CodedWeight<'_>) -> Result<PackedWeight, String> {
        let form = &self.form;
        let module =
            weight.name.strip_suffix(".weight").ok_or("its name does not end in `.weight`")?;
        if !matches!(form.numbers, CodeNumbers::Integers { .. }) {
            return Err("its codes are not integers".to_owned());
        }
        let (rows, columns, groups) = (form.rows, form.columns, form.groups());
        let per_word = form.codes_a_word();
        if !self.symmetric && !rows.is_multiple_of(per_word) {
            return Err(format!("its {rows} rows do not fill whole words of zero points"));
        }
        let tensor = |end: &str, dtype: DType, sides: &[u64], groups: Groups| {
            EncodedTensor::of(format!("{module}.{end}"), dtype, sides, groups)
        };
        let each = |elements: u64, bytes: u64| Groups::Of { elements, bytes };
        let scales = each(form.group, form.scale_bytes());
        let mut tensors = vec![
            tensor("weight_packed", DType::I32, &[rows, columns / per_word], each(per_word, 4)),
            tensor("weight_scale", form.scale, &[rows, groups], scales),
            tensor("weight_shape", DType::I64, &[2], Groups::Once),
        ];
        if !self.symmetric {
            let points = each(per_word * columns, groups * 4);
            tensors.push(tensor(
                "weight_zero_point",
                DType::I32,
                &[rows / per_word, groups],
                points,
            ));
        }
        Ok(PackedWeight { form: *form, tensors, packer: Arc::new(self) })
    }

    /// Zero points, of as many rows as a word has codes in each word.
    fn pack_zeros(&self, panel: &Panel<'_>, out: &mut [u8]) {
        let [_, groups] = panel.factors_of.sides();
        let bits = self.form.bits() as usize;
        for (at, word) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let (first, group) = (at / groups * (32 / bits), at % groups);
            let point = |row: usize| u32::from(panel.zeros[(first + row) * groups + group]);
            *word =
                (0..32 / bits).fold(0, |word, row| word | point(row) << (bits * row)).to_le_bytes();
        }
    }
}

impl Packer for IntegerPacker {
    fn unit(&self) -> u64 {
        if self.symmetric { 1 } else { self.form.codes_a_word() }
    }

    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, scales, shape, rest @ ..] = out else { return Ok(()) };
        match self.form.bits() {
            8 => codes.copy_from_slice(panel.codes),
            _ => {
                for (out, pair) in codes.iter_mut().zip(panel.codes.as_chunks::<2>().0) {
                    *out = pair[0] | pair[1] << 4;
                }
            }
        }
        scales.copy_from_slice(panel.scales);
        for (out, side) in
            shape.as_chunks_mut().0.iter_mut().zip([self.form.rows, self.form.columns])
        {
            *out = side.to_le_bytes();
        }
        if let [zeros, ..] = rest {
            self.pack_zeros(panel, zeros);
        }
        Ok(())
    }
}
