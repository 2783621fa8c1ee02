//! The text model of Youtu-VL, which transformers does not know.

use super::family::*;
use super::youtu::YOUTU;

pub(super) const YOUTU_VL: Family = Family {
    classes: &["YoutuVLForConditionalGeneration"],
    types: &["youtu_vl"],
    defaults: None,
    back: None,
    ..YOUTU
};
