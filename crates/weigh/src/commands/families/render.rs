//! The list of families, and one family, as text.

use std::io::{self, Write};

use weighbridge::ops::{FamiliesReport, FamilyReport, ProjectorReport};

use crate::render::TITLE;

/// A line a family.
pub(super) fn table(out: &mut dyn Write, report: &FamiliesReport) -> io::Result<()> {
    let families = &report.families;
    let width = |text: fn(&FamilyReport) -> &str| families.iter().map(|f| text(f).len()).max();
    let name = width(|family| &family.name).unwrap_or(0).max(6);
    let wide = width(|family| family.architecture).unwrap_or(0).max(4);
    writeln!(out, "{TITLE}{:name$}  {:wide$}  to HF  checked{TITLE:#}", "family", "GGUF")?;
    for family in families {
        let (own, architecture) = (&family.name, family.architecture);
        let back = if family.to_hf { "yes" } else { "-" };
        writeln!(out, "{own:name$}  {architecture:wide$}  {back:5}  {}", checked(family))?;
    }
    let projectors = report.projectors.len();
    let count = (families.len(), architectures(report));
    writeln!(out, "{} families, {} GGUF architectures, {projectors} projectors", count.0, count.1)
}

/// How many architectures there are in GGUF files.
pub(super) fn architectures(report: &FamiliesReport) -> usize {
    let mut all: Vec<&str> = report.families.iter().map(|family| family.architecture).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// What was checked of a family.
pub(super) fn checked(family: &FamilyReport) -> String {
    let compared = match family.compared {
        0 => "not compared with the converter".to_owned(),
        count => format!("equal to the converter in {count}"),
    };
    format!("{compared}, {}", run(family))
}

/// The result of the run.
pub(super) fn run(family: &FamilyReport) -> String {
    match (family.agrees, family.difference) {
        (Some(true), Some(difference)) => format!("runs as transformers ({difference:.0e})"),
        (Some(false), Some(difference)) => format!("runs, differs by {difference:.0e}"),
        _ => "not run".to_owned(),
    }
}

/// Families and missing classes in full.
pub(super) fn each(out: &mut dyn Write, report: &FamiliesReport) -> io::Result<()> {
    for (index, family) in report.families.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        one(out, family)?;
    }
    for (index, projector) in report.projectors.iter().enumerate() {
        if index > 0 || !report.families.is_empty() {
            writeln!(out)?;
        }
        encoder(out, projector)?;
    }
    for missing in &report.missing {
        writeln!(out, "{TITLE}{}{TITLE:#}", missing.class)?;
        writeln!(out, "  GGUF           {}", missing.architecture)?;
        writeln!(out, "  not supported  {}", missing.reason)?;
    }
    Ok(())
}

fn encoder(out: &mut dyn Write, projector: &ProjectorReport) -> io::Result<()> {
    writeln!(out, "{TITLE}{} (projector){TITLE:#}", projector.name)?;
    writeln!(out, "  classes      {}", projector.classes.join(", "))?;
    writeln!(out, "  encodes      {}", projector.encodes.join(" and "))?;
    writeln!(out, "  checked      equal to the converter in {}", projector.compared)
}

fn one(out: &mut dyn Write, family: &FamilyReport) -> io::Result<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}", family.name)?;
    writeln!(out, "  GGUF         {}", family.architecture)?;
    writeln!(out, "  classes      {}", family.classes.join(", "))?;
    writeln!(out, "  model_type   {}", family.model_types.join(", "))?;
    writeln!(out, "  tokenizer    {}", family.tokenizer)?;
    if let Some(layers) = family.next_layers {
        writeln!(out, "  next tokens  prediction layers are {layers}")?;
    }
    let back = if family.to_hf { "yes" } else { "no, only to GGUF" };
    writeln!(out, "  back to HF   {back}")?;
    writeln!(out, "  checked      {}", checked(family))
}
