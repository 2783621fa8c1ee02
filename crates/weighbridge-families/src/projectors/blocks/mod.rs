//! The words that several classes are described with.

mod keys;
mod qwen;
mod siglip;

pub(crate) use super::facts::{count, given, needed, odd, rename, set, set_default};
pub(crate) use super::keys::first;
pub(crate) use super::rows::colours;
pub(crate) use keys::*;
pub(crate) use qwen::*;
pub(crate) use siglip::*;
