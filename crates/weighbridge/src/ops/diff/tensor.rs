//! The report on a pair. The field names are the JSON contract.

use super::judge::Status;
use super::values::Outcome;
use crate::compare::{NonFinite, Place};
use crate::model::Weight;
use crate::names::Pair;
use crate::ops::inspect::bits_per_weight;
use crate::ops::reports::reports;
use crate::shape::coordinates;

reports! {
    /// How two weights compare.
    #[derive(Default)]
    pub struct DiffTensor {
        pub name_a: String,
        pub name_b: String,
        pub shape_a: Vec<u64>,
        pub shape_b: Vec<u64>,
        pub scheme_a: &'static str,
        pub scheme_b: &'static str,
        pub variant_a: String,
        pub variant_b: String,
        pub bits_a: Option<f64>,
        pub bits_b: Option<f64>,
        pub transform: Option<String>,
        pub elements: u64,
        pub identical: Option<u64>,
        pub max_abs: Option<f64>,
        pub max_abs_index: Option<u64>,
        pub mean_abs: Option<f64>,
        pub rmse: Option<f64>,
        pub relative: Option<f64>,
        pub snr_db: Option<f64>,
        pub cosine: Option<f64>,
        pub ulp_max: Option<u64>,
        pub ulp_type: Option<&'static str>,
        pub nan_a: Option<u64>,
        pub nan_b: Option<u64>,
        pub inf_a: Option<u64>,
        pub inf_b: Option<u64>,
        pub unlike: Option<u64>,
        pub mean_a: Option<f64>,
        pub mean_b: Option<f64>,
        pub std_a: Option<f64>,
        pub std_b: Option<f64>,
        pub bound: Option<&'static str>,
        pub outside: Option<u64>,
        pub outside_rows: Option<u64>,
        pub places: Vec<DiffPlace>,
        pub change: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reencoded: Option<Reencoded>,
        pub status: Status,
        pub failed: bool,
        pub message: Option<String>,
    }

    /// An element that the other side does not explain.
    #[derive(Clone)]
    pub struct DiffPlace {
        pub index: Vec<u64>,
        pub a: Option<f64>,
        pub b: Option<f64>,
        pub half_gaps: Option<f64>,
    }

    /// What came of encoding the original once more.
    #[derive(Clone, Copy, PartialEq)]
    pub struct Reencoded {
        pub encoder: &'static str,
        pub side: &'static str,
        pub identical_blocks: u64,
        pub blocks: u64,
        pub error_ratio: Option<f64>,
    }
}

impl DiffTensor {
    /// A pair with names, shapes and types; the numbers are not known yet.
    pub(super) fn new(a: &Weight, b: &Weight, pair: &Pair) -> Self {
        Self {
            name_a: a.name().to_owned(),
            name_b: b.name().to_owned(),
            shape_a: a.shape().to_vec(),
            shape_b: b.shape().to_vec(),
            scheme_a: a.scheme(),
            scheme_b: b.scheme(),
            variant_a: a.variant().to_owned(),
            variant_b: b.variant().to_owned(),
            bits_a: bits_per_weight(a.stored_bytes(), a.elements()),
            bits_b: bits_per_weight(b.stored_bytes(), b.elements()),
            transform: pair.transform.clone(),
            elements: crate::catalog::element_count(&pair.view_a.shape).unwrap_or(0),
            ..Self::default()
        }
    }

    /// Sets the figures of a pair with the same bytes.
    pub(super) fn set_same(&mut self, non_finite: Option<NonFinite>) {
        self.status = Status::Identical;
        (self.nan_a, self.inf_a) = non_finite.map(|found| (found.nan, found.infinite)).unzip();
        (self.nan_b, self.inf_b) = (self.nan_a, self.inf_a);
        self.identical = Some(self.elements);
        let zero = Some(0.0);
        (self.max_abs, self.mean_abs, self.rmse, self.relative) = (zero, zero, zero, zero);
        self.cosine = Some(1.0);
        self.ulp_max = Some(0);
        self.unlike = Some(0);
        (self.outside, self.outside_rows) = (Some(0), Some(0));
    }

    /// Sets the figures that the numbers give, and the status that follows from them.
    pub(super) fn set_figures(&mut self, outcome: &Outcome, shape: &[u64]) {
        let Outcome { stats, outside, precision, judge, .. } = outcome;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        self.identical = Some(stats.identical);
        self.unlike = Some(stats.unlike);
        [self.nan_a, self.nan_b] = stats.nan.map(Some);
        [self.inf_a, self.inf_b] = stats.infinite.map(Some);
        self.mean_a = stats.a.mean().and_then(finite);
        self.mean_b = stats.b.mean().and_then(finite);
        self.std_a = stats.a.deviation().and_then(finite);
        self.std_b = stats.b.deviation().and_then(finite);
        if stats.both > 0 || stats.unlike == 0 {
            self.max_abs = finite(stats.largest.map_or(0.0, |(value, _)| value));
            self.max_abs_index = stats.largest.map(|(_, index)| index);
            self.mean_abs = finite(stats.mean_absolute());
            self.rmse = finite(stats.root_mean_square());
            self.relative = finite(stats.relative());
            self.snr_db = finite(stats.snr());
            self.cosine = finite(stats.cosine());
            self.ulp_max = precision.steps.map(|_| stats.ulps);
        }
        self.ulp_type = precision.steps.map(crate::DType::name);
        self.status = outcome.status();
        self.bound = Some(judge.name());
        (self.outside, self.outside_rows) = (Some(0), Some(0));
        if self.status == Status::Changed {
            let outside = outside.shown();
            // What is finite on one side only is outside every bound, and equal to nothing.
            let unlike = if judge.counts_unlike() { 0 } else { stats.unlike };
            (self.outside, self.outside_rows) =
                (Some(outside.elements + unlike), Some(outside.rows.len() as u64));
            self.places = outside.places.iter().map(|place| DiffPlace::of(place, shape)).collect();
        }
        if let (Some(first), count) = (stats.first_unlike, stats.unlike) {
            let places = if count == 1 { "1 place" } else { &format!("{count} places") };
            let first = coordinates(first, shape);
            self.message = Some(format!(
                "finite on one side only, or infinite with opposite signs: {places}, first at {first:?}"
            ));
        }
    }

    /// Whether A's norm is zero and B's is not.
    /// Whether the numbers of both sides were compared.
    pub(super) fn has_values(&self) -> bool {
        !matches!(self.status, Status::Shape | Status::Undecoded | Status::Uncompared)
    }

    pub(super) fn has_infinite_relative(&self) -> bool {
        self.relative.is_none() && self.rmse.is_some_and(|rmse| rmse > 0.0)
    }
}

impl DiffPlace {
    pub(super) fn of(place: &Place, shape: &[u64]) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            index: coordinates(place.index, shape),
            a: finite(place.a),
            b: finite(place.b),
            half_gaps: place.times.and_then(finite),
        }
    }
}
