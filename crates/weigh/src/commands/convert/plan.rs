//! The tensors and metadata keys that a conversion would write.

use std::io::{self, Write};

use serde_json::Value as Json;
use weighbridge::internals::text::{escaped, shortened};
use weighbridge::ops::PlanReport;

use crate::render::lists::more;
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, grouped};
use crate::render::wrap::wrapped;
use crate::render::{LABEL, Page};

/// Longest value shown, in characters.
const MOST_TEXT: usize = 60;

pub(super) fn write(out: &mut dyn Write, page: &Page, plan: &PlanReport) -> io::Result<()> {
    let shown = page.shown(plan.tensors.len());
    let mut table = Table::new([
        ("tensor", Side::Left),
        ("type", Side::Left),
        ("shape", Side::Left),
        ("bytes", Side::Right),
        ("from", Side::Left),
    ])
    .dropping(&["from", "bytes"]);
    for tensor in &plan.tensors[..shown] {
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        table.row([
            escaped(&tensor.name).into_owned(),
            tensor.dtype.clone(),
            format!("[{}]", shape.join(", ")),
            bytes(tensor.bytes),
            format!("{}/{}", tensor.scheme, escaped(&tensor.variant)),
        ]);
    }
    writeln!(out)?;
    table.write(out, 2, page.width)?;
    more(out, plan.tensors.len() - shown)?;
    keys(out, page, plan)
}

/// Writes metadata as `key: type = value` lines.
fn keys(out: &mut dyn Write, page: &Page, plan: &PlanReport) -> io::Result<()> {
    if plan.metadata.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {LABEL}metadata{LABEL:#}")?;
    let shown = page.shown(plan.metadata.len());
    for (key, value) in plan.metadata.iter().take(shown) {
        let kind = plan.metadata_types.get(key).map_or("", String::as_str);
        let value = match value {
            Json::String(text) => shortened(text, MOST_TEXT),
            Json::Object(array) => {
                format!("{} elements", grouped(array["length"].as_u64().unwrap_or(0)))
            }
            other => shortened(&other.to_string(), MOST_TEXT),
        };
        write!(out, "    ")?;
        wrapped(out, page.width, 6, 4, &format!("{}: {kind} = {value}", escaped(key)))?;
    }
    more(out, plan.metadata.len() - shown)
}
