//! `weigh man`: man pages, generated from the help.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use weighbridge::Error;

use super::{Outcome, after_write};
use crate::args::command;
use crate::terminal;

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Command [default: weigh itself]
    #[arg(conflicts_with = "dir")]
    verb: Option<String>,

    /// Write all pages to DIR, overwriting older ones
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A man page and its file name.
struct Page {
    verb: Option<String>,
    file: String,
    text: Vec<u8>,
}

pub(super) fn run(args: &Man) -> Outcome {
    let written = pages().and_then(|pages| match &args.dir {
        Some(dir) => write_all(&pages, dir).map(|()| Outcome::Done),
        None => print_one(&pages, args.verb.as_deref()),
    });
    written.unwrap_or_else(|error| {
        terminal::report(&error);
        Outcome::Failed
    })
}

fn print_one(pages: &[Page], verb: Option<&str>) -> Result<Outcome, Error> {
    let Some(page) = pages.iter().find(|page| page.verb.as_deref() == verb) else {
        let verbs: Vec<&str> = pages.iter().filter_map(|page| page.verb.as_deref()).collect();
        let verb = verb.unwrap_or_default();
        let message = format!("no man page for '{verb}': expected {}", verbs.join(", "));
        return Err(Error::usage(&message));
    };
    Ok(after_write(io::stdout().write_all(&page.text), Outcome::Done))
}

fn write_all(pages: &[Page], dir: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::io(error, "cannot write").in_file(&path)
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    for page in pages {
        let path = dir.join(&page.file);
        std::fs::write(&path, &page.text).map_err(failed(&path))?;
    }
    terminal::note(&format!("wrote {} man pages to {}", pages.len(), dir.display()));
    Ok(())
}

/// The page of `weigh`, then the page of each command.
fn pages() -> Result<Vec<Page>, Error> {
    // The `help` command would double the pages.
    let mut whole = command().disable_help_subcommand(true);
    whole.build();
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.map(|verb| page(verb.clone(), Some(verb.get_name().to_owned())));
    let mut all = vec![page(whole.clone(), None)?];
    all.extend(verbs.collect::<Result<Vec<_>, _>>()?);
    Ok(all)
}

fn page(command: clap::Command, verb: Option<String>) -> Result<Page, Error> {
    // clap_mangen omits options that the short help hides.
    let mut command = command.mut_args(|arg| arg.hide_short_help(false));
    let usage = command.render_usage().to_string();
    let end = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let page = clap_mangen::Man::new(command)
        .manual("weighbridge")
        .source(concat!("weigh ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    render(&page, &usage, &end, verb.is_none(), &mut text)
        .map_err(|error| Error::io(error, "cannot render the page"))?;
    Ok(Page { verb, file: page.get_filename(), text })
}

/// Writes the page section by section, because clap_mangen's synopsis lists every flag and it has
/// no section for examples.
fn render(
    page: &clap_mangen::Man,
    usage: &str,
    end: &str,
    lists_verbs: bool,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    page.render_title(out)?;
    page.render_name_section(out)?;
    section(out, "SYNOPSIS", &[".nf"], usage.trim_start_matches("Usage:"))?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    if lists_verbs {
        page.render_subcommands_section(out)?;
    }
    let (notes, examples) = end.rsplit_once("\n\n").unwrap_or((end, ""));
    let (codes, notes) = notes.split_once("\n\n").unwrap_or((notes, ""));
    section(out, "EXIT STATUS", &[], codes.trim_start_matches("Exit codes:"))?;
    section(out, "NOTES", &[], notes)?;
    let examples = examples.trim_start_matches("Examples:").trim_start_matches("Example:");
    section(out, "EXAMPLES", &[".nf"], examples)
}

/// Writes lines under a heading. `.nf` keeps line breaks.
fn section(out: &mut Vec<u8>, heading: &str, mode: &[&str], text: &str) -> io::Result<()> {
    writeln!(out, ".SH \"{heading}\"")?;
    mode.iter().try_for_each(|mode| writeln!(out, "{mode}"))?;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A line that starts with a dot or a quote would be an instruction.
        writeln!(out, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
    }
    writeln!(out, ".fi")
}
