//! The words that several classes are described with.

mod conformer;
mod keys;
mod moonvit;
mod omni;
mod parakeet;
mod pixtral;
mod qformer;
mod qwen;
mod resized;
mod shapes;
mod siglip;
mod whisper;

pub(crate) use super::facts::{count, given, needed, odd, rename, set, set_default, whole_inverse};
pub(crate) use super::keys::first;
pub(crate) use super::rows::colours;
pub(crate) use conformer::*;
pub(crate) use keys::*;
pub(crate) use moonvit::*;
pub(crate) use omni::*;
pub(crate) use parakeet::*;
pub(crate) use pixtral::*;
pub(crate) use qformer::*;
pub(crate) use qwen::*;
pub(crate) use resized::*;
pub(crate) use shapes::*;
pub(crate) use siglip::*;
pub(crate) use whisper::*;
