//! `weigh show MODEL NAME`.

use std::io::{self, Write};
use std::path::Path;

use serde::{Serialize, Serializer};
use weighbridge::internals::text::{escaped, listed};
use weighbridge::ops::{Figures, Numbers, Window, Work};
use weighbridge::output::{LocalFile, Stream};
use weighbridge::{Error, Model, Weight};

use super::{Outcome, after_failure, after_write, standard_output, stdin};
use crate::args::Unmatched;
use crate::render::array::{self, EDGE, WIDTH};
use crate::render::json::{Layout, report};
use crate::render::units::plural;
use crate::render::{LABEL, TITLE};
use crate::terminal;

mod args;
mod figures;

pub(crate) use args::Show;

pub(super) fn run(args: &Show) -> Outcome {
    let failed = |error: &Error| {
        after_failure(error, Some(&args.model), args.json.layout(), Outcome::Failed)
    };
    let shown = opened(args).and_then(|window| match (&args.output, args.json.layout()) {
        (Some(output), _) => written(&window, output, args.raw).map(|()| None),
        (None, Some(layout)) => Ok(Some(as_json(&window, args.stats, layout)?)),
        (None, None) => Ok(Some(as_text(&window, args.stats)?)),
    });
    match shown {
        Ok(None) => Outcome::Done,
        Ok(Some(text)) => after_write(terminal::print(|out| out.write_all(&text)), Outcome::Done),
        Err(error) => failed(&error),
    }
}

/// Opens the requested part of the weight.
fn opened(args: &Show) -> Result<Window, Error> {
    let model = stdin::or_named(&args.open.options(), &args.model)?;
    say_unmatched(args, &model);
    Window::of(&model.find(&args.name)?, &args.options())
}

/// Prints notes on rules that match nothing in the model.
fn say_unmatched(args: &Show, model: &Model) {
    let weights: Vec<Weight> = model.weights().collect();
    let mut unmatched = Unmatched::new(weights.iter().map(Weight::name));
    args.open.check(&[model], &mut unmatched);
    terminal::notes(None, &unmatched.notes());
    let hazards = model.hazards().iter().map(|hazard| escaped(&hazard.message).into_owned());
    terminal::notes(None, &hazards.collect::<Vec<_>>());
}

/// The format that the extension of an output names; `None` for raw values.
fn format_of(output: &Path, raw: bool) -> Result<Option<&'static str>, Error> {
    if raw {
        return Ok(None);
    }
    let extension = output.extension().unwrap_or_default();
    let format = Window::formats().find(|format| extension.eq_ignore_ascii_case(format));
    format.map(Some).ok_or_else(|| {
        let known: Vec<String> = Window::formats().map(|format| format!(".{format}")).collect();
        Error::usage(format!("the output's extension is not {}", listed(&known, "or")))
            .in_file(output)
            .hint("use one of these extensions, or write values without a header with `--raw`")
    })
}

fn written(window: &Window, output: &Path, raw: bool) -> Result<(), Error> {
    let format = format_of(output, raw)?;
    if stdin::is_meant(output) {
        standard_output::check("a weight")?;
        return window.write_to(&Stream::new(io::stdout()));
    }
    if output.symlink_metadata().is_ok() {
        return Err(Error::usage("exists already")
            .in_file(output)
            .hint("choose another output name; existing files are never overwritten"));
    }
    let file = LocalFile::new(output, false);
    match format {
        Some(format) => window.write_as(format, &file)?,
        None => window.write_to(&file)?,
    }
    let bytes = output.metadata().map_or(0, |about| about.len());
    let (shape, dtype) = (window.shape(), window.dtype());
    terminal::note(&format!(
        "{}: {}, {shape:?} {dtype}{}",
        escaped(&output.to_string_lossy()),
        plural(bytes, "byte"),
        if raw { ", little-endian, row-major, without a header" } else { "" }
    ));
    Ok(())
}

fn as_text(window: &Window, stats: bool) -> Result<Vec<u8>, Error> {
    let is_summarized = array::is_summarized(window.shape());
    let numbers = if is_summarized { window.corners(EDGE)? } else { window.numbers()? };
    let mut out = Vec::new();
    let width = terminal::width().unwrap_or(WIDTH);
    let text = array::text(window.shape(), &numbers, width);
    let figures = stats.then(|| window.figures(&Work::new())).transpose()?;
    head(&mut out, window)
        .and_then(|()| writeln!(out, "{text}"))
        .and_then(|()| figures.map_or(Ok(()), |figures| figures::write(&mut out, &figures)))
        .map_err(|error| Error::io(error, "cannot write"))?;
    Ok(out)
}

/// Writes `model.norm.weight  [64]  plain/F16  as F32`, with the ranges of rows and columns.
fn head(out: &mut dyn Write, window: &Window) -> io::Result<()> {
    let weight = window.weight();
    let storage = format!("{}/{}", weight.scheme(), escaped(weight.variant()));
    let (name, shape) = (escaped(weight.name()), weight.shape());
    write!(
        out,
        "{TITLE}{name}{TITLE:#}  {shape:?}  {storage}  {LABEL}as{LABEL:#} {}",
        window.dtype()
    )?;
    let (first, last) = (shape.first().copied(), shape.last().copied());
    let rows = (window.rows(), first, if shape.len() > 1 { "rows" } else { "elements" });
    let columns = (window.columns(), last.filter(|_| shape.len() > 1), "columns");
    for (range, all, what) in [rows, columns] {
        if all.is_some_and(|all| range != (0..all)) {
            write!(out, ", {LABEL}{what}{LABEL:#} {}:{}", range.start, range.end)?;
        }
    }
    writeln!(out)
}

/// The JSON report.
#[derive(Serialize)]
struct Report<'a> {
    path: String,
    name: &'a str,
    shape: &'a [u64],
    scheme: &'static str,
    variant: &'a str,
    dtype: String,
    rows: [u64; 2],
    cols: [u64; 2],
    values: Values<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Figures>,
}

struct Values<'a> {
    numbers: &'a Numbers,
    shape: &'a [u64],
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.numbers.nested(self.shape).serialize(to)
    }
}

fn as_json(window: &Window, stats: bool, layout: Layout) -> Result<Vec<u8>, Error> {
    let (weight, numbers) = (window.weight(), window.numbers()?);
    let ends = |range: std::ops::Range<u64>| [range.start, range.end];
    let shown = Report {
        path: weight.model_path().to_string_lossy().into_owned(),
        name: weight.name(),
        shape: weight.shape(),
        scheme: weight.scheme(),
        variant: weight.variant(),
        dtype: window.dtype().to_string(),
        rows: ends(window.rows()),
        cols: ends(window.columns()),
        values: Values { numbers: &numbers, shape: window.shape() },
        stats: stats.then(|| window.figures(&Work::new())).transpose()?,
    };
    let mut out = Vec::new();
    report(&mut out, layout, shown).map_err(|error| Error::io(error, "cannot write"))?;
    Ok(out)
}
