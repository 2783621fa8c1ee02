//! What publishers write alike whatever the scheme, and which layers of a model loaders expect in
//! fewer bits.

pub(crate) mod comfy;
pub(crate) mod fused_layers;
pub(crate) mod linear_choice;
pub(crate) mod linear_layers;
pub(crate) mod modelopt;
pub(crate) mod turned_layers;
