//! Details from configs, metadata and small descriptive tensors.

use super::Group;
use crate::dtype::DType;
use crate::framework::conventions::comfy;
use crate::framework::{ConfigFile, Evidence, Holds};

/// Companions of the packed integers in HQQ and, after it, SINQ.
pub(super) const HQQ_PARTS: &str = ".scale .zero .scale2 .zero_scale .nbits .group_size .shape .axis \
                                    .packing .unpack_view_dtype .view_as_float .quant_scale \
                                    .quant_zero .compute_dtype .offload_meta .encoded_state_dict \
                                    .stores_quant_config .channel_wise .optimize .round_zero .meta \
                                    .meta.scale .meta.zero .meta.scale2";

/// Settings of a diffusers model.
const DIFFUSERS: &str = "quantization_config.json";

/// optimum-quanto's description of each module.
const QUANTO: &str = "quanto_qmap.json";

/// Config files that are read here.
pub(super) const FILES: [ConfigFile; 2] = [
    ConfigFile { name: DIFFUSERS, holds: Holds::Other },
    ConfigFile { name: QUANTO, holds: Holds::Other },
];

/// Returns the method that a config names, including that of diffusers.
pub(super) fn method(evidence: &Evidence<'_>) -> Option<String> {
    let own = || {
        let method = evidence.configs().file(DIFFUSERS)?.get("quant_method")?;
        method.as_str().map(str::to_lowercase)
    };
    evidence.method().map(str::to_owned).or_else(own)
}

/// Returns the bits of a trellis: 16-bit words for 256 numbers.
pub(super) fn exl3(group: &Group<'_, '_>) -> Option<String> {
    let words = group.anchor.1.shape.get(2)?;
    (words % 16 == 0).then(|| format!("{}bit", words / 16))
}

/// Returns the number of codebooks, and the bits of an index into them.
pub(super) fn aqlm(group: &Group<'_, '_>) -> Option<String> {
    let codebook = &group.companion(".codebooks")?.shape;
    let &[count, entries, ..] = &codebook[..] else { return None };
    let is_power = entries.is_power_of_two();
    is_power.then(|| format!("{count}x{}", entries.trailing_zeros()))
}

/// Returns the bits that a separate tensor states.
pub(super) fn hqq(group: &Group<'_, '_>) -> Option<String> {
    let bits = *whole_numbers(group, ".nbits")?.first()?;
    Some(format!("{bits}bit"))
}

/// Returns the numbers of a small companion, none of them negative.
pub(super) fn whole_numbers(group: &Group<'_, '_>, suffix: &str) -> Option<Vec<u64>> {
    let (_, id, info) = group.companions.iter().find(|companion| companion.0 == suffix)?;
    let bytes = group.evidence.bytes(*id).ok()?;
    let number = |chunk: &[u8]| match info.stored.element()? {
        DType::U8 | DType::I8 => Some(i64::from(chunk[0].cast_signed())),
        DType::I16 => Some(i64::from(i16::from_le_bytes(chunk.try_into().ok()?))),
        DType::I32 => Some(i64::from(i32::from_le_bytes(chunk.try_into().ok()?))),
        DType::I64 => Some(i64::from_le_bytes(chunk.try_into().ok()?)),
        DType::F32 => {
            let value = f32::from_le_bytes(chunk.try_into().ok()?);
            #[allow(clippy::cast_possible_truncation)] // Whole, and far inside.
            (value.fract() == 0.0 && value.abs() < 1e9).then_some(value as i64)
        }
        _ => None,
    };
    let width = (info.stored.element()?.bits() / 8) as usize;
    bytes.chunks_exact(width).map(|chunk| u64::try_from(number(chunk)?).ok()).collect()
}

/// Returns the module's type in `quanto_qmap.json`.
pub(super) fn quanto(group: &Group<'_, '_>) -> Option<String> {
    let map = group.evidence.configs().file(QUANTO)?;
    Some(map.get(group.module)?.get("weights")?.as_str()?.to_owned())
}

/// Returns the tensor's class in the file's metadata.
pub(super) fn torchao_type(group: &Group<'_, '_>) -> Option<String> {
    let key = format!("{}.weight", group.module);
    let text = group.evidence.metadata().iter().find_map(|all| all.get(&key))?.as_str()?;
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(json.get("_type")?.as_str()?.to_owned())
}

/// Returns the type of SDNQ's numbers.
pub(super) fn sdnq(group: &Group<'_, '_>) -> Option<String> {
    let own = group.evidence.configs().file(DIFFUSERS);
    let json = own.or_else(|| group.evidence.quantization().map(|(_, json)| json))?;
    Some(json.get("weights_dtype")?.as_str()?.to_owned())
}

/// Returns the bits of that type: the first number in `uint4`, `int5`, `float6_e3m2fn`.
pub(super) fn sdnq_bits(group: &Group<'_, '_>) -> Option<u64> {
    let name = sdnq(group)?;
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|bits| (1..=16).contains(bits))
}

/// Returns the format of ComfyUI's description, if it is not decoded.
pub(super) fn comfy(group: &Group<'_, '_>) -> Option<String> {
    let (_, description) = comfy::description(group.evidence, group.module)?;
    let description = description.ok()?;
    let format = comfy::format(&description)?;
    (!group.evidence.schemes().layer_formats.contains(&format))
        .then(|| format.chars().take(40).collect())
}

/// Whether no other scheme reads 8-bit integers with scales here: neither one whose method the
/// config names, nor one for a layout that ComfyUI describes.
pub(super) fn int8_is_unclaimed(group: &Group<'_, '_>) -> bool {
    let described = group.evidence.beside(group.module, comfy::TENSOR).is_some();
    !described && !group.evidence.belongs_to_another(super::NAME)
}
