//! The list of weights.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::TensorReport;

use super::args::Sort;
use super::sort::bits;
use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, count};

pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    tensors: &[TensorReport],
    sort: Option<Sort>,
) -> io::Result<()> {
    // The sort key, if no other column shows it.
    let (by, figure): (_, fn(&TensorReport) -> String) = match sort {
        Some(Sort::Parameters) => ("parameters", |tensor| count(tensor.parameters)),
        Some(Sort::Bits) => ("bits", |tensor| format!("{:.2}", bits(tensor))),
        _ => ("", |_| String::new()),
    };
    let mut table = Table::new([
        ("name", Side::Left),
        ("shape", Side::Left),
        ("scheme", Side::Left),
        ("native", Side::Left),
        (by, Side::Right),
        ("bytes", Side::Right),
    ])
    .dropping(&["native"]);
    for tensor in tensors {
        table.row([
            name(&tensor.name),
            format!("{:?}", tensor.shape),
            format!("{}/{}", tensor.scheme, escaped(&tensor.variant)),
            tensor.native.unwrap_or("?").to_owned(),
            figure(tensor),
            bytes(tensor.bytes),
        ]);
    }
    writeln!(out)?;
    match tensors {
        [] => writeln!(out, "  no weights"),
        _ => table.write(out, 2, page.width),
    }
}

/// Quotes a name that is empty or has spaces at its ends.
fn name(name: &str) -> String {
    if name.is_empty() || name.trim() != name {
        format!("\"{}\"", escaped(name))
    } else {
        escaped(name).into_owned()
    }
}
