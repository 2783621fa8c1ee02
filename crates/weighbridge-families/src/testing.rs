//! For tests: files that llama.cpp's converter made.

use std::path::Path;

use weighbridge_containers::gguf::Gguf;
use weighbridge_containers::{Container, Opening, format_of};
use weighbridge_core::dtype::{DType, StoredType};
use weighbridge_core::input::Input;
use weighbridge_core::limits::{Budget, Limits};
use weighbridge_core::source::{Slab, Source};

use crate::catalog::Value;

/// An opened GGUF file.
pub(crate) fn open(path: &Path) -> Source {
    open_as(&Gguf, path)
}

/// An opened file of a format.
pub(crate) fn open_as(container: &'static dyn Container, path: &Path) -> Source {
    let limits = Limits::default();
    let budget = Budget::new(limits.clone());
    let input = Input::from_bytes(std::fs::read(path).unwrap(), path.to_str().unwrap());
    let opening = Opening { budget: &budget, stem: "x", root: None, strict_pickle: false };
    let catalog = container.open(&input, &opening).unwrap();
    Source::new(input, catalog, format_of(container), limits)
}

/// All metadata of a file, arrays read.
pub(crate) fn metadata(source: &Source) -> Vec<(String, Value)> {
    let whole = |value: &Value| match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    };
    source.catalog().metadata.iter().map(|(key, value)| (key.to_owned(), whole(value))).collect()
}

/// The numbers of a tensor of F32 or BF16, if it is there.
pub(crate) fn numbers(source: &Source, name: &str) -> Option<Vec<f32>> {
    let tensor = source.catalog().tensors.iter().find(|tensor| &*tensor.name == name)?;
    let mut bytes = vec![0; usize::try_from(tensor.bytes).unwrap()];
    source.copy(tensor, &Slab::whole(0, 0, tensor.bytes), &mut bytes).unwrap();
    let is_half = tensor.stored == StoredType::Element(DType::F16);
    let single = |bytes: &[u8]| match *bytes {
        [low, high] if is_half => half::f16::from_le_bytes([low, high]).to_f32(),
        [low, high] => f32::from_le_bytes([0, 0, low, high]),
        _ => f32::from_le_bytes(bytes.try_into().unwrap()),
    };
    let each = bytes.len() / usize::try_from(tensor.shape.iter().product::<u64>()).unwrap();
    Some(bytes.chunks_exact(each).map(single).collect())
}
