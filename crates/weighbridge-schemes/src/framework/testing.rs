//! Test helpers: made-up models, and the bids of a scheme for them.

use std::sync::LazyLock;

use serde_json::Value as Json;

/// Tests see all schemes.
pub(crate) use crate::SCHEMES;
use crate::catalog::{Metadata, Place, TensorInfo};
use crate::config::Config;
use crate::dtype::DType;
use crate::framework::{Bids, Evidence, Scheme};

/// A tensor by name, type and shape.
pub(crate) type Stored<'a> = (&'a str, DType, &'a [u64]);

/// Creates stored tensors without data.
pub(crate) fn tensors(stored: &[Stored<'_>]) -> Vec<TensorInfo> {
    stored.iter().map(|&(name, dtype, shape)| tensor(name, dtype, shape)).collect()
}

/// Creates a stored tensor without data.
pub(crate) fn tensor(name: &str, dtype: DType, shape: &[u64]) -> TensorInfo {
    TensorInfo {
        name: name.into(),
        shape: shape.iter().copied().collect(),
        stored: dtype.into(),
        bytes: shape.iter().fold(u64::from(dtype.bits()), |a, &b| a.saturating_mul(b)) / 8,
        place: Place::at(0),
        refused: None,
    }
}

/// Creates a `config.json`.
pub(crate) fn config(json: Json) -> Config {
    Config { name: "config.json".into(), json }
}

/// Creates the evidence of a single-file model without metadata.
pub(crate) fn evidence<'a>(tensors: &'a [TensorInfo], configs: &'a [Config]) -> Evidence<'a> {
    static METADATA: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    Evidence::new(std::iter::once((tensors, &*METADATA)), configs, SCHEMES)
}

/// Returns the bids of a scheme.
pub(crate) fn bids(scheme: &dyn Scheme, evidence: &Evidence<'_>) -> Bids {
    let mut bids = Bids::default();
    scheme.bid(evidence, &mut bids);
    bids
}
