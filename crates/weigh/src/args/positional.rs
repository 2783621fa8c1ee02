//! `weigh quantize IN OUT TYPE`, as users of llama-quantize type it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use weighbridge::Error;
use weighbridge::internals::near::closest;
use weighbridge::internals::text::escaped;
use weighbridge::ops::{QuantizeOptions, quantizers};

use crate::commands::quoted;

/// The verbs that write a model.
const WRITING: [&str; 3] = ["convert", "dequantize", "quantize"];

/// What is wrong with an output or a type that was given without its flag, and the command line that
/// was meant; `None` if something else is wrong.
pub(crate) fn positional_output(
    args: &[OsString],
    command: &clap::Command,
    error: &clap::Error,
) -> Option<(Error, String)> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let at = args.iter().position(|arg| WRITING.iter().any(|verb| arg == verb))?;
    let verb = args[at].to_str()?;
    let given = Given::split(&args[at + 1..], command, command.find_subcommand(verb)?)?;
    let unexpected = escaped(given.words.get(1)?.to_str()?).into_owned();
    let line = given.line(verb)?;
    let flags = match verb {
        "quantize" => "the output is named with -o, the type with --type",
        _ => "the output is named with -o",
    };
    Some((Error::usage(format!("unexpected argument \"{unexpected}\": {flags}")), line))
}

/// The arguments of a verb.
struct Given<'a> {
    words: VecDeque<&'a OsStr>,
    /// Flags, each followed by its value.
    flags: Vec<&'a OsStr>,
    has_output: bool,
    has_type: bool,
}

impl<'a> Given<'a> {
    /// Separates flags and their values from words; `None` for an unknown flag.
    fn split(args: &'a [OsString], whole: &clap::Command, verb: &clap::Command) -> Option<Self> {
        let mut given =
            Self { words: VecDeque::new(), flags: Vec::new(), has_output: false, has_type: false };
        let mut rest = args.iter().map(OsString::as_os_str);
        while let Some(arg) = rest.next() {
            let text = arg.to_str()?;
            if text == "--" {
                given.words.extend(rest.by_ref());
                continue;
            }
            if text.len() < 2 || !text.starts_with('-') {
                given.words.push_back(arg);
                continue;
            }
            let (name, value) = text.split_once('=').map_or((text, None), |(a, b)| (a, Some(b)));
            let is_it = |flag: &&clap::Arg| match name.strip_prefix("--") {
                Some(long) => flag.get_long() == Some(long),
                None => flag.get_short() == name.chars().nth(1),
            };
            let flag = verb.get_arguments().chain(whole.get_arguments()).find(is_it)?;
            let id = flag.get_id().as_str();
            given.has_output |= id == "output";
            given.has_type |= ["to_type", "target_bpw", "target_size"].contains(&id);
            given.flags.push(arg);
            let is_joined = value.is_some() || !name.starts_with("--") && name.len() > 2;
            if flag.get_action().takes_values() && !is_joined {
                given.flags.push(rest.next()?);
            }
        }
        Some(given)
    }

    /// The command line that was meant.
    fn line(mut self, verb: &str) -> Option<String> {
        let model = self.words.pop_front()?;
        let mut line = vec![OsString::from("weigh"), verb.into(), model.into()];
        let is_type = |word: &&&OsStr| verb == "quantize" && type_of(word).is_some();
        let output = match self.words.front().filter(|_| !self.has_output) {
            Some(word) if !is_type(&word) => self.words.pop_front().map(OsString::from),
            _ => None,
        };
        let to_type = match self.words.front().filter(is_type) {
            Some(word) if !self.has_type => type_of(word),
            _ => None,
        };
        if to_type.is_some() {
            self.words.pop_front();
        }
        // llama-quantize takes a number of threads last.
        let is_number = |word: &&&OsStr| word.to_str().is_some_and(|n| n.parse::<u16>().is_ok());
        let threads = self.words.front().filter(|_| verb == "quantize").filter(is_number).copied();
        if threads.is_some() {
            self.words.pop_front();
        }
        if !self.words.is_empty() {
            return None;
        }
        let to_type = match verb == "quantize" && !self.has_type {
            true => Some(to_type.unwrap_or_else(|| QuantizeOptions::USUAL.to_owned())),
            false => None,
        };
        match output {
            Some(output) => line.extend(["-o".into(), output]),
            None if self.has_output => {}
            None => line.extend(["-o".into(), beside(Path::new(model), to_type.as_deref()?)?]),
        }
        if let Some(name) = to_type {
            line.extend(["--type".into(), name.into()]);
        }
        if let Some(threads) = threads {
            line.extend(["-j".into(), threads.into()]);
        }
        line.extend(self.flags.into_iter().map(OsString::from));
        let words: Option<Vec<String>> = line.iter().map(|word| quoted(word)).collect();
        words.map(|words| words.join(" "))
    }
}

/// The type that a word names, or nearly does.
fn type_of(word: &OsStr) -> Option<String> {
    let word = word.to_str().filter(|word| !word.contains(['.', '/', '\\']))?;
    let names = || quantizers().map(|(name, _)| name);
    match names().find(|name| name.eq_ignore_ascii_case(word)) {
        Some(name) => Some(name.to_owned()),
        None => closest(word, names()).into_iter().next(),
    }
}

/// The output path next to a model, named after the model and the type.
fn beside(model: &Path, to_type: &str) -> Option<OsString> {
    let name = if model.is_dir() { model.file_name()? } else { model.file_stem()? };
    let name = format!("{}-{to_type}.gguf", name.to_str()?);
    Some(model.with_file_name(name).into())
}

#[cfg(test)]
mod tests {
    use crate::args::command;

    use super::*;

    fn meant(typed: &str) -> Option<String> {
        let args: Vec<OsString> = typed.split_whitespace().map(OsString::from).collect();
        let mut command = command();
        let error = command.try_get_matches_from_mut(&args).unwrap_err();
        positional_output(&args, &command, &error).map(|(_, line)| line)
    }

    #[test]
    fn an_output_without_its_flag_is_put_right() {
        for (typed, line) in [
            ("convert a b.gguf", "convert a -o b.gguf"),
            ("dequantize a plain --force", "dequantize a -o plain --force"),
            ("quantize in.gguf out.gguf Q4_K_M", "quantize in.gguf -o out.gguf --type Q4_K_M"),
            (
                "quantize in.gguf out.gguf q4_k_m 8",
                "quantize in.gguf -o out.gguf --type Q4_K_M -j 8",
            ),
            (
                "quantize --imatrix i.gguf --pure d/in.gguf Q4_KM",
                "quantize d/in.gguf -o d/in-Q4_K_M.gguf --type Q4_K_M --imatrix i.gguf --pure",
            ),
            ("quantize in.gguf out.gguf --type=Q8_0", "quantize in.gguf -o out.gguf --type=Q8_0"),
            ("quantize in.gguf out.gguf", "quantize in.gguf -o out.gguf --type Q4_K_M"),
            ("quantize in.gguf -o out.gguf Q6_K", "quantize in.gguf --type Q6_K -o out.gguf"),
        ] {
            let typed = format!("weigh {typed}");
            assert_eq!(meant(&typed), Some(format!("weigh {line}")), "{typed}");
        }
    }

    #[test]
    fn other_mistakes_are_left_alone() {
        for typed in [
            "convert a b c",
            "convert a -o b c",
            "convert a --no-such-flag b",
            "quantize a b.gguf Q4_K_M 8 9",
            "inspect --no-such-flag",
        ] {
            assert_eq!(meant(&format!("weigh {typed}")), None, "{typed}");
        }
    }
}
