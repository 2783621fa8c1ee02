//! For tests: made-up models, and what a scheme says about them.

use std::sync::LazyLock;

use serde_json::Value as Json;

use super::{Bids, Config, Evidence, Scheme};
use crate::catalog::{Metadata, Place, TensorInfo};
use crate::dtype::DType;

/// A stored tensor that lies nowhere.
pub(crate) fn tensor(name: &str, dtype: DType, shape: &[u64]) -> TensorInfo {
    TensorInfo {
        name: name.into(),
        shape: shape.iter().copied().collect(),
        stored: dtype.into(),
        bytes: shape.iter().product::<u64>() * u64::from(dtype.bits()) / 8,
        place: Place::at(0),
        refused: None,
    }
}

/// A `config.json`.
pub(crate) fn config(json: Json) -> Config {
    Config { name: "config.json".into(), json }
}

/// A model of one file without metadata.
pub(crate) fn evidence<'a>(tensors: &'a [TensorInfo], configs: &'a [Config]) -> Evidence<'a> {
    static METADATA: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    Evidence::new(std::iter::once((tensors, &*METADATA)), configs)
}

/// What a scheme says.
pub(crate) fn bids(scheme: &dyn Scheme, evidence: &Evidence<'_>) -> Bids {
    let mut bids = Bids::default();
    scheme.bid(evidence, &mut bids);
    bids
}
