//! The arguments of `stats`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use weighbridge::ops::StatsOptions;
use weighbridge::{Model, Weight};

use crate::args::{MODEL, Open, Report, Select, Unmatched, Work, model_help};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh stats model/ --limit 5")]
pub(crate) struct Stats {
    #[arg(value_name = "MODEL", help = MODEL, long_help = model_help())]
    pub(super) model: PathBuf,

    /// Show at most N lines of each list [default: 20]
    ///
    /// --verbose shows all lines.
    #[arg(long, value_name = "N", conflicts_with = "verbose")]
    pub(super) limit: Option<usize>,

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
    pub(super) open: Open,
}

impl Stats {
    /// Converts to library options.
    pub(super) fn options(&self) -> StatsOptions {
        StatsOptions::default()
            .select(self.select.options())
            .skip_unreadable(self.skip_unreadable)
            .work(&self.work.options())
    }

    /// Prints notes on rules that match nothing, and returns them for the report.
    pub(super) fn unmatched(&self, model: &Model) -> Vec<String> {
        let weights: Vec<Weight> = model.weights().collect();
        let mut unmatched = Unmatched::new(weights.iter().map(Weight::name));
        self.open.check(&[model], &mut unmatched);
        self.select.check(&mut unmatched);
        self.report.say(unmatched.notes())
    }
}
