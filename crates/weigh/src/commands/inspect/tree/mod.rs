//! Weights as a tree of modules, with identical numbered modules folded.

use std::io::{self, Write};

use serde::Serialize;
use weighbridge::internals::text::escaped;
use weighbridge::ops::TensorReport;

use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, count, grouped};

mod fold;

/// A module or a weight, or the total of several identical ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Module {
    /// The name within the parent module: `self_attn`, `layers.0-31`.
    name: String,
    /// Number of weights.
    weights: u64,
    parameters: u64,
    bytes: u64,
    /// The shape and storage, if it is a weight.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    weight: Option<Kind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<Module>,
}

/// The properties in which identical weights agree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
struct Kind {
    shape: Vec<u64>,
    scheme: &'static str,
    variant: String,
}

/// Builds the tree of these weights.
pub(super) fn of(tensors: &[TensorReport]) -> Vec<Module> {
    fold::tree(tensors)
}

pub(super) fn write(out: &mut dyn Write, page: &Page, modules: &[Module]) -> io::Result<()> {
    writeln!(out)?;
    if modules.is_empty() {
        return writeln!(out, "  no weights");
    }
    let mut table = Table::new([
        ("module", Side::Left),
        ("weights", Side::Right),
        ("shape", Side::Left),
        ("scheme", Side::Left),
        ("parameters", Side::Right),
        ("bytes", Side::Right),
    ])
    .dropping(&["weights", "shape", "scheme", "parameters"]);
    modules.iter().for_each(|module| add(&mut table, module, 0));
    table.write(out, 2, page.width)
}

fn add(table: &mut Table<6>, module: &Module, depth: usize) {
    let (shape, scheme) = match &module.weight {
        Some(kind) => {
            (format!("{:?}", kind.shape), format!("{}/{}", kind.scheme, escaped(&kind.variant)))
        }
        None => (String::new(), String::new()),
    };
    let name = if module.name.is_empty() { "\"\"".into() } else { escaped(&module.name) };
    table.row([
        format!("{:1$}{name}", "", 2 * depth),
        grouped(module.weights),
        shape,
        scheme,
        count(module.parameters),
        bytes(module.bytes),
    ]);
    module.modules.iter().for_each(|inner| add(table, inner, depth + 1));
}
