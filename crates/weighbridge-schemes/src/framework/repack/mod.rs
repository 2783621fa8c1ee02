//! Weights that go from one scheme to another without being decoded.
//!
//! Several schemes store the same thing in another order: whole numbers or four-bit floats (E2M1), a
//! scale for every so many of a row, perhaps zero points. The recipe of one hands them out in a common
//! form ([`GroupedCodes`]), and another scheme takes them into its own ([`TargetLayout`], [`Packer`]);
//! no scheme knows another. A recipe says that it has such codes
//! ([`Recipe::codes`](crate::framework::Recipe::codes)), a scheme lists its layouts
//! ([`Scheme::layouts`](crate::framework::Scheme::layouts)).

mod grouped;
mod layout;

pub use grouped::{
    CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, NOT_MOVED, Taker,
};
pub use layout::{
    CodedWeight, LaidOut, Order, PackedWeight, Packer, Panel, TargetLayout, ToLayOut, Unfit,
};
