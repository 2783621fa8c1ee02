//! Which of four layouts a weight has.
//!
//! | evidence | first code | scales |
//! |---|---|---|
//! | `P.comfy_quant` (JSON as bytes) with `format` nvfp4 | high | swizzled |
//! | `P` under `layers` in the file's `_quantization_metadata` | high | swizzled |
//! | a `quantization_config` in the file's own metadata that names ModelOpt | low | either: its export for single files can swizzle |
//! | both of the last two | either: ModelOpt writes low first, ComfyUI reads high first | either |
//! | a config file that names ModelOpt | low | row by row |
//! | nothing | either | either |
//!
//! Shapes exclude one order of the scales unless rows are a multiple of 128 and groups of 4. What
//! is then left must be stated by the user: a guess would give numbers that look like weights.

use serde_json::Value as Json;

use super::sides::Sides;
use super::{Candidate, Refusal};
use crate::catalog::{Metadata, Value};
use crate::framework::Evidence;
use crate::framework::conventions::{comfy, modelopt};
use crate::text::shortened;

/// ComfyUI's name of the format.
pub(super) const FORMAT: &str = "nvfp4";

/// Order of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    comfy: bool,
    swizzled: bool,
}

const MODELOPT: Layout = Layout { comfy: false, swizzled: false };
const MODELOPT_SWIZZLED: Layout = Layout { comfy: false, swizzled: true };
const COMFY: Layout = Layout { comfy: true, swizzled: true };
const COMFY_LINEAR: Layout = Layout { comfy: true, swizzled: false };
const ALL: [Layout; 4] = [MODELOPT, MODELOPT_SWIZZLED, COMFY, COMFY_LINEAR];

impl Layout {
    /// Returns the name of the variant.
    pub(super) fn name(self) -> &'static str {
        match (self.comfy, self.swizzled) {
            (false, false) => "modelopt",
            (false, true) => "modelopt-swizzled",
            (true, true) => "comfy",
            (true, false) => "comfy-linear",
        }
    }

    /// Whether the first of two codes is the high nibble, and comfy-kitchen's recipe holds.
    pub(super) fn is_comfy(self) -> bool {
        self.comfy
    }

    /// Whether scales are in tiles.
    pub(super) fn is_swizzled(self) -> bool {
        self.swizzled
    }

    fn fits(self, sides: &Sides) -> bool {
        if self.swizzled { sides.fits_tiles() } else { sides.fits_rows() }
    }
}

/// Returns the layout that all evidence agrees on.
pub(super) fn decide(
    evidence: &Evidence<'_>,
    files: &Files,
    found: &Candidate<'_>,
    sides: &Sides,
) -> Result<Layout, Refusal> {
    let undecodable = |reason: String| ("undecodable", reason);
    let file = files.of_weight(found);
    let described = described(evidence, file, found).map_err(undecodable)?;
    let by_modelopt = file.is_some_and(|file| file.by_modelopt);
    let (said, by): (&[Layout], &str) = match (described, by_modelopt) {
        (Described::Tensor, _) => (&[COMFY], "comfy_quant says"),
        (Described::Metadata, false) => (&[COMFY], "_quantization_metadata says"),
        (Described::Metadata, true) => (&ALL, "the file's metadata allows"),
        (Described::No, true) => (&[MODELOPT, MODELOPT_SWIZZLED], "the file's metadata allows"),
        (Described::No, false) if says_modelopt(evidence, found).map_err(undecodable)? => {
            (&[MODELOPT], "the config says")
        }
        (Described::No, false) => (&ALL, "the metadata allows"),
    };
    let left: Vec<Layout> = said.iter().copied().filter(|one| one.fits(sides)).collect();
    match left[..] {
        [one] => Ok(one),
        [] => Err(undecodable(format!(
            "{by} layout {}, but the shape of weight_scale does not fit",
            names(said)
        ))),
        _ => by_choice(evidence, found, &left),
    }
}

fn names(layouts: &[Layout]) -> String {
    layouts.iter().map(|one| one.name()).collect::<Vec<_>>().join(" or ")
}

/// Returns the names of layouts as a user states them.
fn choices(layouts: &[Layout]) -> String {
    layouts.iter().map(|one| format!("nvfp4/{}", one.name())).collect::<Vec<_>>().join(" or ")
}

/// Returns the user's choice if several layouts are left.
fn by_choice(
    evidence: &Evidence<'_>,
    found: &Candidate<'_>,
    left: &[Layout],
) -> Result<Layout, Refusal> {
    let choice = evidence.chosen(&found.weight.name);
    let named = choice.and_then(|choice| choice.strip_prefix("nvfp4/"));
    if let Some(&one) = left.iter().find(|one| Some(one.name()) == named) {
        return Ok(one);
    }
    let differ = |of: fn(Layout) -> bool| left.iter().any(|l| of(*l) != of(left[0]));
    let nibbles = "the first of two codes may be the low nibble (modelopt) or the high one \
                   (comfy), and the wrong choice swaps every two neighbours";
    let scales = "scales may be stored row by row or swizzled in tiles of 128 x 4, and the wrong \
                  choice gives every group another's scale";
    let open = match (differ(Layout::is_comfy), differ(Layout::is_swizzled)) {
        (true, true) => format!("{nibbles}; {scales}"),
        (true, false) => nibbles.to_owned(),
        _ => scales.to_owned(),
    };
    let not_it = choice.map_or_else(String::new, |choice| {
        format!("; '{}' was given, but is not one of them", shortened(choice, 40))
    });
    Err((
        "ambiguous",
        format!("its NVFP4 layout is ambiguous: {open}; choices: {}{not_it}", choices(left)),
    ))
}

/// Where a weight is described in ComfyUI's terms.
enum Described {
    Tensor,
    Metadata,
    No,
}

fn described(
    evidence: &Evidence<'_>,
    file: Option<&File>,
    found: &Candidate<'_>,
) -> Result<Described, String> {
    let listed = || match file.and_then(|file| file.layers.as_ref()) {
        Some(Ok(layers)) => Ok(layers.get(found.module).cloned()),
        Some(Err(unreadable)) => Err((*unreadable).to_owned()),
        None => Ok(None),
    };
    let (json, described) = match comfy::description(evidence, found.module) {
        Some((_, json)) => (json?, Described::Tensor),
        None => match listed()? {
            Some(json) => (json, Described::Metadata),
            None => return Ok(Described::No),
        },
    };
    match comfy::format(&json) {
        Some(FORMAT) => Ok(described),
        other => Err(format!(
            "it has the tensors of an NVFP4 weight, but its metadata says {}",
            shortened(other.unwrap_or("nothing"), 40)
        )),
    }
}

/// Metadata of each file, read once.
pub(super) struct Files {
    of: Vec<File>,
    /// Whether codes may move to another scheme, where activations would be four-bit too.
    pub(super) may_move: bool,
}

struct File {
    /// Descriptions of layers for ComfyUI, by module, or why they cannot be read.
    layers: Option<Result<Json, &'static str>>,
    /// Whether the file's own metadata names ModelOpt.
    by_modelopt: bool,
}

impl Files {
    pub(super) fn of(evidence: &Evidence<'_>) -> Self {
        let file = |metadata: &&Metadata| {
            let settings = metadata.get("quantization_config").and_then(Value::as_str);
            let json = settings.and_then(|text| serde_json::from_str(text).ok());
            File {
                layers: comfy::layers(metadata),
                by_modelopt: json.is_some_and(|json| modelopt::is_named_in(&json)),
            }
        };
        let of = evidence.metadata().iter().map(file).collect();
        Self { of, may_move: !modelopt::keeps_activations(evidence.configs()) }
    }

    fn of_weight(&self, found: &Candidate<'_>) -> Option<&File> {
        self.of.get(found.id.source as usize)
    }
}

/// Whether a config file says that ModelOpt wrote the weight; an error if it names another kind.
fn says_modelopt(evidence: &Evidence<'_>, found: &Candidate<'_>) -> Result<bool, String> {
    if !evidence.method().is_some_and(modelopt::is_method) {
        return Ok(false);
    }
    let own = modelopt::settings(evidence.configs());
    let config = evidence.quantization().map(|(_, json)| json);
    let of_layer =
        |json: &Json| modelopt::algorithm(json.get("quantized_layers")?.get(found.module)?);
    let all = [config, own];
    let named = |of: &dyn Fn(&Json) -> Option<String>| all.iter().flatten().find_map(|j| of(j));
    match named(&of_layer).or_else(|| named(&modelopt::algorithm)) {
        Some(name) if !name.contains("NVFP4") && name != "MIXED_PRECISION" => Err(format!(
            "it has the tensors of an NVFP4 weight, but the config says {}",
            shortened(&name, 40)
        )),
        _ => Ok(true),
    }
}
