//! The arguments for the statistics of a model.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use weighbridge::ops::StatsOptions;
use weighbridge::{Model, Weight};

use crate::args::{Open, Report, Select, Unmatched, Work};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh stats model/ --limit 5")]
pub(crate) struct Stats {
    /// A file, a directory, a name in a local store; `-` is standard input
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(value_name = "MODEL")]
    pub(super) model: PathBuf,

    /// Show at most N lines of each list [default: 20]
    ///
    /// All with --verbose.
    #[arg(long, value_name = "N", conflicts_with = "verbose")]
    pub(super) limit: Option<usize>,

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
    pub(super) open: Open,
}

impl Stats {
    /// The options as the library takes them.
    pub(super) fn options(&self) -> StatsOptions {
        StatsOptions::default()
            .select(self.select.options())
            .skip_unreadable(self.skip_unreadable)
            .work(&self.work.options())
    }

    /// Says which rules match nothing in the model; the notes are for the report, too.
    pub(super) fn unmatched(&self, model: &Model) -> Vec<String> {
        let weights: Vec<Weight> = model.weights().collect();
        let mut unmatched = Unmatched::new(weights.iter().map(Weight::name));
        self.open.check(&[model], &mut unmatched);
        self.select.check(&mut unmatched);
        self.report.say(unmatched.notes())
    }
}
