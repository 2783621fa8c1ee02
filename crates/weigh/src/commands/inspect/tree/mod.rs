//! Weights as a tree of modules, in which what is numbered and alike stands once.

use std::io::{self, Write};

use serde::Serialize;
use weighbridge::internals::text::escaped;
use weighbridge::ops::TensorReport;

use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, count, grouped};

mod fold;

/// A module, or a weight; of several that are alike, the sum of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Module {
    /// Its name in the module around it: `self_attn`, `layers.0-31`.
    name: String,
    /// How many weights are in it.
    weights: u64,
    parameters: u64,
    bytes: u64,
    /// What the weight of this name is, or each of them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    weight: Option<Kind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<Module>,
}

/// What makes two weights alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
struct Kind {
    shape: Vec<u64>,
    scheme: &'static str,
    variant: String,
}

/// The tree of these weights.
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
    let name = match module.name.is_empty() {
        true => "\"\"".into(),
        false => escaped(&module.name),
    };
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
