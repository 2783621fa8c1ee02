//! The two streams: data on standard output, everything else on standard error.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use weighbridge::internals::text::escaped;

use crate::remedy;

/// Bold red, for the word `error`.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Bold cyan, for the word `hint`.
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Standard output, buffered; colours are taken out where they are not wanted.
pub(crate) type Stdout = BufWriter<AutoStream<io::StdoutLock<'static>>>;

/// Opens standard output.
fn stdout() -> Stdout {
    BufWriter::with_capacity(64 << 10, AutoStream::auto(io::stdout().lock()))
}

/// Writes to standard output, all of it.
pub(crate) fn print(write: impl FnOnce(&mut Stdout) -> io::Result<()>) -> io::Result<()> {
    let mut out = stdout();
    let written = write(&mut out).and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    written
}

/// The columns of the terminal; `None` when standard output is something else.
pub(crate) fn width() -> Option<usize> {
    let is_terminal = io::stdout().is_terminal();
    let (width, _) = is_terminal.then(terminal_size::terminal_size)??;
    Some(usize::from(width.0))
}

/// Reports an error and the way out of it.
pub(crate) fn report(error: &weighbridge::Error) {
    say(ERROR, "error", &error.to_string());
    if let Some(hint) = remedy::hint(error) {
        say(HINT, "hint", &escaped(&hint));
    }
}

/// Says what is going on.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

fn say(style: Style, word: &str, text: &str) {
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(anstream::stderr(), "{style}{word}:{style:#} {text}");
}
