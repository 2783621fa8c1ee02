//! One module: its tensors, the group of the config that fits them, and the bid.

use std::sync::{Arc, OnceLock};

use super::config::{Args, Settings, Writer};
use super::factors::{Arranged, Order, PackedZeros, Zero};
use super::grouped::{ACTIVATIONS, PackedGroups};
use super::layout::{Attempt, Cells, Columns, Kind, Layout, ZeroKind};
use super::stated::{self, Stated};
use crate::arithmetic::columns::calibrated;
use crate::arithmetic::matrix::{
    Arithmetic, Cell, Choice, Codes, FLOATS4, Factors, Grid, Loss, Matrix, Packing, Scales,
};
use crate::arithmetic::{FlatCodes, WithCodes, plain, six_bits};
use crate::catalog::{Shape, TensorInfo};
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Global, Part, Recipe, StoredTensor, Taker};

/// The tensors of one quantized module.
pub(super) struct Module<'e, 'a> {
    evidence: &'e Evidence<'a>,
    pub(super) name: &'a str,
    pub(super) codes: StoredTensor<'a>,
    pub(super) scale: Option<StoredTensor<'a>>,
    pub(super) global: Option<StoredTensor<'a>>,
    pub(super) zero: Option<StoredTensor<'a>>,
    pub(super) order: Option<StoredTensor<'a>>,
    pub(super) shape: Option<StoredTensor<'a>>,
    /// A plain `weight` lies beside the packed one.
    has_plain_weight: bool,
}

/// Why a module is not decoded: the kind of finding, and what it says.
type Refusal = (&'static str, String);

/// How the codes are stored, by name and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `weight_packed` of 32-bit words.
    Words,
    /// `weight_packed` of bytes.
    FloatBytes,
    /// `weight`.
    Bytes,
    /// `weight_packed` of something else.
    Unknown,
}

impl<'e, 'a> Module<'e, 'a> {
    /// The module of that name, whose codes are `codes`.
    pub(super) fn new(name: &'a str, codes: StoredTensor<'a>, evidence: &'e Evidence<'a>) -> Self {
        let find = |suffix: &str| evidence.find(&format!("{name}.{suffix}"));
        Self {
            evidence,
            name,
            codes,
            scale: find("weight_scale"),
            global: find("weight_global_scale"),
            zero: find("weight_zero_point"),
            order: find("weight_g_idx"),
            shape: find("weight_shape"),
            has_plain_weight: codes.1.name.ends_with(".weight_packed") && find("weight").is_some(),
        }
    }

    pub(super) fn scale(&self) -> Result<&'a TensorInfo, String> {
        self.scale.map(|(_, info)| info).ok_or_else(|| "its `weight_scale` is missing".to_owned())
    }

    /// The type of `weight_shape`, which must exist and hold so many sides.
    pub(super) fn shape_type(&self, sides: usize) -> Result<DType, String> {
        let (_, info) = self.shape.ok_or("its `weight_shape` is missing")?;
        match info.stored.element() {
            Some(dtype @ (DType::I64 | DType::I32)) if info.shape[..] == [sides as u64] => {
                Ok(dtype)
            }
            _ => Err(format!("weight_shape is {}, {sides} integers are expected", described(info))),
        }
    }

    /// What `weight_shape` says. It has to be read for that, so it is asked only where nothing
    /// else tells: in a model of many experts these are the most scattered bytes of all.
    pub(super) fn logical_shape(&self) -> Result<Shape, String> {
        let dtype = self.shape_type(self.codes.1.shape.len())?;
        let (id, _) = self.shape.ok_or("its `weight_shape` is missing")?;
        stated::sides(dtype, &self.evidence.bytes(id)?)
    }

    pub(super) fn form(&self) -> Form {
        let packed = self.codes.1.name.ends_with(".weight_packed");
        match packed {
            false => Form::Bytes,
            true if self.codes.1.stored == DType::I32.into() => Form::Words,
            true if self.codes.1.stored == DType::U8.into() => Form::FloatBytes,
            true => Form::Unknown,
        }
    }

    /// All that belongs to it, the codes first.
    fn parts(&self) -> Vec<Part> {
        parts_of([
            ("weight", Some(self.codes)),
            ("scale", self.scale),
            ("global scale", self.global),
            ("zero point", self.zero),
            ("group index", self.order),
            ("shape", self.shape),
        ])
    }

    /// The weight's name, unlike that of a plain weight beside it.
    fn weight_name(&self) -> String {
        match self.has_plain_weight {
            true => self.codes.1.name.to_string(),
            false => format!("{}.weight", self.name),
        }
    }

    /// Bids for the module, or says why it cannot be decoded.
    pub(super) fn bid(&self, settings: &Settings, bids: &mut Bids) {
        let layout = match self.has_plain_weight {
            true => Err((
                "undecodable",
                format!(
                    "{}.weight is stored beside it, and there is no telling which of the two is \
                     right; remove one of them from the files",
                    self.name
                ),
            )),
            false => self.layout(settings),
        };
        match layout {
            Ok(layout) => bids.weights.push(Bid {
                name: self.weight_name(),
                shape: layout.shape.clone(),
                variant: layout.variant().into(),
                native: Some(layout.native),
                recipe: Ok(recipe(&layout, settings, &self.parts())),
                parts: self.parts(),
            }),
            Err((kind, reason)) => self.refuse(kind, &reason, bids),
        }
    }

    /// A finding, and a weight that is refused for the same reason.
    pub(super) fn refuse(&self, kind: &'static str, reason: &str, bids: &mut Bids) {
        let shape = self.logical_shape().unwrap_or_else(|_| self.codes.1.shape.clone());
        let bid = Bid::refused(self.weight_name(), shape, self.parts(), reason);
        bids.refuse(self.codes.1, kind, bid);
    }

    /// The layout that the tensors and the config agree on. Groups that do not fit the tensors
    /// are out; where several fit and differ, names decide, and then the user.
    fn layout(&self, settings: &Settings) -> Result<Layout, Refusal> {
        let groups = self.guesses(settings);
        let mut fitting: Vec<Layout> = Vec::new();
        for args in &groups {
            let layout = self.try_layout(args, settings.writer);
            fitting.extend(layout.ok().filter(|layout| !fitting.contains(layout)));
        }
        let named = || settings.named(self.name);
        let layout = match &fitting[..] {
            [layout] => layout.clone(),
            [] => self
                .try_layout(&named().unwrap_or_else(|| groups[0].clone()), settings.writer)
                .map_err(|reason| ("undecodable", reason))?,
            _ => match named().and_then(|args| self.try_layout(&args, settings.writer).ok()) {
                Some(layout) => layout,
                None => self.by_choice(&fitting, "the config does not tell which it is")?,
            },
        };
        match layout.order {
            _ if settings.transforms(self.name) => self.by_choice(
                &[layout],
                "the config says that its activations are transformed while the model runs \
                 (transform_config), so its values make sense only with the same \
                 transform; to decode them all the same, state its scheme",
            ),
            Columns::Missing => self.by_choice(
                &[layout],
                "the config says that columns are assigned to groups in an order of their own \
                 (actorder), but `weight_g_idx`, which holds that order, is missing; files \
                 without it usually have their columns in order",
            ),
            _ => Ok(layout),
        }
    }

    /// The layout that the user says it is.
    fn by_choice(&self, possible: &[Layout], why: &str) -> Result<Layout, Refusal> {
        let answer = self.evidence.chosen(&self.weight_name());
        let named = answer.and_then(|answer| answer.strip_prefix("compressed/"));
        if let Some(one) = possible.iter().find(|one| Some(&*one.variant()) == named) {
            return Ok(one.clone());
        }
        let kinds: Vec<String> =
            possible.iter().map(|one| format!("compressed/{}", one.variant())).collect();
        let reason = format!("{why}; it could be {}", kinds.join(" or "));
        Err(("ambiguous", reason))
    }

    /// The arguments of every group; where no width of integers is stated, every width.
    fn guesses(&self, settings: &Settings) -> Vec<Args> {
        let all = settings.all();
        match (&all[..], self.form()) {
            ([Args { bits: None, .. }], Form::Words) => {
                (1..=8).map(|bits| Args { bits: Some(bits), ..Args::default() }).collect()
            }
            _ => all,
        }
    }

    fn try_layout(&self, args: &Args, writer: Writer) -> Result<Layout, String> {
        if let Some(format) = &args.format {
            let format = crate::text::shortened(format, 40);
            refuse!("its format, `{format}`, is not known to this version");
        }
        self.scale()?;
        let attempt = Attempt { module: self, args, writer };
        match self.form() {
            Form::Words => attempt.packed_integers(),
            Form::FloatBytes => attempt.packed_floats(),
            Form::Bytes => attempt.bytes(),
            Form::Unknown => {
                Err(format!("weight_packed is {}, expected I32 or U8", self.codes.1.stored.name()))
            }
        }
    }
}

/// How a layout is decoded, its tensors being `parts`.
fn recipe(layout: &Layout, settings: &Settings, parts: &[Part]) -> Arc<dyn Recipe> {
    let part = |role: &str| parts.iter().position(|part| part.role == role).unwrap_or(0);
    let grid = |part: usize, dtype: DType| match layout.cells {
        Cells::All => Grid::single(part, dtype),
        Cells::Rows { cells, .. } => Grid::rows(part, dtype, cells),
        Cells::Blocks { band, cells, .. } => {
            Grid { part, dtype, matrix: u64::MAX, band, bands: u64::MAX, cells }
        }
    };
    let (columns, rows) = (layout.columns(), layout.rows());
    let cells = layout.cells.across();
    let group = match layout.cells {
        Cells::All => columns,
        Cells::Rows { group, .. } | Cells::Blocks { group, .. } => group,
    };
    let scale = grid(part("scale"), layout.scale);
    let zeros = part("zero point");
    let zero = match layout.zero {
        ZeroKind::None => Zero::None,
        ZeroKind::Bytes => Zero::Plain(grid(zeros, DType::I8)),
        ZeroKind::Floats(dtype) => Zero::Floats(grid(zeros, dtype)),
        ZeroKind::Packed { bits, stream } => {
            let words = PackedZeros::words_for(rows, bits, stream);
            Zero::Packed(PackedZeros { part: zeros, bits, stream, rows, words, cells })
        }
    };
    let order = (layout.order == Columns::Listed).then(|| {
        let list = OnceLock::new();
        Order { part: part("group index"), columns, groups: cells, group, list }
    });
    let ordered = order.is_some();
    let factors: Box<dyn Factors> = match (zero, order) {
        (Zero::None, None) if layout.codes == (Kind::E2m1 { global: true }) => {
            let global = Some(Grid::single(part("global scale"), DType::F32));
            Box::new(Scales { global, cell: Cell::OverGlobal, ..Scales::plain(scale) })
        }
        (Zero::None, None) => Box::new(Scales::plain(scale)),
        (Zero::Plain(offset), None) => {
            Box::new(Scales { offset: Some(offset), ..Scales::plain(scale) })
        }
        (zero, order) => Box::new(Arranged { scale, zero, order }),
    };
    let arithmetic = match layout.zero {
        ZeroKind::None => Arithmetic::Times,
        _ => Arithmetic::MinusTimes,
    };
    let matrix = Matrix {
        codes: codes(layout.codes),
        columns,
        row_bytes: layout.row_bytes,
        group: if ordered { 1 } else { group },
        factors,
        arithmetic,
        native: layout.native,
        choice: choice(layout, ordered || settings.are_calibrated(), settings.are_clipped()),
    };
    let groups = || PackedGroups::of(layout, parts, zero, !settings.quantizes_activations(false));
    if let Some(dtype) = layout.stated {
        let shape = layout.shape.clone();
        let recipe = Stated { matrix, part: part("shape"), dtype, shape };
        return Arc::new(WithCodes { recipe, codes: groups() });
    }
    match flat_codes(layout, group, cells, ordered) {
        Some(codes) => {
            let has_activations = settings.quantizes_activations(true);
            let kept_from = has_activations.then_some((Taker::Layout, ACTIVATIONS));
            Arc::new(WithCodes { recipe: matrix, codes: FlatCodes { kept_from, ..codes } })
        }
        None => Arc::new(WithCodes { recipe: matrix, codes: groups() }),
    }
}

/// Its codes, if they are four-bit floats that another scheme may have just so.
fn flat_codes(layout: &Layout, group: u64, cells: u64, ordered: bool) -> Option<FlatCodes> {
    let Kind::E2m1 { global } = layout.codes else { return None };
    let columns = layout.columns();
    let is_flat = layout.row_bytes * 2 == columns && cells * group == columns;
    // The factor stands behind the scales.
    let global = global.then_some(Global { part: 2, divides: true, input: "input_global_scale" });
    let codes = FlatCodes::new(&layout.shape, (group, layout.scale), true);
    let is_plain = layout.zero == ZeroKind::None && !ordered;
    (is_flat && is_plain).then_some(FlatCodes { global, ..codes })
}

/// How codes were chosen. Integers may have been chosen together; nothing but an order of columns
/// says so, and most are without one.
fn choice(layout: &Layout, by_samples: bool, clipped: bool) -> Choice {
    let has_zeros = layout.zero != ZeroKind::None;
    // Codes are rounded as the scale puts the largest number half a code beyond the last; a zero
    // point is rounded, too.
    let beyond = match has_zeros {
        _ if clipped => f32::MAX,
        true => 1.3,
        false => 0.7,
    };
    let bits = match layout.codes {
        Kind::Packed(bits, _) => bits,
        _ => 8,
    };
    Choice::Nearest(match layout.codes {
        Kind::Packed(..) | Kind::Byte if by_samples => return Choice::Together(calibrated(bits)),
        Kind::Packed(..) | Kind::Byte => {
            let loss = Loss::rounded_to(layout.scale).beyond(beyond);
            return Choice::Either(loss, calibrated(bits));
        }
        Kind::Float(DType::F8_E4M3) if layout.scale == DType::F8_E8M0 => Loss::of_powers(448.0),
        Kind::Float(dtype) => {
            let highest = if dtype == DType::F8_E4M3 { 448.0 } else { 57344.0 };
            Loss::rounded_to(layout.scale).beyond(highest / 224.0)
        }
        Kind::E2m1 { global: true } => Loss::of_small_scales(true),
        Kind::E2m1 { global: false } => Loss::of_powers(6.0),
        Kind::E2m3 => Loss::of_powers(7.5),
    })
}

#[allow(clippy::cast_possible_wrap)] // A byte is read as signed on purpose.
pub(super) fn codes(kind: Kind) -> Codes {
    match kind {
        Kind::Packed(bits, packing) => {
            let half = f32::from(1u8 << (bits - 1));
            Codes::new(packing, |code| f32::from(code) - half)
        }
        Kind::Byte => Codes::new(Packing::Bytes, |code| f32::from(code as i8)),
        Kind::Float(dtype) => Codes::new(Packing::Bytes, |code| plain::number(dtype, &[code], 0)),
        Kind::E2m1 { .. } => FLOATS4.clone(),
        Kind::E2m3 => six_bits::codes(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_floats_are_those_of_the_standard() {
        let all = codes(Kind::E2m1 { global: false }).numbers;
        let positive = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        assert_eq!(all[..8], positive);
        assert!(all[8..16].iter().zip(positive).all(|(a, b)| a.to_bits() == (-b).to_bits()));
        assert!(
            [(31, 7.5), (8, 1.0), (7, 0.875), (63, -7.5)]
                .iter()
                .all(|&(c, v)| codes(Kind::E2m3).numbers[c] == v)
        );
    }
}
