//! The list of weights.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::TensorReport;

use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::bytes;

pub(super) fn write(out: &mut dyn Write, page: &Page, tensors: &[TensorReport]) -> io::Result<()> {
    let mut table = Table::new([
        ("name", Side::Left),
        ("shape", Side::Left),
        ("scheme", Side::Left),
        ("native", Side::Left),
        ("bytes", Side::Right),
    ]);
    for tensor in tensors {
        table.row([
            name(&tensor.name),
            format!("{:?}", tensor.shape),
            format!("{}/{}", tensor.scheme, escaped(&tensor.variant)),
            tensor.native.unwrap_or("?").to_owned(),
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
    match name.is_empty() || name.trim() != name {
        true => format!("\"{}\"", escaped(name)),
        false => escaped(name).into_owned(),
    }
}
