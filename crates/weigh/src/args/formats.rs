//! Help that lists the output formats, from the library's table of writers.

use weighbridge::internals::containers::WRITERS;
use weighbridge::internals::containers::writing::{Holds, Writer};
use weighbridge::ops::QuantizeOptions;

/// The help of `--output`.
pub(crate) fn output_help() -> String {
    let endings: Vec<_> = WRITERS.iter().map(|writer| format!(".{}", writer.format())).collect();
    format!(
        "The output. A file's extension ({}) selects its format. A name without an extension is a \
         directory. `-` is standard output",
        endings.join(", ")
    )
}

/// The example of `convert`.
pub(crate) fn convert_example() -> String {
    let ending = WRITERS.first().map_or("", |writer| writer.format());
    format!("Example: weigh convert model/ -o plain.{ending} --dtype bf16")
}

/// The example of `quantize`.
pub(crate) fn quantize_example() -> String {
    let typed = WRITERS.iter().find(|writer| writer.holds() == Holds::Values);
    let ending = typed.map_or("", |writer| writer.format());
    let usual = QuantizeOptions::USUAL;
    format!("Example: weigh quantize model/ -o small.{ending} --type {usual}")
}

/// The short help of `--to`.
pub(crate) fn formats() -> String {
    format!("{} [default: by OUT's name]", listed(|_| true))
}

/// The help of `--to`.
pub(crate) fn format_help() -> String {
    format!("The output format: {} [default: from the output's name]", listed(|_| true))
}

/// The help of `--kv`.
pub(crate) fn metadata_help() -> String {
    let able = listed(|writer| writer.holds() == Holds::Values);
    format!(
        "Set a metadata entry of a {able} output. TYPE is u8 to u64, i8 to i64, f32, f64, bool or \
         str"
    )
}

/// Formats that a predicate selects, as `a, b or c`.
fn listed(wanted: impl Fn(&dyn Writer) -> bool) -> String {
    let names: Vec<_> =
        WRITERS.iter().filter(|writer| wanted(**writer)).map(|writer| writer.format()).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}
