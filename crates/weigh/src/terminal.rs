//! The standard streams: data goes to standard output, messages go to standard error.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use weighbridge::internals::text::escaped;

use crate::render::wrap::wrapped;
use crate::{remedy, sys};

/// Bold red, for the word `error`.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Bold cyan, for the word `hint`.
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Buffered standard output, without colours where they are not wanted.
pub(crate) type Stdout = BufWriter<AutoStream<io::StdoutLock<'static>>>;

/// Opens standard output.
fn stdout() -> Stdout {
    BufWriter::with_capacity(64 << 10, AutoStream::auto(io::stdout().lock()))
}

/// Writes to standard output and flushes it.
pub(crate) fn print(write: impl FnOnce(&mut Stdout) -> io::Result<()>) -> io::Result<()> {
    let mut out = stdout();
    let written = write(&mut out).and_then(|()| out.flush());
    // Dropping the buffer would try a failed write again.
    drop(out.into_parts());
    written
}

/// The width of the terminal in columns; `None` if standard output is not a terminal.
pub(crate) fn width() -> Option<usize> {
    let is_terminal = io::stdout().is_terminal();
    let (width, _) = is_terminal.then(terminal_size::terminal_size)??;
    Some(usize::from(width.0))
}

/// Whether the locale allows characters beyond ASCII.
pub(crate) fn speaks_unicode() -> bool {
    let is_given = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let decides = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(is_given);
    let locale = decides.and_then(|name| std::env::var(name).ok()).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8") || sys::SPEAKS_UNICODE
}

/// Prints an error and its hint.
pub(crate) fn report(error: &weighbridge::Error) {
    say(ERROR, "error", &error.to_string());
    if let Some(text) = remedy::hint(error) {
        hint(&text);
    }
}

/// Prints a hint.
pub(crate) fn hint(text: &str) {
    say(HINT, "hint", &escaped(text));
}

/// Prints a command to type, on one unwrapped line that can be copied.
pub(crate) fn command(line: &str) {
    say_within(None, HINT, "hint", &escaped(line));
}

/// Prints a line to standard error.
pub(crate) fn note(text: &str) {
    let mut line = Vec::new();
    // As in `say_within`.
    let _ = wrapped(&mut line, error_width(), 2, 0, text);
    let _ = anstream::stderr().write_all(&line);
}

/// Prints notes; `place` is the model they concern, if there are several.
pub(crate) fn notes(place: Option<&Path>, notes: &[String]) {
    let place = place.map_or(String::new(), |path| format!("{}: ", path.to_string_lossy()));
    notes.iter().for_each(|text| note(&format!("note: {}{text}", escaped(&place))));
}

/// The width of the terminal on standard error; `None` if it is not a terminal.
fn error_width() -> Option<usize> {
    let stderr = io::stderr();
    let (width, _) = stderr.is_terminal().then(|| terminal_size::terminal_size_of(&stderr))??;
    Some(usize::from(width.0))
}

fn say(style: Style, word: &str, text: &str) {
    say_within(error_width(), style, word, text);
}

fn say_within(width: Option<usize>, style: Style, word: &str, text: &str) {
    let mut line = format!("{style}{word}:{style:#} ").into_bytes();
    // Writing to memory cannot fail. If standard error is closed, there is nowhere left to report to.
    let _ = wrapped(&mut line, width, 2, word.len() + 2, text);
    let _ = anstream::stderr().write_all(&line);
}
