//! `APRT`: the numbers one stage of a model put out, dumped while it ran.
//!
//! ```text
//! 0   `APRT`
//! 4   u32 LE   layer; 0xFFFFFFFF stands for the whole model
//! 8   u32 LE   n
//! 12  f32 LE   n numbers
//! ```

use crate::catalog::{Catalog, Finding, Place, Shape, TensorInfo, Value};
use crate::cursor::{Cursor, Endian};
use crate::dtype::DType;
use crate::error::Result;
use crate::input::Input;
use crate::limits::Budget;
use crate::note_truncation;

const DATA: u64 = 12;
const WHOLE_MODEL: u32 = u32::MAX;

pub(super) fn open(input: &Input, budget: &Budget) -> Result<Catalog> {
    budget.items(1, "the tensor list")?;
    let mut cursor = Cursor::new(input, 4, Endian::Little);
    let layer = cursor.u32("the layer name")?;
    let count = u64::from(cursor.u32("the element count")?);
    let mut catalog = Catalog::default();
    let layer = match layer {
        WHOLE_MODEL => Value::text("model"),
        layer => Value::Unsigned(32, layer.into()),
    };
    catalog.metadata.push("layer", layer);
    let bytes = count.saturating_mul(4);
    let end = DATA.saturating_add(bytes);
    catalog.tensors.push(TensorInfo {
        name: "stage".into(),
        shape: Shape::from_slice(&[count]),
        stored: DType::F32.into(),
        bytes,
        place: Place::at(DATA),
        refused: None,
    });
    catalog.declared_len = Some(end);
    catalog.detail = Some("APRT, one stage's output".to_owned());
    if let Some(len) = input.len() {
        note_truncation(&mut catalog, len);
        if len > end {
            let message = format!("{} bytes follow the last element", len.saturating_sub(end));
            catalog.findings.push(Finding::general("trailing-bytes", message));
        }
    }
    Ok(catalog)
}
