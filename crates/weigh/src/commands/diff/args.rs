//! The arguments of `diff`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use regex::Regex;
use weighbridge::ops::{DiffOptions, FailOver, Metric, Values};
use weighbridge::{Error, Model, Weight};

use super::headline::Counts;
use crate::args::{
    Open, Report, STORED_MODEL, Select, Unmatched, Work, parse_rename, stored_model_help,
};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh diff original/ converted/")]
pub(crate) struct Diff {
    #[arg(value_name = "A", help = STORED_MODEL, long_help = stored_model_help())]
    pub(crate) a: PathBuf,

    /// Model to compare with, in any format
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// Which values to compare
    #[arg(long, value_enum, default_value_t = Look::Differing, value_name = "WHICH")]
    values: Look,

    /// Fail unless all weights are identical
    #[arg(long, conflicts_with = "fail_over")]
    exact: bool,

    /// Ignore settings: only weights decide the exit code
    ///
    /// By default, models with equal weights differ if a setting that changes the output differs: the
    /// config, the tokenizer or the chat template. The report lists settings with this flag too.
    #[arg(long, help_heading = "Weights")]
    weights_only: bool,

    /// Fail on thresholds, e.g. 'cosine<0.999,max_abs>0.01'
    ///
    /// A weight differs if any condition holds. By default, weights with status `changed` differ.
    #[arg(long, value_name = "RULE")]
    fail_over: Option<FailOver>,

    /// Quantize the original again and compare the errors
    ///
    /// For weights that one side stores in a type with an encoder and the other side in full
    /// precision. Reports whether the stored bytes are those of the type's own quantizer without an
    /// importance matrix. If not, reports the ratio of the errors.
    #[arg(long, help_heading = "Weights")]
    reencode: bool,

    /// Sort the table by a metric, worst first
    ///
    /// One of cosine, max_abs, mean_abs, rmse, relative, snr_db, ulp_max. By default, the table is
    /// sorted by status, then by relative.
    #[arg(long, value_name = "FIGURE")]
    pub(crate) sort: Option<Metric>,

    /// Show at most N lines of each list [default: 20]
    ///
    /// --verbose shows all lines.
    #[arg(long, value_name = "N", conflicts_with = "verbose")]
    pub(crate) limit: Option<usize>,

    /// File that maps names of A to names of B
    ///
    /// Contains lines `a = b`, or one JSON object.
    #[arg(long, value_name = "FILE", help_heading = "Weights")]
    map: Option<PathBuf>,

    /// Rename weights of A: replace matches of RE with TO
    ///
    /// $1 is the first group. Can be repeated; rules are applied in order.
    #[arg(long, value_name = "RE=TO", value_parser = parse_rename, help_heading = "Weights")]
    rename: Vec<(Regex, String)>,

    /// Transpose matrices of B whose name in A or B matches RE; can be repeated
    #[arg(long, value_name = "RE", help_heading = "Weights")]
    transpose: Vec<Regex>,

    /// Skip unreadable weights, such as arrays of text, and list them
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
    /// No values: compare names, shapes, types and metadata
    None,
    /// Values that can differ: identically stored weights are not decoded
    Differing,
    /// All values, with metrics for each weight
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
    /// The rule that decides what counts as a difference.
    pub(super) fn counts(&self) -> Counts {
        match (self.exact, &self.fail_over) {
            (true, _) => Counts::Exact,
            (false, Some(_)) => Counts::Rule,
            (false, None) => Counts::Changed,
        }
    }

    /// Prints notes on rules that match nothing, and returns them for the report.
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

    /// Converts to library options.
    pub(crate) fn options(&self) -> Result<DiffOptions, Error> {
        let transpose = self.transpose.clone();
        let mut options = DiffOptions::default()
            .values(self.values.into())
            .exact(self.exact)
            .reencode(self.reencode)
            .weights_only(self.weights_only)
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
        let names: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| format!("not a valid JSON object: {error}"))?;
        let pair = |(a, b): (String, serde_json::Value)| match b {
            serde_json::Value::String(b) => Ok((a, b)),
            other => Err(format!("the name for {a} is {other}, expected a string")),
        };
        return names.into_iter().map(pair).collect();
    }
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let pair = |(number, line): (usize, &str)| match line.split_once('=') {
        Some((a, b)) if !a.trim().is_empty() && !b.trim().is_empty() => {
            Ok((a.trim().to_owned(), b.trim().to_owned()))
        }
        _ => Err(format!("line {number}: expected `name = name`")),
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
        assert_eq!(parse_map("a = b\nc\n"), Err("line 2: expected `name = name`".to_owned()));
        assert_eq!(
            parse_map("{\"a\": 1}"),
            Err("the name for a is 1, expected a string".to_owned())
        );
        assert!(parse_map("{\"a\"").unwrap_err().starts_with("not a valid JSON object"));
    }
}
