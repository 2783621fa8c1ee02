//! One module: its tensors, and what they say by themselves.

use super::config::{Args, Writer};
use super::stated;
use crate::catalog::{Shape, TensorInfo};
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{Bid, Bids, Evidence, Part, StoredTensor};

/// The tensors of one quantized module.
pub(super) struct Module<'e, 'a> {
    pub(super) evidence: &'e Evidence<'a>,
    pub(super) name: &'a str,
    pub(super) codes: StoredTensor<'a>,
    pub(super) scale: Option<StoredTensor<'a>>,
    pub(super) global: Option<StoredTensor<'a>>,
    pub(super) zero: Option<StoredTensor<'a>>,
    pub(super) order: Option<StoredTensor<'a>>,
    pub(super) shape: Option<StoredTensor<'a>>,
    /// A plain `weight` lies beside the packed one.
    pub(super) has_plain_weight: bool,
}

pub(super) type Checked<T> = Result<T, String>;

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

    pub(super) fn scale(&self) -> Checked<&'a TensorInfo> {
        self.scale.map(|(_, info)| info).ok_or_else(|| "its `weight_scale` is missing".to_owned())
    }

    /// The type of `weight_shape`, which must exist and hold so many sides.
    pub(super) fn shape_type(&self, sides: usize) -> Checked<DType> {
        let (_, info) = self.shape.ok_or("its `weight_shape` is missing")?;
        match info.stored.element() {
            Some(dtype @ (DType::I64 | DType::I32)) if info.shape[..] == [sides as u64] => {
                Ok(dtype)
            }
            _ => Err(format!("weight_shape is {}, expected {sides} integers", described(info))),
        }
    }

    /// What `weight_shape` says. It has to be read for that, so it is asked only where nothing
    /// else tells: in a model of many experts these are the most scattered bytes of all.
    pub(super) fn logical_shape(&self) -> Checked<Shape> {
        let dtype = self.shape_type(self.codes.1.shape.len())?;
        let (id, _) = self.shape.ok_or("its `weight_shape` is missing")?;
        stated::sides(dtype, &self.evidence.bytes(id)?)
    }

    pub(super) fn form(&self) -> Form {
        let codes = self.codes.1;
        if !codes.name.ends_with(".weight_packed") {
            return Form::Bytes;
        }
        match codes.stored.element() {
            Some(DType::I32) => Form::Words,
            Some(DType::U8) => Form::FloatBytes,
            _ => Form::Unknown,
        }
    }

    /// All that belongs to it, the codes first.
    pub(super) fn parts(&self) -> Vec<Part> {
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
    pub(super) fn weight_name(&self) -> String {
        if self.has_plain_weight {
            self.codes.1.name.to_string()
        } else {
            format!("{}.weight", self.name)
        }
    }

    /// A finding, and a weight that is refused for the same reason.
    pub(super) fn refuse(&self, kind: &'static str, reason: &str, bids: &mut Bids) {
        let shape = self.logical_shape().unwrap_or_else(|_| self.codes.1.shape.clone());
        let bid = Bid::refused(self.weight_name(), shape, self.parts(), reason);
        bids.refuse(self.codes.1, kind, bid);
    }
}

/// A module that is read by the arguments of a group.
pub(super) struct Attempt<'m, 'e, 'a> {
    pub(super) module: &'m Module<'e, 'a>,
    pub(super) args: &'m Args,
    /// Which packing the writer's version used.
    pub(super) writer: Writer,
}
