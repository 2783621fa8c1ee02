//! What several families of Granite have.

use serde_json::Value as Json;

use super::experts::GATE_UP_EXPERTS;
use super::keys::Get::Made;
use super::keys::KeyRow;
use super::keys::Type::{Count, Number};
use super::keys::nonzero;
use super::rows::How::{Experts, Own, Plain, Stacked};
use super::rows::{Laid, Lay, Place, Row};
use crate::families::settings::Settings;
use crate::view::View;

/// Experts, with gate and up in one stack.
pub(crate) const GRANITE_EXPERTS: &[Row] = &[
    ("layers.#.block_sparse_moe.router.layer", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.input_linear", GATE_UP_EXPERTS, Stacked),
    ("layers.#.block_sparse_moe.output_linear", &["blk.#.ffn_down_exps"], Experts),
];

/// What sees every token: beside experts, or in their place.
pub(crate) const GRANITE_SHARED: &[Row] = &[
    ("layers.#.shared_mlp.input_linear", GATE_UP, Own(Lay(gate_up))),
    ("layers.#.shared_mlp.output_linear", DOWN, Own(Lay(down))),
];

const GATE_UP: &[&str] =
    &["blk.#.ffn_gate_shexp", "blk.#.ffn_up_shexp", "blk.#.ffn_gate", "blk.#.ffn_up"];
const DOWN: &[&str] = &["blk.#.ffn_down_shexp", "blk.#.ffn_down"];

/// How a model of Granite scales what it computes.
pub(crate) const GRANITE_SCALES: &[KeyRow] = &[
    ("attention.scale", Number, Made(|settings| nonzero(settings, "attention_multiplier"))),
    ("embedding_scale", Number, Made(|settings| nonzero(settings, "embedding_multiplier"))),
    ("residual_scale", Number, Made(|settings| nonzero(settings, "residual_multiplier"))),
    ("logit_scale", Number, Made(|settings| nonzero(settings, "logits_scaling"))),
];

/// The inner size of what sees every token.
pub(crate) const SHARED_LENGTH: &[KeyRow] =
    &[("expert_shared_feed_forward_length", Count, Made(shared_length))];

fn shared_length(settings: &Settings) -> Option<Json> {
    nonzero(settings, "shared_intermediate_size")
}

fn has_experts(settings: &Settings) -> bool {
    settings.count("num_local_experts").is_some_and(|experts| experts > 0)
}

fn gate_up(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let each = settings.count("shared_intermediate_size")?;
    (each > 0 && each.checked_mul(2) == Some(rows)).then_some(())?;
    let first = if has_experts(settings) { 0 } else { 2 };
    let part = |at: u64| Laid {
        tensor: first + usize::from(at > 0),
        place: Place::Whole,
        view: View::part(&[each, columns], at * each),
        words: format!("rows {}..{} of {rows}", at * each, (at + 1) * each),
    };
    Some(vec![part(0), part(1)])
}

fn down(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let tensor = usize::from(!has_experts(settings));
    let whole = Laid::whole(View::whole(shape), "");
    Some(whole.into_iter().map(|laid| Laid { tensor, ..laid }).collect())
}
