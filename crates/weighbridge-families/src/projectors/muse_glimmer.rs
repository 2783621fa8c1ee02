//! Muse Glimmer: patches of several images at once.

use super::projector::*;

pub(super) const MUSE_GLIMMER: Projector = Projector {
    shown: "muse_glimmer",
    classes: &["MuseGlimmerForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 50,
        "num_attention_heads": 16, "patch_size": 14, "pos_emb_height": 32, "patch_temporal": 2, "merge_size": 2,
        "layer_norm_eps": 1e-5}}"#,
    settle: |facts| {
        let sides = ["pos_emb_height", "patch_size", "merge_size"];
        let size = sides.iter().try_fold(1, |size: u64, side| {
            needed(&facts.vision, side).map(|side| size.saturating_mul(side))
        })?;
        set(&mut facts.vision, "image_size", size);
        Ok(())
    },
    starts: &[("model.vision_tower.", "vision."), ("model.vision_", "mm.")],
    rows: &[&[
        ("vision.patch_embedder.patch_embedding.weight", &["v.patch_embd.weight"], Read(summed)),
        ("vision.patch_embedder.position_embedding_table", &["v.position_embd"], Plain),
        ("vision.ln_pre", &["v.pre_ln"], Plain),
        ("vision.ln_post", &["v.post_ln"], Plain),
        ("vision.layers.#.norm1", &["v.blk.#.ln1"], Plain),
        ("vision.layers.#.norm2", &["v.blk.#.ln2"], Plain),
        ("vision.layers.#.attn.q_proj", &["v.blk.#.attn_q"], Pairs),
        ("vision.layers.#.attn.k_proj", &["v.blk.#.attn_k"], Pairs),
        ("vision.layers.#.attn.v_proj", &["v.blk.#.attn_v"], Plain),
        ("vision.layers.#.attn.proj", &["v.blk.#.attn_out"], Plain),
        ("vision.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
        ("vision.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
        ("mm.adapter.fc1", &["mm.0"], Plain),
        ("mm.adapter.fc2", &["mm.1"], Plain),
        ("mm.projection", &["mm.2"], Plain),
    ]],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("muse-glimmer")),
            (EPSILON, Number, Vision(&["layer_norm_eps"])),
            (MERGE, Count, Vision(&["merge_size"])),
        ],
    ],
    assumes: &[("vision.hidden_act", &["gelu"], "computes `gelu`")],
    needs: &[
        "mm.0.weight",
        "mm.1.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
        "v.pre_ln.weight",
    ],
    ..PROJECTOR
};

/// A kernel for one image: the sum of those for each of several.
fn summed(facts: &Facts<'_>, shape: &[u64], numbers: &[f32]) -> Option<(Vec<u64>, Vec<f32>)> {
    let &[outputs, _] = shape else { return None };
    let side = count(&facts.vision, "patch_size")?;
    let times = count(&facts.vision, "patch_temporal").filter(|times| [1, 2].contains(times))?;
    let image = usize::try_from(side.checked_mul(side)?.checked_mul(3)?).ok()?;
    let all = image.checked_mul(usize::try_from(times).ok()?).filter(|all| *all > 0)?;
    let fits = shape[1] == all as u64;
    let sums = numbers.chunks_exact(all).flat_map(|row| {
        let (first, second) = row.split_at(image);
        let second = second.iter().copied().chain(std::iter::repeat(0.0));
        first.iter().zip(second).map(|(one, other)| one + other)
    });
    fits.then(|| (vec![outputs, 3, side, side], sums.collect()))
}
