//! What a GGUF file tells about its model.

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::error::Result;

/// The metadata as a program would ask for it.
pub type Ask<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// What a GGUF file tells about its model.
pub struct Told<'a> {
    /// Its metadata, with all arrays read.
    pub metadata: &'a Ask<'a>,
    /// The keys of it.
    pub keys: Vec<&'a str>,
    /// Names and shapes of its tensors, outermost dimension first.
    pub tensors: Vec<(&'a str, &'a [u64])>,
    /// Reads the numbers of a small tensor.
    pub numbers: &'a dyn Fn(&str) -> Result<Option<Vec<f32>>>,
}

impl Told<'_> {
    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<Value> {
        (self.metadata)(key)
    }

    /// The text of a key; empty if there is none.
    pub fn text(&self, key: &str) -> String {
        self.value(key).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// The count of a key.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// What the file calls its architecture.
    pub fn architecture(&self) -> String {
        self.text("general.architecture")
    }

    /// The value of a key of the architecture.
    pub fn own(&self, key: &str) -> Option<Value> {
        self.value(&format!("{}.{key}", self.architecture()))
    }

    /// Whether the file has a tensor.
    pub fn has(&self, tensor: &str) -> bool {
        self.tensors.iter().any(|(name, _)| *name == tensor)
    }

    /// The shape of a tensor, if it is there.
    pub fn shape_of(&self, tensor: &str) -> Option<&[u64]> {
        self.tensors.iter().find(|(name, _)| *name == tensor).map(|(_, shape)| *shape)
    }

    /// The outermost dimension of a tensor; zero if it is not there.
    pub fn rows_of(&self, tensor: &str) -> u64 {
        self.shape_of(tensor).and_then(|shape| shape.first().copied()).unwrap_or(0)
    }

    /// Layers that have a tensor, by the end of its name.
    pub fn layers_with(&self, end: &str) -> Vec<u64> {
        let of = |name: &str| {
            let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
            (rest == end).then(|| layer.parse().ok())?
        };
        let mut layers: Vec<u64> = self.tensors.iter().filter_map(|(name, _)| of(name)).collect();
        layers.sort_unstable();
        layers
    }
}

/// A value as configs have it. Of a number in single precision the shortest digits that mean it.
pub(crate) fn as_json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Unsigned(_, number) => (*number).into(),
        Value::Signed(_, number) => (*number).into(),
        Value::F32(number) => single(*number)?,
        Value::F64(number) if number.is_finite() => (*number).into(),
        Value::Text(text) => (&**text).into(),
        _ => return None,
    })
}

/// The shortest digits that mean a number in single precision.
pub(crate) fn single(number: f32) -> Option<Json> {
    let digits: f64 = number.to_string().parse().ok()?;
    digits.is_finite().then(|| digits.into())
}

/// The name of a tensor in the first layer.
pub(crate) fn in_first_layer(name: &str) -> String {
    name.replacen('#', "0", 1)
}

/// The name of a tensor with `#` for the layer.
pub(crate) fn in_any_layer(name: &str) -> String {
    match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        Some((_, rest)) => format!("blk.#.{rest}"),
        None => name.to_owned(),
    }
}
