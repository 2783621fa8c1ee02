//! The figures of every weight, in one pass over the numbers, and what looks wrong in them.
//!
//! Every weight is cut into tiles of whole rows, which the workers decode to f32 (or read as f64,
//! where f32 has no room) and take while they are in the cache. Sums are added in the order of the
//! tiles, so no number of workers changes a digit.

use super::refusals::chosen;
use super::work::{setters, work_options};
use super::{Dropped, Work};
use crate::error::{Error, Remedy, Result};
use crate::model::{Model, Select, Weight};
use crate::ops::reports::reports;
use crate::pipeline::held_at_once;

mod figures;
mod findings;
mod gauge;
mod histogram;
mod job;
mod piece;
mod sample;
mod tally;
mod window;

pub use figures::{Bars, Figures, Quantiles, RowFigures};
pub use findings::{ODDITY_KINDS, Oddity};

use job::Job;

/// Options for [`stats`].
///
/// ```no_run
/// use weighbridge::ops::StatsOptions;
/// let model = weighbridge::Model::open("model.gguf")?;
/// let report = weighbridge::ops::stats(&model, &StatsOptions::default())?;
/// for weight in report.tensors.iter().filter(|weight| !weight.findings.is_empty()) {
///     println!("{}: {}", weight.name, weight.findings[0].message);
/// }
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct StatsOptions {
    select: Select,
    skip_unreadable: bool,
    work: Work,
}

work_options!(StatsOptions);

setters! { StatsOptions:
    /// Which weights are measured.
    select(select: Select) select = select;

    /// Skips weights that cannot be read instead of returning an error.
    /// [`StatsReport::skipped`] lists them.
    skip_unreadable(skip: bool) skip_unreadable = skip;
}

reports! {
    /// Statistics of a model's weights. The field names are those of the JSON report.
    pub struct StatsReport {
        pub path: String,
        pub weights: u64,
        pub elements: u64,
        pub nan: u64,
        pub infinite: u64,
        /// How many weights something looks wrong with.
        pub odd: u64,
        /// How far a quantile may be from the right one, as a share of itself.
        pub quantile_error: f64,
        /// What looks worst comes first; otherwise in the order of the model.
        pub tensors: Vec<WeightStats>,
        pub skipped: Vec<Dropped>,
        pub notes: Vec<String>,
    }

    /// The figures of one weight.
    pub struct WeightStats {
        pub name: String,
        pub shape: Vec<u64>,
        pub scheme: &'static str,
        pub variant: String,
        #[serde(flatten)]
        pub figures: Figures,
        pub findings: Vec<Oddity>,
    }
}

impl WeightStats {
    fn of(weight: &Weight, figures: Figures) -> Self {
        Self {
            name: weight.name().to_owned(),
            shape: weight.shape().to_vec(),
            scheme: weight.scheme(),
            variant: weight.variant().to_owned(),
            findings: findings::oddities(weight, &figures),
            figures,
        }
    }
}

/// Computes statistics of all weights and warns about suspicious ones.
pub fn stats(model: &Model, options: &StatsOptions) -> Result<StatsReport> {
    let each = (2 * size_of::<WeightStats>() + size_of::<Job>() + 2048) as u64;
    model.check_list(each, 3, "the statistics")?;
    let (select, mut skipped) = chosen(model, &options.select, options.skip_unreadable, false)?;
    let all = model.weights().select(select);
    let (undecodable, weights): (Vec<_>, Vec<_>) = all.partition(|one| one.undecodable().is_some());
    for weight in undecodable {
        let (name, reason) = (weight.name().to_owned(), weight.undecodable().unwrap_or_default());
        if !options.skip_unreadable {
            let error = Error::unsupported(reason).in_tensor(&name).in_file(weight.model_path());
            return Err(error.remedy(Remedy::Exclude).remedy(Remedy::SkipUnreadable));
        }
        skipped.push(Dropped { name, reason });
    }
    model.will_need_all();
    let all = measured(weights, &options.work)?;
    model.check_sums(&|| options.work.refuse_cancelled())?;
    model.refuse_changed()?;
    Ok(report(model, all, skipped))
}

/// The figures of some weights, in their order.
pub(super) fn measured(weights: Vec<Weight>, work: &Work) -> Result<Vec<(Weight, Figures)>> {
    let total = weights.iter().map(Weight::stored_bytes).fold(0, u64::saturating_add);
    let model = weights.first().map(|one| one.model().clone());
    let models: Vec<&Model> = model.iter().collect();
    let jobs = weights.into_iter().map(Job::new);
    let jobs = work.run(
        &models,
        jobs,
        |_| total,
        |job| Ok((job.weight.name(), job.needed_bytes()?, held_at_once(&job.weight))),
    )?;
    let done = jobs.into_iter().map(|job| {
        let weight = job.weight.clone();
        // A weight without elements has no tiles.
        let figures = job.figures().unwrap_or_else(|| window::nothing(weight.shape()));
        (weight, figures)
    });
    Ok(done.collect())
}

fn report(model: &Model, all: Vec<(Weight, Figures)>, skipped: Vec<Dropped>) -> StatsReport {
    let mut tensors: Vec<WeightStats> =
        all.into_iter().map(|(weight, figures)| WeightStats::of(&weight, figures)).collect();
    tensors.sort_by_key(|weight| findings::rank(&weight.findings));
    let sum = |of: fn(&Figures) -> u64| tensors.iter().map(|one| of(&one.figures)).sum();
    StatsReport {
        path: model.path().to_string_lossy().into_owned(),
        weights: tensors.len() as u64,
        elements: sum(|figures| figures.elements),
        nan: sum(|figures| figures.nan),
        infinite: sum(|figures| figures.infinite),
        odd: tensors.iter().filter(|one| !one.findings.is_empty()).count() as u64,
        quantile_error: histogram::ERROR,
        tensors,
        skipped,
        notes: model.notes_and_hazards().map(str::to_owned).collect(),
    }
}
