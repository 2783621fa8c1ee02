//! The README as a newcomer tries it: every `console` block is run, in order, where `samples` and
//! `tests` lie, and must show what it shows. Its Rust is the example `tour`, its picture a real run.
//! Blocks in the pages of the guide are run too. One that cannot run, because its names are
//! placeholders or its server is another one, is marked with a comment; a transcript shows its output.
//!
//! `BLESS=1 cargo test --test command readme` writes what is shown now.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::network::network;
use crate::terminal::timeless;
use crate::{program, root};

#[path = "../../crates/weighbridge/examples/tour.rs"]
mod tour;

/// The variable that makes this program the example, in the folder it is started in.
const TOUR: &str = "README_TOUR";

pub fn trials() -> Vec<Trial> {
    let here = |name, check: fn() -> Result<(), Failed>| {
        // Written for a POSIX shell, as the transcripts are.
        Trial::test(name, check).with_ignored_flag(!cfg!(target_os = "linux"))
    };
    vec![
        here("readme/blocks_show_what_is_shown", blocks),
        here("readme/picture_is_of_a_run", picture),
        Trial::test("readme/rust_is_the_example", rust),
        here("readme/example_runs", example),
    ]
}

/// Runs the example if this process was started for it.
pub fn is_tour() -> bool {
    let asked = std::env::var_os(TOUR).is_some();
    if asked {
        tour::main().expect("the example runs");
    }
    asked
}

fn blocks() -> Result<(), Failed> {
    let transcripts: String =
        texts("tests/terminal", "txt")?.into_iter().map(|(_, text)| text).collect();
    let mut pages =
        vec![(root().join("README.md"), std::fs::read_to_string(root().join("README.md"))?)];
    pages.extend(texts("docs", "md")?);
    let mut wrong = String::new();
    for (path, written) in pages {
        let found = page(&path, &written, &transcripts)?;
        if let Err(difference) = same_or_bless(&path, &written, &found) {
            wrong += &format!("{}: {}\n", path.display(), difference.message().unwrap_or_default());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// A page with what its commands show now, in order. A transcript must show what a marked block shows.
fn page(path: &Path, written: &str, transcripts: &str) -> Result<String, Failed> {
    let scratch = scratch()?;
    let mut parts = written.split("```console\n");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (block, rest) = part.split_once("```").ok_or("a block has no end")?;
        let can_run = !is_marked(&found);
        let shown = if can_run { replay(block, scratch.path())? } else { block.to_owned() };
        if !can_run && !transcripts.contains(&timeless(&output_of(block))) {
            return Err(format!("{}: no transcript shows this:\n{block}", path.display()).into());
        }
        // What differs by time alone is left as it is.
        let block = if timeless(&shown) == timeless(block) { block } else { &shown };
        found += &format!("```console\n{block}```{rest}");
    }
    Ok(found)
}

/// Whether the text before a block ends with the comment that it is not run.
fn is_marked(before: &str) -> bool {
    before.trim_end().lines().last().is_some_and(|line| line.starts_with("<!-- not run: "))
}

fn output_of(block: &str) -> String {
    let shown = block.lines().filter(|line| !line.starts_with("$ "));
    shown.flat_map(|line| [line, "\n"]).collect()
}

/// The files of a folder with this extension.
fn texts(folder: &str, extension: &str) -> Result<Vec<(PathBuf, String)>, Failed> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            let text = std::fs::read_to_string(&path)?;
            found.push((path, text));
        }
    }
    found.sort();
    Ok(found)
}

/// A block with what its commands show now.
fn replay(block: &str, folder: &Path) -> Result<String, Failed> {
    let mut shown = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        shown += &format!("$ {line}\n");
        match line.strip_prefix("cargo run --release -- ") {
            Some(args) => shown += &run(&format!("weigh {args}"), folder)?,
            // Installing and testing are not for a test to do.
            None if line.starts_with("cargo ") => {}
            None => shown += &run(line, folder)?,
        }
    }
    Ok(shown)
}

fn run(command: &str, folder: &Path) -> Result<String, Failed> {
    let bin = program().parent().ok_or("the program has a folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    // `hf://` leads to the server of the tests.
    network().reach(&mut shell);
    let output = shell
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", folder)
        .env_remove("COLUMNS")
        .env_remove("HF_HOME")
        .env_remove("HF_HUB_CACHE")
        .env_remove("OLLAMA_MODELS")
        .env_remove("CLICOLOR_FORCE")
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// A folder in which `samples` and `tests` are those of the repository.
fn scratch() -> Result<tempfile::TempDir, Failed> {
    let scratch = tempfile::tempdir()?;
    #[cfg(unix)]
    for name in ["samples", "tests"] {
        std::os::unix::fs::symlink(root().join(name), scratch.path().join(name))?;
    }
    Ok(scratch)
}

fn picture() -> Result<(), Failed> {
    let drawn =
        run(&format!("sh {}", root().join("docs/picture.sh").display()), scratch()?.path())?;
    let path = root().join("docs/terminal.svg");
    let written = std::fs::read_to_string(&path)?;
    same_or_bless(&path, &written, &drawn)
}

fn rust() -> Result<(), Failed> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let example = std::fs::read_to_string(root().join("crates/weighbridge/examples/tour.rs"))?;
    let (_, example) = example.split_once("\n\n").ok_or("the example starts with what it is")?;
    let blocks: Vec<&str> =
        readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    // The tests call its `main`.
    if blocks == [example.replace("pub fn main", "fn main")] {
        Ok(())
    } else {
        Err("the README's Rust is not examples/tour.rs".into())
    }
}

fn example() -> Result<(), Failed> {
    let scratch = scratch()?;
    let output = Command::new(std::env::current_exe()?)
        .env(TOUR, "1")
        .current_dir(scratch.path())
        .output()?;
    let shown = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && shown.contains("8192 numbers") {
        Ok(())
    } else {
        Err(format!("{shown}{}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn same_or_bless(path: &Path, written: &str, found: &str) -> Result<(), Failed> {
    if written == found {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, found)?);
    }
    Err(crate::terminal::difference(written, found).into())
}
