//! Files that lie beside a model's weights.

use std::path::Path;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::input::{EntryKind, Folder};
use crate::model::Model;

/// The largest file beside the weights that is read into memory.
const LARGEST: u64 = 256 << 20;

/// The folder that a model's files lie in.
pub(super) fn home(model: &Model) -> &Path {
    match model.folder().kind(model.path()) {
        Ok(EntryKind::Folder) => model.path(),
        _ => model.path().parent().unwrap_or(Path::new("")),
    }
}

/// A file beside the weights, if it is there.
pub(in crate::ops) fn file(model: &Model, name: &str) -> Result<Option<Vec<u8>>> {
    file_in(model, home(model), name)
}

/// A file of a folder that lies where the model's own does, if it is there.
pub(super) fn file_in(model: &Model, home: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    read(&**model.folder(), home, name)
}

/// A file of a folder, if it is there.
pub(in crate::ops) fn read(
    folder: &dyn Folder,
    home: &Path,
    name: &str,
) -> Result<Option<Vec<u8>>> {
    let path = &home.join(name);
    let Ok(EntryKind::File(bytes)) = folder.kind(path) else { return Ok(None) };
    if bytes > LARGEST {
        return Err(Error::limit(format!(
            "{name} has {bytes} bytes, the limit is {LARGEST} bytes"
        )));
    }
    let failed = |e| Error::io(e, &format!("cannot read {name}"));
    let input = folder.open(path).map_err(failed)?;
    let mut text = vec![0; usize::try_from(bytes).unwrap_or(0)];
    input.read_at(0, &mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Names of the files in a folder beside the weights.
pub(super) fn file_names(model: &Model, name: &str) -> Vec<String> {
    let entries = model.folder().list(&home(model).join(name)).unwrap_or_default().into_iter();
    let files = entries.filter(|entry| matches!(entry.kind, EntryKind::File(_)));
    files.filter_map(|entry| entry.name.into_string().ok()).collect()
}

/// What configs call a type.
pub(super) fn config_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        _ => "float32",
    }
}
