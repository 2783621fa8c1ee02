//! The arguments for comparing two models.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use regex::Regex;
use weighbridge::ops::{DiffOptions, FailOver, Metric, Values};
use weighbridge::{Error, Model, Weight};

use super::headline::Counts;
use crate::args::{Open, Report, Select, Unmatched, Work, parse_rename};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh diff original/ converted/")]
pub(crate) struct Diff {
    /// A file, a directory, or a name in a local store
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// The model to compare it with, in any format
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// Which values are compared
    #[arg(long, value_enum, default_value_t = Look::Differing, value_name = "WHICH")]
    values: Look,

    /// Count everything that is not identical
    #[arg(long, conflicts_with = "fail_over")]
    exact: bool,

    /// Judge by figures, like 'cosine<0.999,max_abs>0.01'
    ///
    /// Any one condition is enough for a difference. Without it, weights that are `changed` count.
    #[arg(long, value_name = "RULE")]
    fail_over: Option<FailOver>,

    /// Quantize the original once more and compare the errors
    ///
    /// Where one side is stored in a type that can be encoded and the other is its original: whether
    /// the stored bytes are those that the type's own quantizer makes, without importance, and if
    /// not, how many times its error they have.
    #[arg(long, help_heading = "Weights")]
    reencode: bool,

    /// Sort the table by a figure, the worst first
    ///
    /// cosine, max_abs, mean_abs, rmse, relative, snr_db or ulp_max. Without it, by status, then by
    /// relative.
    #[arg(long, value_name = "FIGURE")]
    pub(crate) sort: Option<Metric>,

    /// Show at most N lines of each list [default: 20]
    ///
    /// All with --verbose.
    #[arg(long, value_name = "N", conflicts_with = "verbose")]
    pub(crate) limit: Option<usize>,

    /// A file that pairs names of A with names of B: lines `a = b`, or a JSON object
    #[arg(long, value_name = "FILE", help_heading = "Weights")]
    map: Option<PathBuf>,

    /// Rename weights of A: what matches becomes TO, where $1 is the first group; may be repeated,
    /// rules are applied one after the other
    #[arg(long, value_name = "RE=TO", value_parser = parse_rename, help_heading = "Weights")]
    rename: Vec<(Regex, String)>,

    /// Transpose matrices of B whose name, in A or B, matches; may be repeated
    #[arg(long, value_name = "RE", help_heading = "Weights")]
    transpose: Vec<Regex>,

    /// Leave out weights that cannot be read, such as arrays of text, and list them
    #[arg(long, help_heading = "Weights")]
    skip_unreadable: bool,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    work: Work,

    #[command(flatten)]
    pub(crate) report: Report,

    #[command(flatten)]
    pub(crate) open: Open,
}

#[derive(Clone, Copy, ValueEnum)]
enum Look {
    /// None: names, shapes, types and metadata only
    None,
    /// Those that can differ: equal bytes are not decoded if everything else is equal too
    Differing,
    /// All, with the figures of each weight
    All,
}

impl From<Look> for Values {
    fn from(look: Look) -> Self {
        match look {
            Look::None => Self::None,
            Look::Differing => Self::Differing,
            Look::All => Self::All,
        }
    }
}

impl Diff {
    /// What counts as a difference.
    pub(super) fn counts(&self) -> Counts {
        match (self.exact, &self.fail_over) {
            (true, _) => Counts::Exact,
            (false, Some(_)) => Counts::Rule,
            (false, None) => Counts::Changed,
        }
    }

    /// Says which rules match nothing in the models; the notes are for the report, too.
    pub(super) fn unmatched(&self, a: &Model, b: &Model) -> Vec<String> {
        let weights: Vec<Weight> = a.weights().chain(b.weights()).collect();
        let (of_a, _) = weights.split_at(a.weights().len());
        let mut both = Unmatched::new(weights.iter().map(Weight::name));
        self.open.check(&[a, b], &mut both);
        both.check("--transpose", &self.transpose);
        self.select.check(&mut both);
        let mut notes = both.notes();
        let mut renamed = Unmatched::new(of_a.iter().map(Weight::name));
        renamed.check_renames("--rename", &self.rename);
        notes.extend(renamed.notes());
        self.report.say(notes)
    }

    /// The options as the library takes them.
    pub(crate) fn options(&self) -> Result<DiffOptions, Error> {
        let transpose = self.transpose.clone();
        let mut options = DiffOptions::default()
            .values(self.values.into())
            .exact(self.exact)
            .reencode(self.reencode)
            .skip_unreadable(self.skip_unreadable)
            .select(self.select.options())
            .transpose(move |name| transpose.iter().any(|re| re.is_match(name)))
            .work(&self.work.options());
        if let Some(rule) = &self.fail_over {
            options = options.fail_over(rule.clone());
        }
        for (matches, to) in self.rename.clone() {
            options = options.rename(move |name| matches.replace_all(name, &*to).into_owned());
        }
        for (a, b) in self.map.as_deref().map(read_map).transpose()?.unwrap_or_default() {
            options = options.map(a, b);
        }
        Ok(options)
    }
}

fn read_map(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::io(error, "cannot read").in_file(path))?;
    parse_map(&text).map_err(|message| Error::usage(message).in_file(path))
}

fn parse_map(text: &str) -> Result<Vec<(String, String)>, String> {
    if text.trim_start().starts_with('{') {
        let names: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| format!("is not a JSON object: {error}"))?;
        let pair = |(a, b): (String, serde_json::Value)| match b {
            serde_json::Value::String(b) => Ok((a, b)),
            other => Err(format!("the name for {a} is {other}, not a string")),
        };
        return names.into_iter().map(pair).collect();
    }
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let pair = |(number, line): (usize, &str)| match line.split_once('=') {
        Some((a, b)) if !a.trim().is_empty() && !b.trim().is_empty() => {
            Ok((a.trim().to_owned(), b.trim().to_owned()))
        }
        _ => Err(format!("line {number} does not look like `name = name`")),
    };
    lines.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_lines_or_json() {
        let wanted = vec![("a.b".to_owned(), "c".to_owned()), ("d".to_owned(), "e f".to_owned())];
        assert_eq!(parse_map("# names\n\na.b = c\n d=e f \n"), Ok(wanted.clone()));
        assert_eq!(parse_map("{\"a.b\": \"c\", \"d\": \"e f\"}"), Ok(wanted));
        assert_eq!(
            parse_map("a = b\nc\n"),
            Err("line 2 does not look like `name = name`".to_owned())
        );
        assert_eq!(parse_map("{\"a\": 1}"), Err("the name for a is 1, not a string".to_owned()));
        assert!(parse_map("{\"a\"").unwrap_err().starts_with("is not a JSON object"));
    }
}
