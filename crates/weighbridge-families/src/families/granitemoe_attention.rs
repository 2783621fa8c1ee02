//! Granite 4 without state spaces, with experts. GGUF calls it a Granite with experts.

use super::family::*;
use super::granite_attention::{GRANITE_ATTENTION, chooses_experts};
use super::granitehybrid::is_all_attention;

pub(super) const GRANITE_MOE_ATTENTION: Family = Family {
    architecture: "granitemoe",
    fits: |config| is_all_attention(config) && chooses_experts(config),
    rows: &[TRUNK, ATTENTION, TWO_NORMS, GRANITE_EXPERTS, GRANITE_SHARED],
    ..GRANITE_ATTENTION
};
