//! Moves weights from one scheme to another without decoding them.
//!
//! Several schemes store the same data in different orders: integers or four-bit floats (E2M1), one
//! scale per group of a row, perhaps zero points. The recipe of one scheme exposes them in a common
//! form ([`GroupedCodes`]), and another scheme packs them into its own ([`TargetLayout`],
//! [`Packer`]). No scheme knows another. A recipe states that it has such codes
//! ([`Recipe::codes`](crate::framework::Recipe::codes)); a scheme lists its layouts
//! ([`Scheme::layouts`](crate::framework::Scheme::layouts)).

mod grouped;
mod layout;

pub use grouped::{
    CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, NOT_MOVED, Taker,
};
pub use layout::{
    CodedWeight, LaidOut, LayoutMismatch, Order, PackedWeight, Packer, Panel, TargetLayout,
    ToLayOut,
};
