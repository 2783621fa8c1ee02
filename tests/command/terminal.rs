//! Whole-terminal snapshots: what is typed, what appears on both streams, the exit code.
//!
//! Each file `tests/terminal/*.txt` is one test. To add one, write the description and the `$`
//! lines, then run `BLESS=1 cargo test -p weigh --test command terminal` and read what it filled in:
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

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::root;

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
    let mut trials: Vec<Trial> = cases.iter().cloned().map(trial).collect();
    trials.push(Trial::test("terminal/readme", move || check_readme(&cases)));
    trials
}

fn check(path: &Path) -> Result<(), Failed> {
    let written = std::fs::read_to_string(path)?;
    let found = replay(&written)?;
    if found == written {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, found)?);
    }
    Err(difference(&written, &found).into())
}

/// What the README shows must be what a transcript shows.
fn check_readme(cases: &[PathBuf]) -> Result<(), Failed> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let transcripts: String = cases.iter().flat_map(std::fs::read_to_string).collect();
    for block in readme.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let output = timeless(block.split_once('\n').map_or("", |(_, output)| output));
        if !transcripts.contains(&output) {
            return Err(format!("no transcript has this output:\n{output}").into());
        }
    }
    Ok(())
}

/// The same transcript with what the commands do now.
fn replay(transcript: &str) -> Result<String, Failed> {
    let scratch = tempfile::tempdir()?;
    #[cfg(unix)]
    for (link, target) in [("samples", "samples"), ("files", "tests/files")] {
        std::os::unix::fs::symlink(root().join(target), scratch.path().join(link))?;
    }
    std::fs::create_dir(scratch.path().join("home"))?;
    let start = transcript.find("$ ").ok_or("no line starts with `$ `")?;
    let mut found = transcript[..start].to_owned();
    let commands = transcript[start..].lines().filter_map(|line| line.strip_prefix("$ "));
    for (index, command) in commands.enumerate() {
        if index > 0 {
            found.push('\n');
        }
        found.push_str(&run(command, scratch.path())?);
    }
    Ok(found)
}

fn run(command: &str, folder: &Path) -> Result<String, Failed> {
    let bin = Path::new(env!("CARGO_BIN_EXE_weigh")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", folder.join("home"))
        .env_remove("COLUMNS")
        .env_remove("HF_HOME")
        .env_remove("HF_HUB_CACHE")
        .env_remove("OLLAMA_MODELS")
        .env_remove("CLICOLOR_FORCE")
        .output()?;
    let here = folder.to_string_lossy();
    let shown =
        |bytes| String::from_utf8(bytes).map(|text| timeless(&text.replace(&*here, "[HERE]")));
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

/// The same without what differs from one run to the next: time and memory.
fn timeless(text: &str) -> String {
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
fn difference(written: &str, found: &str) -> String {
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
