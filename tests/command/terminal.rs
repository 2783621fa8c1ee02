//! Whole-terminal snapshots: what is typed, what appears on both streams, the exit code.
//!
//! Each file `tests/terminal/*.txt` is one test. To add one, write the description and the `$`
//! lines, then run `BLESS=1 cargo test --test command terminal` and read what it filled in:
//!
//! ```text
//! What is shown here.
//!
//! $ weigh inspect nowhere.gguf
//! --- stderr
//! error: nowhere.gguf: cannot open: no such file or directory
//! --- exit 2
//! ```
//!
//! Standard output follows its command directly; an empty stream and exit code 0 are left out.
//! Commands run in `sh`, in a fresh folder where `samples` and `files` lead to the repository's
//! `samples` and `tests/files`, with a home folder that is empty; the folder itself is shown as
//! `[HERE]`, and how long something took as `[TIME]`.
//!
//! Transcripts whose names begin with `remote` have servers at `$WEB`, `$TLS` (https) and
//! `HF_ENDPOINT`, and a token for the last, which nothing they show or write may hold; see `network.rs`.
//!
//! A line `$ columns 60` makes standard output of the commands below it a terminal of that width,
//! and `$ columns` alone a pipe again. What a terminal is told about colours is shown as `^[[..`;
//! `NO_COLOR=1 weigh ..` is told nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::network::{Network, network};
use crate::{program, root, schema};

pub fn trials() -> Vec<Trial> {
    let folder = root().join("tests/terminal");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    cases.sort();
    let trial = |path: PathBuf| {
        let name = format!("terminal/{}", path.file_stem().unwrap().to_string_lossy());
        // Transcripts are written for a POSIX shell and a full device to write to.
        Trial::test(name, move || check(&path)).with_ignored_flag(!cfg!(target_os = "linux"))
    };
    cases.into_iter().map(trial).collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let written = std::fs::read_to_string(path)?;
    let is_remote =
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("remote"));
    let found = replay(&written, is_remote.then(network))?;
    if found == written {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, found)?);
    }
    Err(difference(&written, &found).into())
}

/// The same transcript with what the commands do now.
fn replay(transcript: &str, network: Option<&Network>) -> Result<String, Failed> {
    let scratch = tempfile::tempdir()?;
    #[cfg(unix)]
    for (link, target) in [("samples", "samples"), ("files", "tests/files")] {
        std::os::unix::fs::symlink(root().join(target), scratch.path().join(link))?;
    }
    std::fs::create_dir(scratch.path().join("home"))?;
    let start = transcript.find("$ ").ok_or("no line starts with `$ `")?;
    let mut found = transcript[..start].to_owned();
    let commands = transcript[start..].lines().filter_map(|line| line.strip_prefix("$ "));
    let mut columns = None;
    for (index, command) in commands.enumerate() {
        if index > 0 {
            found.push('\n');
        }
        match command.split_once(' ').unwrap_or((command, "")) {
            ("columns", "") => columns = None,
            ("columns", width) => columns = Some(width.parse()?),
            _ => {
                found.push_str(&run(command, scratch.path(), columns, network)?);
                continue;
            }
        }
        let _ = writeln!(found, "$ {command}");
    }
    match network {
        Some(network) => network.check(scratch.path()).map(|()| found),
        None => Ok(found),
    }
}

fn run(
    command: &str,
    folder: &Path,
    columns: Option<u16>,
    network: Option<&Network>,
) -> Result<String, Failed> {
    let output = output_of(command, folder, columns, network)?;
    check_reports(command, &output.stdout)?;
    let here = folder.to_string_lossy();
    let shown = |bytes| {
        let text = String::from_utf8(bytes)?.replace(&*here, "[HERE]").replace('\x1b', "^[");
        let text = network.map_or(Ok(text.clone()), |network| network.named(&text))?;
        Ok::<_, Failed>(timeless(&text))
    };
    let mut text = format!("$ {command}\n{}", shown(output.stdout)?);
    if !output.stderr.is_empty() {
        let _ = write!(text, "--- stderr\n{}", shown(output.stderr)?);
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(text, "--- exit {code}")?,
        None => writeln!(text, "--- {}", output.status)?,
    }
    Ok(text)
}

/// What a command gives; with `columns`, on a terminal.
fn output_of(
    command: &str,
    folder: &Path,
    columns: Option<u16>,
    network: Option<&Network>,
) -> Result<Output, Failed> {
    let bin = program().parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", folder.join("home"))
        .env("TERM", "xterm-256color")
        // What a terminal can show is up to the transcript, not to whoever runs the tests.
        .env("LC_ALL", "C.UTF-8");
    let unset =
        ["COLUMNS", "HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "CLICOLOR_FORCE", "NO_COLOR"];
    unset.iter().for_each(|name| {
        shell.env_remove(name);
    });
    if let Some(network) = network {
        network.reach(&mut shell);
    }
    Ok(match columns {
        None => shell.output()?,
        Some(columns) => on_terminal(&mut shell, columns)?,
    })
}

#[cfg(unix)]
use crate::pseudo_terminal::output as on_terminal;

/// Transcripts do not run elsewhere.
#[cfg(not(unix))]
fn on_terminal(command: &mut Command, _: u16) -> std::io::Result<Output> {
    command.output()
}

/// Reports must be what the published schemas say, where the shell leaves them whole.
fn check_reports(command: &str, printed: &[u8]) -> Result<(), Failed> {
    let whole = !command.contains(['|', ';', '&', '>']);
    let (Some(line), true) = (command.split("weigh ").nth(1), whole && command.contains("--json"))
    else {
        return Ok(());
    };
    let verb = line.split_whitespace().next().unwrap_or_default();
    schema::check(verb, printed).map(drop).map_err(|wrong| format!("{command}: {wrong}").into())
}

/// The same without what differs from one run to the next: time and memory.
pub fn timeless(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("  took ") {
        Some(rest) => {
            let indent = rest.len() - rest.trim_start().len();
            format!("  took {:indent$}[TIME]\n", "")
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Both texts from the first line on that differs.
pub fn difference(written: &str, found: &str) -> String {
    let same = written.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str, mark| {
        text.lines().skip(same).take(30).fold(String::new(), |mut out, line| {
            let _ = writeln!(out, "{mark} {line}");
            out
        })
    };
    let (written, found) = (rest(written, '-'), rest(found, '+'));
    format!("line {}:\n{written}{found}BLESS=1 writes the new text into the file", same + 1)
}
