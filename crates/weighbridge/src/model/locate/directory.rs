//! Which files of a directory are the model. The rule is in the documentation of the room.

use std::path::{Path, PathBuf};

use super::index::{self, Index};
use super::listing::{Entry, Kind, Listing, extension};
use super::sets::{self, Set};
use super::{Located, configs, nothing, pipeline, shown, some_of};
use crate::ErrorKind;
use crate::catalog::Finding;
use crate::error::Result;
use crate::limits::Budget;

/// Kinds of weight files, best first.
struct Family {
    extensions: &'static [&'static str],
    /// Whether its files may be listed by an `*.index.json`.
    indexed: bool,
    /// Whether every file is a model of its own, whatever it is called.
    independent: bool,
}

const FAMILIES: &[Family] = &[
    Family { extensions: &["safetensors"], indexed: true, independent: false },
    Family { extensions: &["gguf"], indexed: false, independent: true },
    Family { extensions: &["bin", "pt", "pth", "ckpt"], indexed: true, independent: false },
    Family { extensions: &["npz"], indexed: false, independent: true },
    Family { extensions: &["npy"], indexed: false, independent: false },
    Family { extensions: &["apr"], indexed: false, independent: true },
];

/// Below this, a download is over before its program has taken notes.
const LARGE: u64 = 64 << 10;

const RULE: &str = "an index first, then safetensors, GGUF, PyTorch, NumPy, APR, \
                    and `model` before other names";

/// The models of a directory.
pub(super) fn locate(folder: &Path, budget: &Budget) -> Result<Vec<Located>> {
    let listing = Listing::read(folder, budget)?;
    if listing.files().any(|entry| entry.name == pipeline::INDEX)
        && let Some(components) = pipeline::locate(&listing, budget)?
    {
        return Ok(components);
    }
    from_listing(&listing, budget)?.ok_or_else(|| nothing::no_weights(&listing, budget))
}

/// Whether a folder holds weights itself.
pub(super) fn holds_weights(listing: &Listing) -> bool {
    FAMILIES.iter().any(|family| !candidates(listing, family).is_empty())
}

/// The models among the files of a listing; `None` if there are none.
pub(super) fn from_listing(listing: &Listing, budget: &Budget) -> Result<Option<Vec<Located>>> {
    let mut general = Located::new(listing.folder.clone());
    let mut taken: Vec<Set> = Vec::new();
    let mut aside: Vec<String> = Vec::new();
    for family in FAMILIES {
        let mut found = sets_of(listing, family, &mut general, budget)?;
        if !taken.is_empty() {
            aside.extend(found.iter().flat_map(names));
            continue;
        }
        let best = found.iter().map(|set| rank(set, family)).min();
        taken = found.extract_if(.., |set| Some(rank(set, family)) == best).collect();
        aside.extend(found.iter().flat_map(names));
    }
    if taken.is_empty() {
        return Ok(None);
    }
    describe(&taken, &aside, listing, &mut general);
    taken_as_models(taken, &general, budget).map(Some)
}

/// A set's files by name.
fn names(set: &Set) -> Vec<String> {
    set.files
        .iter()
        .map(|f| f.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect()
}

fn candidates<'a>(listing: &'a Listing, family: &Family) -> Vec<&'a Entry> {
    let weights = |entry: &&Entry| {
        matches!(entry.kind, Kind::File | Kind::Broken)
            && family.extensions.contains(&&*entry.extension())
            && !is_not_weights(&entry.name)
            && (entry.extension() != "bin" || could_be_torch(entry))
    };
    listing.entries.iter().filter(weights).collect()
}

fn sets_of(
    listing: &Listing,
    family: &Family,
    general: &mut Located,
    budget: &Budget,
) -> Result<Vec<Set>> {
    let mut left = candidates(listing, family);
    if family.extensions == ["npy"] {
        return Ok(together(&left).into_iter().collect());
    }
    let mut sets = Vec::new();
    for entry in
        listing.files().filter(|e| family.indexed && index::is_index(&e.name, family.extensions))
    {
        if let Some(set) = indexed(entry, general, budget)? {
            left.retain(|entry| !set.files.contains(&entry.path));
            sets.push(set);
        }
    }
    // An old series of MLX: `weights.00.safetensors`, `weights.01.safetensors`.
    let (numbered, rest): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|e| is_numbered_weights(&e.name));
    sets.extend(together(&numbered));
    sets.extend(sets::group(&rest));
    Ok(sets)
}

/// The set of an index, unless the index is of no use.
fn indexed(entry: &Entry, general: &mut Located, budget: &Budget) -> Result<Option<Set>> {
    let set = match Index::read(&entry.path, budget) {
        Ok(index) => index.into_set()?,
        Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
        Err(error) => {
            let message =
                format!("{}: {}; files are taken by their names", entry.name, error.message());
            general.findings.push(Finding::general("bad-index", crate::text::escaped(&message)));
            return Ok(None);
        }
    };
    if set.files.is_empty() {
        let message = format!(
            "{} names {} files and none of them is here ({})",
            crate::text::escaped(&entry.name),
            set.missing.len(),
            some_of(&set.missing, 3)
        );
        general.findings.push(Finding::general("bad-index", message));
        return Ok(None);
    }
    Ok(Some(set))
}

/// Smaller is better; equal ranks are several models.
fn rank(set: &Set, family: &Family) -> (bool, u8, bool) {
    if family.independent {
        return (false, 0, false);
    }
    let (stem, variant) = set.stem();
    let class = match stem {
        "model" => 0,
        "diffusion_pytorch_model" => 1,
        "pytorch_model" | "open_clip_pytorch_model" | "open_clip_model" => 2,
        _ if stem.starts_with("model") => 3,
        _ if stem.starts_with("consolidated") => 4,
        "adapter_model" => 5,
        _ => 6,
    };
    (set.index.is_none(), class, variant)
}

/// Says what was decided.
fn describe(taken: &[Set], aside: &[String], listing: &Listing, general: &mut Located) {
    if !aside.is_empty() {
        let labels: Vec<&str> = taken.iter().map(|set| &*set.label).collect();
        general.notes.push(format!(
            "more than one set of weights is here; taken: {}; left aside: {} (the rule: {RULE})",
            some_of(&labels, 4),
            some_of(aside, 6)
        ));
    }
    let others: Vec<&str> =
        listing.files().map(|entry| &*entry.name).filter(|name| is_not_weights(name)).collect();
    if !others.is_empty() {
        general.notes.push(format!("not taken as weights: {}", some_of(&others, 6)));
    }
    for entry in listing.entries.iter().filter(|entry| entry.kind == Kind::Broken) {
        if FAMILIES.iter().any(|f| f.extensions.contains(&&*entry.extension()))
            && sets::group(&[entry]).is_empty()
        {
            general
                .notes
                .push(format!("{} is a link that leads nowhere", shown(Path::new(&entry.name))));
        }
    }
}

/// One model for each set that was taken. Several are called by their first file.
fn taken_as_models(taken: Vec<Set>, general: &Located, budget: &Budget) -> Result<Vec<Located>> {
    let alone = taken.len() == 1;
    let mut models = Vec::new();
    for set in taken {
        let place = match (alone, set.files.first()) {
            (false, Some(first)) => first.clone(),
            _ => general.path.clone(),
        };
        let mut model = Located::new(place);
        model.findings.clone_from(&general.findings);
        model.notes.clone_from(&general.notes);
        if !set.files.iter().all(|file| configs::needs_none(file)) {
            configs::beside(&general.path, &mut model, budget)?;
        }
        adopt(set, &mut model);
        models.push(model);
    }
    if models.len() > 1 {
        mark_companions(&mut models);
    }
    Ok(models)
}

/// Gives a model its files.
pub(super) fn adopt(set: Set, model: &mut Located) {
    if set.is_counted() && set.files.len() > 1 {
        model.notes.push(format!(
            "{} files are taken together by their numbers: {} and on",
            set.files.len(),
            set.label
        ));
    }
    model.findings.extend(set.findings);
    let unfinished = |file: &PathBuf| unfinished(file, std::fs::metadata(file).ok()?.len());
    model.findings.extend(set.files.iter().filter_map(unfinished));
    model.files = set.files;
    model.index = set.index;
}

/// A download that its program has not finished, by the traces it leaves. Programs that leave a
/// file of notes beside it do so for large files.
pub(super) fn unfinished(file: &Path, len: u64) -> Option<Finding> {
    let name = file.file_name()?.to_string_lossy();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    let by_name = sets::UNFINISHED.iter().any(|known| known.eq_ignore_ascii_case(ending));
    let by_name = by_name.then(|| "its name says so".to_owned());
    let control = || {
        if len <= LARGE {
            return None;
        }
        let mut control = file.as_os_str().to_owned();
        control.push(".aria2");
        Path::new(&control).exists().then(|| format!("{name}.aria2 lies beside it"))
    };
    by_name.or_else(control).map(|why| {
        let message =
            format!("{name} is an unfinished download ({why}); let it finish or fetch it again");
        Finding::general("incomplete-download", crate::text::escaped(&message))
    })
}

/// GGUF files that accompany a model and are none themselves.
fn mark_companions(models: &mut [Located]) {
    for model in models.iter_mut() {
        let name = model.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        model.companion = match () {
            () if !name.ends_with(".gguf") => None,
            () if name.contains("mmproj") => Some("a multimodal projector"),
            () if name.contains("imatrix") => Some("an importance matrix"),
            () => None,
        };
    }
    if models.iter().all(|model| model.companion.is_some()) {
        models.iter_mut().for_each(|model| model.companion = None);
    }
}

/// All of these files as one set, whatever they are called.
fn together(entries: &[&Entry]) -> Option<Set> {
    let files: Vec<_> = entries.iter().filter(|e| e.kind == Kind::File).collect();
    let first = files.first()?;
    let mut set = Set::new(first.name.clone());
    set.files = files.iter().map(|entry| entry.path.clone()).collect();
    Some(set)
}

fn is_numbered_weights(name: &str) -> bool {
    let number = name.strip_prefix("weights.").and_then(|rest| rest.strip_suffix(".safetensors"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// What training leaves beside the weights under the same extensions.
pub(super) fn is_not_weights(name: &str) -> bool {
    let name = name.to_lowercase();
    let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
    let torch = matches!(&*extension(&name), "bin" | "pt" | "pth" | "ckpt" | "safetensors");
    torch
        && (matches!(
            stem,
            "training_args" | "scheduler" | "scaler" | "trainer_state" | "args" | "metadata"
        ) || stem.starts_with("optimizer")
            || stem.starts_with("rng_state")
            || stem.starts_with("random_states")
            // A tokenizer of sound in safetensors is a model of its own.
            || (stem.starts_with("tokenizer") && !name.ends_with(".safetensors"))
            || stem.ends_with("_optim_states")
            || stem.ends_with(".optim"))
}

/// `.bin` is anyone's extension; a known name or the first bytes tell.
fn could_be_torch(entry: &Entry) -> bool {
    let known =
        ["pytorch_model", "diffusion_pytorch_model", "adapter_model", "model", "consolidated"];
    known.iter().any(|stem| entry.name.starts_with(stem))
        || super::strangers::head_of(&entry.path)
            .is_some_and(|head| super::signatures::weights_or_stand_in(&head))
}
