//! TorchScript of torch 1.0 to 1.3: a JSON document instead of a pickle.
//!
//! ```text
//! ROOT/model.json   {"mainModule": {"parameters": [{"name", "tensorId", "isBuffer"}], "submodules": [..]},
//!                    "tensors": [{"dims", "strides", "offset", "dataType", "data": {"key"}}]}
//! ROOT/tensors/0    one record a storage
//! ```

use serde::Deserialize;
use serde_json::Value as Json;

use crate::catalog::{Catalog, Finding, Shape};
use crate::error::{Error, Result};

use super::super::Opening;
use super::super::zip::Archive;
use super::archive::ZipStore;
use super::pickle::{Element, Heap};
use super::reader::Reader;
use super::report;
use super::storage::StorageId;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    main_module: Module,
    #[serde(default)]
    tensors: Vec<Tensor>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Module {
    name: String,
    parameters: Vec<Parameter>,
    submodules: Vec<Module>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "tensorId")]
    tensor: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tensor {
    #[serde(default)]
    dims: Vec<Json>,
    #[serde(default)]
    strides: Vec<Json>,
    #[serde(default)]
    offset: Json,
    #[serde(default)]
    data_type: String,
    data: Record,
}

#[derive(Deserialize)]
struct Record {
    key: String,
}

/// Reads `model.json`, or says that this is not one of PyTorch's archives.
pub(super) fn open_json(
    archive: &Archive<'_>,
    opening: &Opening<'_>,
    mut catalog: Catalog,
) -> Result<Catalog> {
    let named = archive.members().iter().find_map(|member| {
        let root = archive.name(member).strip_suffix("model.json")?;
        (root.is_empty() || root.ends_with('/')).then_some((member, root))
    });
    let Some((member, root)) = named else { return no_pickle(archive, catalog) };
    let text = archive.contents(member, opening.budget, "model.json")?;
    catalog.findings.extend(archive.sum_finding(member, &text));
    // A JSON tree costs several times its text.
    opening.budget.charge((text.len() as u64).saturating_mul(8), "model.json")?;
    let document: Document = serde_json::from_slice(&text).map_err(|error| {
        Error::malformed(format!("model.json is not what TorchScript writes: {error}"))
    })?;
    catalog.detail = Some("TorchScript 1.0".to_owned());
    let mut store = ZipStore::new(archive, root.to_owned());
    let heap = Heap::new(&[]);
    let mut reader = Reader::new(&heap, &mut store, opening.budget, catalog);
    let mut todo = vec![(String::new(), &document.main_module)];
    while let Some((prefix, module)) = todo.pop() {
        for parameter in &module.parameters {
            let tensor = whole(&parameter.tensor)
                .and_then(|id| document.tensors.get(usize::try_from(id).ok()?));
            if let Some(tensor) = tensor {
                reader.json_tensor(&format!("{prefix}{}", parameter.name), tensor)?;
            }
        }
        for child in module.submodules.iter().rev() {
            let name = format!("{prefix}{}.", child.name);
            opening.budget.charge(name.len() as u64, "the module names")?;
            todo.push((name, child));
        }
    }
    let mut catalog = reader.catalog;
    report::relations(&mut catalog);
    Ok(catalog)
}

/// An archive whose pickle is not there: cut short, or something else.
fn no_pickle(archive: &Archive<'_>, mut catalog: Catalog) -> Result<Catalog> {
    if archive.is_recovered() {
        let message = "data.pkl is missing: the file is truncated; fetch the file again";
        catalog.findings.push(Finding::general("broken-pickle", message));
        return Ok(catalog);
    }
    let names: Vec<_> = archive.members().iter().take(5).map(|m| archive.name(m)).collect();
    Err(Error::malformed(format!(
        "not a PyTorch checkpoint: the zip archive has no data.pkl; it has {} members, such \
             as {}",
        archive.members().len(),
        crate::text::shortened(&names.join(", "), 200)
    )))
}

/// Numbers of 64 bits are text in this dialect of JSON.
fn whole(json: &Json) -> Option<u64> {
    json.as_u64().or_else(|| json.as_str()?.parse().ok())
}

impl Reader<'_, '_> {
    fn json_tensor(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let element = match &*tensor.data_type {
            "FLOAT" => "float32",
            "DOUBLE" => "float64",
            "FLOAT16" => "float16",
            "BFLOAT16" => "bfloat16",
            "INT64" => "int64",
            "INT32" => "int32",
            "INT16" => "int16",
            "INT8" => "int8",
            "UINT8" => "uint8",
            "BOOL" => "bool",
            _ => "",
        };
        let shape: Option<Shape> = tensor.dims.iter().map(whole).collect();
        let strides: Option<Shape> = tensor.strides.iter().map(whole).collect();
        let (Some(element), Some(shape), Some(strides)) =
            (Element::of_dtype(element), shape, strides)
        else {
            return self.list(name, super::tensor::malformed());
        };
        let offset = whole(&tensor.offset).unwrap_or(0);
        // How long a storage is, only its record says.
        let key = tensor.data.key.as_bytes();
        let storage = StorageId { element: None, key, len: u64::MAX, view: None };
        let draft = self.view(&storage, element, offset, shape, &strides)?;
        self.list(name, draft)
    }
}
