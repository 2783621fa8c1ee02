//! Grok 2. Its class is called after the first one.

use super::family::*;
use super::grok::{GROK, NEW, OLD};

pub(super) const GROK2: Family = Family {
    classes: &["Grok1ForCausalLM"],
    types: &["grok-2"],
    prefix: "model.",
    rows: &[NEW, OLD],
    ..GROK
};
