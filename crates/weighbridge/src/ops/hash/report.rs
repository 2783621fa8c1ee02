//! The options and the result of hashing a model.

use crate::model::Select;
use crate::ops::reports::reports;
use crate::ops::work::{setters, work_options};
use crate::ops::{Dropped, Work};

/// Options for [`hash`](crate::ops::hash).
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::HashOptions;
/// let options = HashOptions::default().values(true);
/// let of = |path| ops::hash(&Model::open(path)?, &options).map(|report| report.hash);
/// println!("the same weights: {}", of("model.gguf")? == of("model.safetensors")?);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct HashOptions {
    pub(super) values: bool,
    pub(super) tensors: bool,
    pub(super) select: Select,
    pub(super) skip_unreadable: bool,
    pub(super) work: Work,
}

work_options!(HashOptions);

setters! { HashOptions:
    /// Hashes the decoded values as f32 instead of the stored bytes.
    values(values: bool) values = values;

    /// Lists the weights with their hashes.
    tensors(tensors: bool) tensors = tensors;

    /// Which weights are hashed.
    select(select: Select) select = select;

    /// Skips and lists weights that cannot be read instead of returning an error.
    skip_unreadable(skip: bool) skip_unreadable = skip;
}

reports! {
    /// The hash of a model. The field names are the JSON contract.
    pub struct HashReport {
        pub path: String,
        pub hash: String,
        /// What was hashed: `stored` or `values`.
        pub of: &'static str,
        /// The version of what a hash is made of.
        pub encoding: u32,
        pub weights: u64,
        /// Bytes that were hashed.
        pub bytes: u64,
        pub skipped: Vec<Dropped>,
        pub notes: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tensors: Option<Vec<HashedWeight>>,
    }

    /// The hash of a weight.
    pub struct HashedWeight {
        pub name: String,
        pub hash: String,
        pub shape: Vec<u64>,
        /// The stored tensors that were hashed; absent where values were.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub parts: Option<Vec<HashedPart>>,
    }

    /// The hash of the bytes of a stored tensor.
    pub struct HashedPart {
        pub name: String,
        pub role: &'static str,
        pub dtype: String,
        pub shape: Vec<u64>,
        pub bytes: u64,
        pub hash: String,
    }
}
