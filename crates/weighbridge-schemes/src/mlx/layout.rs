//! Derives a layout or a finding from names, shapes and settings.

use super::kind::{Kind, Mode};
use super::recipe;
use super::settings::{Says, Settings};
use crate::catalog::{Finding, Shape, TensorInfo};
use crate::dtype::{DType, StoredType};
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Part, StoredTensor};

/// Dimensions of one packed weight, once all evidence agrees.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) kind: Kind,
    /// Words per row.
    pub(super) words: u64,
    /// Groups per row.
    pub(super) cells: u64,
    /// Elements per row.
    pub(super) columns: u64,
    /// Rows per matrix.
    pub(super) rows: u64,
    /// Stored type of the scales.
    pub(super) stored: DType,
    /// Whether there is a global scale, and if so whether each stacked matrix has its own.
    pub(super) global: Option<bool>,
    /// Whether it is transformers' variant.
    pub(super) metal: bool,
}

impl Layout {
    /// Returns the type of the scales' bytes.
    pub(super) fn scale_type(&self) -> DType {
        match self.kind.mode {
            Mode::Affine => self.stored,
            Mode::Mxfp4 | Mode::Mxfp8 => DType::F8_E8M0,
            Mode::Nvfp4 => DType::F8_E4M3,
        }
    }

    /// Returns the type that the reference library decodes to.
    pub(super) fn native(&self) -> DType {
        match (self.kind.mode, self.global) {
            (Mode::Affine, _) => self.stored,
            (_, None) => DType::BF16,
            (_, Some(_)) => DType::F32,
        }
    }

    fn variant(&self) -> String {
        let (before, after) = (
            if self.metal { "metal-" } else { "" },
            if self.global.is_some() { "-global" } else { "" },
        );
        format!("{before}{}{after}", self.kind)
    }
}

/// A packed weight with its companions.
struct Group<'a> {
    weight: &'a TensorInfo,
    scales: Option<StoredTensor<'a>>,
    biases: Option<StoredTensor<'a>>,
    /// The biases under transformers' name.
    qbiases: Option<StoredTensor<'a>>,
    global: Option<StoredTensor<'a>>,
}

impl<'a> Group<'a> {
    fn of(prefix: &str, weight: &'a TensorInfo, evidence: &Evidence<'a>) -> Self {
        let find = |own: &str| evidence.find(&format!("{prefix}{own}"));
        Self {
            weight,
            scales: find("scales"),
            biases: find("biases"),
            qbiases: find("qbiases"),
            global: find("global_scale"),
        }
    }

    fn parts(&self, weight: StoredTensor<'a>) -> Vec<Part> {
        parts_of([
            ("weight", Some(weight)),
            ("scales", self.scales),
            ("biases", self.biases),
            ("biases", self.qbiases),
            ("global_scale", self.global),
        ])
    }

    /// Whether anything except the weight indicates MLX.
    fn has_companion(&self) -> bool {
        self.scales.is_some() || self.biases.is_some() || self.qbiases.is_some()
    }

    /// Whether it can only be MLX's, for any type of the weight.
    fn is_complete(&self) -> bool {
        let bytes = self.scales.is_some_and(|(_, s)| s.stored == DType::U8.into());
        self.scales.is_some() && (bytes || self.biases.is_some() || self.qbiases.is_some())
    }
}

/// Bids for `prefix` + `weight` and its companions, if it is packed.
pub(super) fn bid_for<'a>(
    prefix: &str,
    (id, weight): StoredTensor<'a>,
    evidence: &Evidence<'a>,
    settings: &Settings<'_>,
    bids: &mut Bids,
) {
    let packed = weight.stored == DType::U32.into();
    if !packed && !settings.are_there() {
        return;
    }
    let group = Group::of(prefix, weight, evidence);
    let ours = if packed {
        settings.are_there() || group.has_companion()
    } else {
        // Scales of bytes or with biases, in a model of MLX: the weight's type was changed.
        group.is_complete()
    };
    if !ours {
        return;
    }
    let says = settings.layer(prefix.trim_end_matches('.'));
    let parts = group.parts((id, weight));
    match layout_of(&group, &says, &|| evidence.chosen(&weight.name)) {
        Ok(layout) => bids.weights.push(Bid {
            name: weight.name.to_string(),
            shape: shape_of(weight, layout.columns),
            variant: layout.variant().into(),
            native: Some(layout.native()),
            parts,
            recipe: Ok(recipe(&layout)),
        }),
        Err(reason) => bids.refuse_tensor(weight, parts, &reason),
    }
}

/// Reports scales or biases of a missing weight.
pub(super) fn check_orphan(
    prefix: &str,
    (_, info): StoredTensor<'_>,
    evidence: &Evidence<'_>,
    settings: &Settings<'_>,
    bids: &mut Bids,
) {
    let there = |own: &str| evidence.find(&format!("{prefix}{own}")).is_some();
    let biases = there("biases") || there("qbiases");
    let ours = there("scales") && (biases || settings.are_there());
    // GPTQ and AWQ have scales too.
    if ours && !there("weight") && !there("qweight") {
        let message = format!("its packed weight `{prefix}weight` is missing");
        bids.findings.push(Finding::of(&info.name, "orphan", message));
    }
}

fn shape_of(weight: &TensorInfo, columns: u64) -> Shape {
    let outer = weight.shape.len().saturating_sub(1);
    weight.shape[..outer].iter().copied().chain([columns]).collect()
}

/// Returns the user's choice for a weight. Call it only if the evidence leaves it open.
type Ask<'a> = &'a dyn Fn() -> Option<&'a str>;

fn layout_of(group: &Group<'_>, says: &Says, ask: Ask<'_>) -> Result<Layout, String> {
    let weight = group.weight;
    refuse_if!(
        weight.stored != DType::U32.into(),
        "the weight is {}, expected U32",
        weight.stored.name()
    );
    let (_, scales) = group.scales.ok_or("its `scales` are missing")?;
    let [outer @ .., words] = &weight.shape[..] else {
        refuse!("the weight has no dimensions, expected two or more")
    };
    let ([.., rows], Some(cells)) = (outer, scales.shape.last()) else {
        refuse!("the weight has shape {:?}, expected two or more dimensions", weight.shape)
    };
    let (rows, words, cells) = (*rows, *words, *cells);
    refuse_if!(
        scales.shape.len() != weight.shape.len() || !scales.shape.starts_with(outer),
        "scales have shape {:?}, but the weight has {:?}; only the last dimension may differ",
        scales.shape,
        weight.shape
    );
    refuse_if!(
        weight.elements() == 0 || cells == 0,
        "weight {:?} and scales {:?} are empty",
        weight.shape,
        scales.shape
    );
    let stored = scale_type(scales)?;
    let affine = stored != DType::U8;
    check_biases(group, scales, affine)?;
    let metal = group.qbiases.is_some();
    let decided = decide(says, (affine, metal), (words, cells));
    let kind = match decided.or_else(|| by_choice(ask, (affine, metal), (words, cells))) {
        Some(kind) => kind,
        None => return Err(undecided(group, says, &Kind::readings(affine, words, cells))),
    };
    let columns = kind.columns(words).ok_or("the weight is too large")?;
    let elements = outer.iter().rev().try_fold(columns, |product, &side| product.checked_mul(side));
    elements.ok_or("the weight is too large")?;
    Ok(Layout {
        kind,
        words,
        cells,
        columns,
        rows,
        stored,
        global: global_scale(group, kind)?,
        metal,
    })
}

fn scale_type(scales: &TensorInfo) -> Result<DType, String> {
    match scales.stored {
        StoredType::Element(t @ (DType::F16 | DType::BF16 | DType::F32 | DType::U8)) => Ok(t),
        ref other => Err(format!("scales are {}, expected F16, BF16, F32 or U8", other.name())),
    }
}

fn check_biases(group: &Group<'_>, scales: &TensorInfo, affine: bool) -> Result<(), String> {
    let biases = match (group.biases, group.qbiases, affine) {
        (None, None, false) => return Ok(()),
        (Some(_), Some(_), _) => return Err("it has both `biases` and `qbiases`".into()),
        (_, _, false) => return Err("scales are bytes, but there are biases too".into()),
        (biases, qbiases, true) => biases.or(qbiases),
    };
    let (_, biases) = biases.ok_or("its `biases` are missing")?;
    refuse_if!(
        biases.shape != scales.shape || biases.stored != scales.stored,
        "biases are {}, but scales are {}; both need the same type and shape",
        described(biases),
        described(scales)
    );
    Ok(())
}

/// Whether a kind is possible for a weight with such scales and widths.
fn is_possible(kind: Kind, (affine, metal): (bool, bool), (words, cells): (u64, u64)) -> bool {
    let of_mode = (kind.mode == Mode::Affine) == affine && kind.is_known();
    let of_metal = !metal || [2, 4, 8].contains(&kind.bits);
    of_mode && of_metal && kind.fits(words, cells)
}

/// Returns the kind that shapes and settings agree on.
fn decide(says: &Says, scales: (bool, bool), widths: (u64, u64)) -> Option<Kind> {
    let (affine, metal) = scales;
    if let Some(kind) = says.kind() {
        return Some(kind).filter(|&kind| is_possible(kind, scales, widths));
    }
    let mut allowed = Kind::readings(affine, widths.0, widths.1);
    allowed.retain(|&kind| says.allows(kind));
    // transformers accepts any group size, so no list of readings is complete.
    (allowed.len() == 1 && !metal).then(|| allowed[0])
}

/// Returns the kind that the user chose, if it is possible.
fn by_choice(ask: Ask<'_>, scales: (bool, bool), widths: (u64, u64)) -> Option<Kind> {
    let variant = ask()?.strip_prefix("mlx/")?;
    let variant = variant.strip_prefix("metal-").unwrap_or(variant);
    let kind = Kind::parse(variant.strip_suffix("-global").unwrap_or(variant))?;
    is_possible(kind, scales, widths).then_some(kind)
}

/// Returns why nothing was decided, and the possible kinds.
fn undecided(group: &Group<'_>, says: &Says, readings: &[Kind]) -> String {
    let weight = group.weight;
    let why = match says {
        Says::Nothing => "no config states its bits".to_owned(),
        Says::NotQuantized => "config.json says that it is not quantized".to_owned(),
        Says::Unreadable(why) => format!("config.json has invalid settings: {why}"),
        Says::Settings { mode, bits, group } => {
            let number = |n: Option<u64>| n.map_or("unknown".to_owned(), |n| n.to_string());
            format!(
                "config.json says mode {mode:?}, bits {}, group size {}",
                number(bits.map(u64::from)),
                number(*group)
            )
            .to_lowercase()
        }
    };
    let stored = group.scales.map_or_else(String::new, |(_, scales)| described(scales));
    let one = |kind: &Kind| {
        let columns = kind.columns(*weight.shape.last().unwrap_or(&0)).unwrap_or(0);
        format!("{kind} {:?}", shape_of(weight, columns))
    };
    let could = match readings {
        [] => "fit no kind that MLX writes".to_owned(),
        some => format!(
            "fit {}; set its scheme, as in mlx/{}",
            some.iter().map(one).collect::<Vec<_>>().join(" or "),
            some[0]
        ),
    };
    format!("{why}; its words {:?} and scales {stored} {could}", weight.shape)
}

/// Whether there is a global scale, and if so whether each stacked matrix has its own.
fn global_scale(group: &Group<'_>, kind: Kind) -> Result<Option<bool>, String> {
    let Some((_, global)) = group.global else { return Ok(None) };
    refuse_if!(kind.mode != Mode::Nvfp4, "it has a `global_scale`, which {kind} does not use");
    let shape = &group.weight.shape;
    let experts = &shape[..shape.len() - 2];
    let single = global.elements() == 1 && experts.iter().product::<u64>() == 1;
    let of_each = !experts.is_empty() && global.shape[..] == *experts;
    refuse_if!(
        global.stored != DType::F32.into() || !(single || of_each),
        "global_scale is {}, expected F32 {experts:?}",
        described(global)
    );
    Ok(Some(of_each))
}
