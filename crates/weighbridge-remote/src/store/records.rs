//! What an output says about itself in its store: the plan before, a record of each file when it is
//! complete, the manifest at the end.

use object_store::path::Path;
use serde::{Deserialize, Serialize};

pub(crate) const PLAN: &str = "weigh-plan.json";
pub(crate) const MANIFEST: &str = "weigh-manifest.json";
const RECORDS: &str = "weigh-parts";

/// Put first: what the work is, and that it is not complete.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) version: u32,
    pub(crate) stamp: String,
    /// Tells runs of the same work apart.
    pub(crate) run: String,
}

/// A file that is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// The lengths of the stretches that were hashed; the last one may be shorter.
    pub(crate) part_bytes: u64,
    /// The BLAKE3 hash of each stretch, in order.
    pub(crate) blake3_parts: Vec<String>,
    /// What the store calls this content of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
}

/// A file that is being sent; its record takes the place of this when it is complete.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begun {
    pub(crate) name: String,
    /// What the store calls the upload.
    pub(crate) upload: String,
}

/// Put last: the output is complete.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) stamp: String,
    pub(crate) run: String,
    /// How the sums were made, for whoever checks them.
    pub(crate) sums: String,
    pub(crate) files: Vec<Record>,
}

pub(crate) const VERSION: u32 = 1;
pub(crate) const SUMS: &str = "blake3_parts has the BLAKE3 hash of every part_bytes bytes of a file, in order; the last part may be shorter";

/// Where the record of a file is.
pub(crate) fn record_key(root: &Path, name: &str) -> Option<Path> {
    under(root, &format!("{RECORDS}/{name}.json"))
}

/// Whether a key is that of a record.
pub(crate) fn is_record(root: &Path, key: &Path) -> bool {
    under(root, RECORDS).is_some_and(|records| key.prefix_matches(&records))
}

/// The key of a name under a prefix. Names do not lead out of it.
pub(crate) fn under(root: &Path, name: &str) -> Option<Path> {
    let name = name.replace(std::path::MAIN_SEPARATOR, "/");
    let key = if root.is_root() { name } else { format!("{root}/{name}") };
    Path::parse(key).ok().filter(|key| key != root)
}

/// Stores write the same tag with and without quotes.
pub(crate) fn same_tag(a: Option<&str>, b: Option<&str>) -> bool {
    let plain = |tag: &str| tag.trim_matches('"').to_owned();
    a.map(plain).is_some_and(|a| b.map(plain) == Some(a))
}

/// Text that no other run has.
pub(crate) fn run_id() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{:016x}{:08x}", random(), std::process::id())
}
