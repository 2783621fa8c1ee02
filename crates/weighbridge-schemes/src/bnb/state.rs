//! A weight's `quant_state`: JSON, stored as a tensor of bytes.

use serde_json::Value as Json;

use crate::catalog::Shape;
use crate::dtype::DType;

/// Description of a four-bit weight.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    pub(super) kind: String,
    pub(super) block: u64,
    pub(super) native: DType,
    pub(super) shape: Shape,
    pub(super) nested: Option<Nested>,
}

/// Quantization of absmax itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nested {
    pub(super) block: u64,
    pub(super) offset: f32,
}

/// Block sizes that bitsandbytes accepts.
const BLOCKS: std::ops::RangeInclusive<u64> = 32..=4096;

impl State {
    /// Parses a state, or returns what is missing or wrong.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json: Json = serde_json::from_slice(bytes)
            .map_err(|error| format!("its quant_state is not JSON ({error})"))?;
        let text = |key| field(&json, key, "text", Json::as_str);
        let block = field(&json, "blocksize", "a number", Json::as_u64)?;
        refuse_if!(
            !BLOCKS.contains(&block) || !block.is_power_of_two(),
            "its quant_state has blocksize {block}, expected a power of two from {} to {}",
            BLOCKS.start(),
            BLOCKS.end()
        );
        Ok(Self {
            kind: text("quant_type")?.to_owned(),
            block,
            native: type_named("dtype", text("dtype")?)?,
            shape: shape_of(&json)?,
            nested: nested_of(&json)?,
        })
    }
}

fn field<'a, T>(
    json: &'a Json,
    key: &str,
    expected: &str,
    read: impl Fn(&'a Json) -> Option<T>,
) -> Result<T, String> {
    let value = json.get(key).ok_or_else(|| format!("its quant_state lacks `{key}`"))?;
    read(value).ok_or_else(|| {
        let value = crate::text::shortened(&value.to_string(), 40);
        format!("its quant_state has `{key}` {value}, expected {expected}")
    })
}

fn type_named(key: &str, name: &str) -> Result<DType, String> {
    match name.trim_start_matches("torch.") {
        "bfloat16" => Ok(DType::BF16),
        "float16" => Ok(DType::F16),
        "float32" => Ok(DType::F32),
        _ => Err(format!(
            "its quant_state has `{key}` {}, expected bfloat16, float16 or float32",
            crate::text::shortened(name, 40)
        )),
    }
}

fn shape_of(json: &Json) -> Result<Shape, String> {
    let sizes = |value: &Json| value.as_array()?.iter().map(Json::as_u64).collect();
    field(json, "shape", "a list of sizes", sizes)
}

/// Parses the three members of a nested state: all or none.
fn nested_of(json: &Json) -> Result<Option<Nested>, String> {
    const KEYS: [&str; 3] = ["nested_blocksize", "nested_dtype", "nested_offset"];
    if KEYS.iter().all(|key| json.get(*key).is_none()) {
        return Ok(None);
    }
    let block = field(json, KEYS[0], "a positive number", |v| v.as_u64().filter(|&b| b > 0))?;
    let dtype = type_named(KEYS[1], field(json, KEYS[1], "text", Json::as_str)?)?;
    refuse_if!(dtype != DType::F32, "its quant_state has `nested_dtype` {dtype}, expected float32");
    #[allow(clippy::cast_possible_truncation)] // It was an f32 when it was written.
    let offset = field(json, KEYS[2], "a finite number", |v| {
        v.as_f64().map(|offset| offset as f32).filter(|offset| offset.is_finite())
    })?;
    Ok(Some(Nested { block, offset }))
}
