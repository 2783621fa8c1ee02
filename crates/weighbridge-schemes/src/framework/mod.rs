//! The framework that schemes plug into: their input, their bids, and how bids are settled.
//!
//! A scheme sees all stored tensors of a model and the configs next to them ([`Evidence`]). It
//! *bids* for the groups it recognises (`x.qweight` + `x.scales` + ..). Every stored tensor ends up
//! in exactly one weight, is plain, or is dropped for a stated reason. Two bids for one tensor are
//! a finding, so the order of schemes does not matter.

pub(crate) mod activation_scales;
mod beside;
mod bid;
mod candidate;
mod choices;
mod configs;
pub(crate) mod conventions;
mod encoder;
mod endings;
mod evidence;
#[macro_use]
mod facts;
mod importance;
mod ledger;
pub(crate) mod loader_faults;
pub(crate) mod match_budget;
mod method;
mod origins;
pub(crate) mod parts;
mod quantizer;
pub(crate) mod recipe;
#[macro_use]
mod refusal;
mod registry;
pub(crate) mod repack;
mod roster;
mod scheme;
mod settle;
mod stale;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod unclaimed;

pub use beside::{Additions, ConfigFile, Holds, SHARED, Traces};
pub use bid::{Bid, Bids, Part};
pub use candidate::Candidate;
pub use choices::SchemeChoice;
pub use configs::Configs;
pub use encoder::{Decoded, EncodedTensor, Encoder, Groups, SameLevels, WeightEncoder};
pub use evidence::{Evidence, StoredTensor, TensorId};
pub use importance::{Even, Importance};
pub use ledger::{Entry, Ledger};
pub use loader_faults::{LoaderFault, StoredModel};
pub use match_budget::MatchBudget;
pub use method::{Method, Sign};
pub use origins::{Origins, Portion, RowRule, Rule};
pub use quantizer::{Chosen, Largest, QuantizeWishes, Quantizer, Request, TypeAssignment};
pub use recipe::Recipe;
pub use registry::{PLAIN, Registry};
pub use repack::{
    CodeNumbers, CodedWeight, Extract, Global, GroupedCodes, GroupedForm, Kind, LaidOut,
    LayoutMismatch, NOT_MOVED, Order, PackedWeight, Packer, Panel, Taker, TargetLayout, ToLayOut,
};
pub(crate) use roster::Roster;
pub use scheme::Scheme;
pub use summary::Summary;
