//! Conventions of publishers and loaders that several schemes share.

pub(crate) mod comfy;
pub(crate) mod fused_layers;
pub(crate) mod linear_choice;
pub(crate) mod linear_layers;
pub(crate) mod modelopt;
pub(crate) mod turned_layers;
