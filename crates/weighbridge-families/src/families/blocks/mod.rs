//! What families are described with: the words for names, values and keys that several of them have.

mod back;
mod delta;
mod encoders;
mod experts;
mod granite;
mod inert;
mod keys;
mod latent;
mod mixed;
mod normal;
mod plamo;
mod rope;
mod rope_rules;
mod rows;
mod rules;
mod rwkv;
mod scaling;
mod short;
mod state_space;
mod windows;

pub(crate) use serde_json::Value as Json;

pub(crate) use back::*;
pub(crate) use delta::*;
pub(crate) use encoders::*;
pub(crate) use experts::*;
pub(crate) use granite::*;
pub(crate) use inert::*;
pub(crate) use keys::Get::*;
pub(crate) use keys::Type::*;
pub(crate) use keys::*;
pub(crate) use latent::*;
pub(crate) use mixed::*;
pub(crate) use normal::deviations;
pub(crate) use plamo::*;
pub(crate) use rope::*;
pub(crate) use rope_rules::*;
pub(crate) use rows::How::*;
pub(crate) use rows::*;
pub(crate) use rules::*;
pub(crate) use rwkv::*;
pub(crate) use scaling::check_scaling;
pub(crate) use short::*;
pub(crate) use state_space::*;
pub(crate) use windows::*;

pub(crate) use super::about::About;
pub(crate) use super::defaults::{DEFAULTS, Defaults, Head, KeyHeads};
pub(crate) use super::settings::{Settings, whole};
pub(crate) use super::told::{Told, as_json, single};
pub(crate) use crate::catalog::Value;
pub(crate) use crate::change::Change;
pub(crate) use crate::error::{Error, Result};
pub(crate) use crate::tokenizer::{EncoderTokens, TokenizerKind as Tokenizer};
pub(crate) use crate::view::{Matrix, Rows, View};
