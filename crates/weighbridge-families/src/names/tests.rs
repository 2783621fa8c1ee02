//! Names alone: rules, prefixes, ties and what is left over.

use std::sync::Arc;

use serde_json::json;

use super::*;

/// A side of named shapes.
fn side<'a>(weights: &'a [(&'a str, &'a [u64])], configs: &'a [Config]) -> Side<'a> {
    let weights = weights.iter().map(|&(name, shape)| Named { name, shape }).collect();
    Side { weights, configs, metadata: Vec::new() }
}

fn config(json: serde_json::Value) -> [Config; 1] {
    [Config { name: "config.json".into(), json }]
}

/// The pairs by name, with what lies between.
fn pairs(a: &Side<'_>, b: &Side<'_>, found: &Pairing) -> Vec<(String, String, String)> {
    let name = |side: &Side<'_>, index: usize| side.weights[index].name.to_owned();
    let words = |pair: &Pair| pair.transform.clone().unwrap_or_default();
    found.pairs.iter().map(|p| (name(a, p.a), name(b, p.b), words(p))).collect()
}

fn triple(a: &str, b: &str, words: &str) -> (String, String, String) {
    (a.into(), b.into(), words.into())
}

#[test]
fn what_the_user_says_comes_before_equal_names() {
    let a = side(&[("x", &[2]), ("y", &[2]), ("old.z", &[2])], &[]);
    let b = side(&[("x", &[2]), ("y", &[2]), ("new.z", &[2])], &[]);
    let rules = Rules {
        map: vec![("x".into(), "y".into()), ("y".into(), "x".into()), ("q".into(), "x".into())],
        renames: vec![Arc::new(|name| name.replace("old", "new"))],
        ..Rules::default()
    };
    let found = pair(&a, &b, &rules);
    let expected = [triple("x", "y", ""), triple("y", "x", ""), triple("old.z", "new.z", "")];
    assert_eq!(pairs(&a, &b, &found), expected);
    assert_eq!(found.notes, ["the map names `q`, which is not in A"]);
}

#[test]
fn equal_names_of_other_shapes_pair_as_they_are() {
    let a = side(&[("x.weight", &[2, 3])], &[]);
    let b = side(&[("x.weight", &[3, 2])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert_eq!(
        (&found.pairs[0].view_a.shape[..], &found.pairs[0].view_b.shape[..]),
        (&[2, 3][..], &[3, 2][..])
    );
    let rules = Rules { transpose: Some(Arc::new(|name| name == "x.weight")), ..Rules::default() };
    let found = pair(&a, &b, &rules);
    let view = &found.pairs[0].view_b;
    assert!(view.transposed.is_some() && view.shape[..] == [2, 3] && !view.is_plain());
    assert_eq!(found.pairs[0].transform.as_deref(), Some("transpose"));
}

#[test]
fn a_prefix_of_either_side_is_found() {
    let long: [(&str, &[u64]); 3] =
        [("model.a.weight", &[2]), ("model.b.weight", &[2]), ("head", &[1])];
    let short: [(&str, &[u64]); 3] = [("a.weight", &[2]), ("b.weight", &[2]), ("head", &[1])];
    for (a, b, which) in [(&long, &short, "A"), (&short, &long, "B")] {
        let found = pair(&side(a, &[]), &side(b, &[]), &Rules::default());
        assert_eq!((found.pairs.len(), found.only_a.len(), found.only_b.len()), (3, 0, 0));
        assert_eq!(found.notes, [format!("prefix `model.` of {which}")]);
    }
}

#[test]
fn other_wrappers_on_both_sides_come_off() {
    let a = side(&[("model.language_model.norm.weight", &[2])], &[]);
    let b = side(&[("language_model.model.norm.weight", &[2])], &[]);
    assert_eq!(pair(&a, &b, &Rules::default()).pairs.len(), 1);
}

#[test]
fn a_tied_head_is_compared_with_the_embedding() {
    let with: [(&str, &[u64]); 2] =
        [("model.embed_tokens.weight", &[8, 2]), ("lm_head.weight", &[8, 2])];
    let without: [(&str, &[u64]); 1] = [("model.embed_tokens.weight", &[8, 2])];
    let (tied, untied) = (
        config(json!({"model_type": "llama", "tie_word_embeddings": true})),
        config(json!({"model_type": "llama", "tie_word_embeddings": false})),
    );
    let (a, b) = (side(&with, &[]), side(&without, &tied));
    let found = pair(&a, &b, &Rules::default());
    let words = "tied to `model.embed_tokens.weight` in B";
    assert_eq!(
        pairs(&a, &b, &found)[1],
        triple("lm_head.weight", "model.embed_tokens.weight", words)
    );
    let found = pair(&b, &a, &Rules::default());
    assert_eq!((found.pairs.len(), found.only_b.len()), (2, 0));
    // A side that says it is not tied has lost its head.
    assert_eq!(pair(&a, &side(&without, &untied), &Rules::default()).only_a, [1]);
    assert_eq!(pair(&a, &side(&without, &[]), &Rules::default()).only_a, [1]);
}

#[test]
fn a_gguf_without_a_head_runs_with_its_embedding() {
    let a = side(&[("model.embed_tokens.weight", &[8, 2]), ("lm_head.weight", &[8, 2])], &[]);
    let architecture = Value::text("llama");
    let mut b = side(&[("token_embd.weight", &[8, 2])], &[]);
    b.metadata.push(("general.architecture", &architecture));
    let found = pair(&a, &b, &Rules::default());
    assert_eq!((found.pairs.len(), found.only_a.len()), (2, 0));
    let untied = config(json!({"tie_word_embeddings": false}));
    let a = Side { configs: &untied, ..a };
    assert_eq!(pair(&a, &b, &Rules::default()).only_a, [1]);
}

#[test]
fn metadata_tells_what_stands_for_a_dropped_name() {
    let a = side(&[("decoder.weight", &[8, 2]), ("encoder.weight", &[8, 2])], &[]);
    let kept = Value::text("decoder.weight");
    let mut b = side(&[("decoder.weight", &[8, 2])], &[]);
    b.metadata.push(("encoder.weight", &kept));
    let found = pair(&a, &b, &Rules::default());
    let words = "tied to `decoder.weight` in B";
    assert_eq!(pairs(&a, &b, &found)[1], triple("encoder.weight", "decoder.weight", words));
    assert_eq!(pair(&b, &a, &Rules::default()).only_b, [0; 0]);
}

#[test]
fn a_missing_expert_is_missing() {
    let experts = "model.layers.0.mlp.experts";
    let names = [0, 1, 3].map(|n| format!("{experts}.{n}.up_proj.weight"));
    let weights: Vec<(&str, &[u64])> = names.iter().map(|name| (&**name, &[2, 4][..])).collect();
    let model = config(json!({"model_type": "qwen3_moe"}));
    let a = side(&weights, &model);
    let b = side(&[("blk.0.ffn_up_exps.weight", &[4, 2, 4])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert_eq!((found.pairs.len(), &found.only_a[..], &found.only_b[..]), (3, &[][..], &[0][..]));
    let rows: Vec<Rows> = found.pairs.iter().map(|pair| pair.view_b.rows).collect();
    assert_eq!(rows, [0, 2, 6].map(Rows::From));
    let note = "only 3 of 4 parts of `blk.0.ffn_up_exps.weight` in B have a counterpart";
    assert!(found.notes.iter().any(|own| own == note), "{:?}", found.notes);
}

#[test]
fn fused_projections_of_a_checkpoint_are_taken_apart() {
    let weights: [(&str, &[u64]); 2] = [
        ("model.layers.0.self_attn.qkv_proj.weight", &[16, 8]),
        ("model.layers.0.mlp.gate_up_proj.weight", &[12, 8]),
    ];
    let model = config(json!({
        "model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,
    }));
    let (a, b) = (
        side(&weights, &model),
        side(
            &[
                ("blk.0.attn_q.weight", &[8, 8]),
                ("blk.0.attn_k.weight", &[4, 8]),
                ("blk.0.attn_v.weight", &[4, 8]),
                ("blk.0.ffn_gate.weight", &[6, 8]),
                ("blk.0.ffn_up.weight", &[6, 8]),
            ],
            &[],
        ),
    );
    let found = pair(&a, &b, &Rules::default());
    assert_eq!((found.pairs.len(), found.only_a.len(), found.only_b.len()), (5, 0, 0));
    let heads = Rows::Heads { start: 8, heads: 1, head_rows: 4, to_halves: false };
    let rows: Vec<Rows> = found.pairs.iter().map(|pair| pair.view_a.rows).collect();
    assert_eq!(rows[1..], [heads, Rows::From(12), Rows::From(0), Rows::From(6)]);
    assert_eq!(found.pairs[1].transform.as_deref(), Some("rows 8..12 of 16, permute heads=1"));
}

#[test]
fn published_checkpoints_have_the_order_of_gguf() {
    let published: [(&str, &[u64]); 3] = [
        ("tok_embeddings.weight", &[8, 8]),
        ("layers.0.attention.wq.weight", &[8, 8]),
        ("layers.0.feed_forward.w3.weight", &[6, 8]),
    ];
    let model = config(json!({"model_type": "llama", "num_attention_heads": 2}));
    let a = side(&published, &model);
    let b = side(
        &[
            ("token_embd.weight", &[8, 8]),
            ("blk.0.attn_q.weight", &[8, 8]),
            ("blk.0.ffn_up.weight", &[6, 8]),
        ],
        &[],
    );
    let found = pair(&a, &b, &Rules::default());
    assert!(found.pairs.len() == 3 && found.pairs.iter().all(|p| p.transform.is_none()));
    let c = side(&[("model.layers.0.self_attn.q_proj.weight", &[8, 8])], &[]);
    let found = pair(&a, &c, &Rules::default());
    assert_eq!(found.pairs[0].transform.as_deref(), Some("permute heads=2"));
    assert!(found.pairs[0].view_a.is_plain() && !found.pairs[0].view_b.is_plain());
}

#[test]
fn an_unknown_family_is_named() {
    let model = config(json!({"model_type": "nobody"}));
    let a = side(&[("model.embed_tokens.weight", &[8, 8])], &model);
    let b = side(&[("token_embd.weight", &[8, 8])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert!(
        found.pairs.is_empty() && found.notes[0].contains("`nobody` is unknown"),
        "{:?}",
        found.notes
    );
}

/// Two families are `glm4` in GGUF files; the rows of one are in another order.
#[test]
fn a_config_tells_which_family_of_an_architecture_it_is() {
    let model = config(json!({"text_config": {"model_type": "glm4v_text"}}));
    let architecture = Value::text("glm4");
    let a = side(&[("model.embed_tokens.weight", &[8, 8])], &model);
    let mut b = side(&[("token_embd.weight", &[8, 8])], &[]);
    b.metadata.push(("general.architecture", &architecture));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let found = pair(a, b, &Rules::default());
        assert_eq!(found.pairs.len(), 1, "{:?}", found.notes);
    }
    let unsaid = side(&[("model.embed_tokens.weight", &[8, 8])], &[]);
    assert_eq!(pair(&unsaid, &b, &Rules::default()).pairs.len(), 1);
}

#[test]
fn what_both_models_fuse_is_one_pair() {
    let model = config(json!({"model_type": "phi3"}));
    let a = side(&[("model.layers.0.self_attn.qkv_proj.weight", &[16, 8])], &model);
    let b = side(&[("blk.0.attn_qkv.weight", &[16, 8])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert!(found.pairs.len() == 1 && found.pairs[0].transform.is_none());
}

/// Early converters dropped the dimension of one.
#[test]
fn a_vector_is_the_only_row_of_a_matrix() {
    let model = config(json!({"model_type": "qwen2_moe"}));
    let a = side(&[("model.layers.0.mlp.shared_expert_gate.weight", &[1, 8])], &model);
    let b = side(&[("blk.0.ffn_gate_inp_shexp.weight", &[8])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert_eq!(found.pairs[0].view_a.shape, found.pairs[0].view_b.shape);
}

#[test]
fn without_head_counts_rows_stay_and_that_is_said() {
    let model = config(json!({"model_type": "llama"}));
    let a = side(&[("model.layers.0.self_attn.q_proj.weight", &[8, 8])], &model);
    let b = side(&[("blk.0.attn_q.weight", &[8, 8])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert!(found.pairs[0].view_a.is_plain());
    assert!(
        found.notes.iter().any(|note| note.contains("number of attention heads")),
        "{:?}",
        found.notes
    );
}

/// Files from before keys and values were told apart have the weight as it is.
#[test]
fn keys_and_values_that_both_models_keep_together_are_one_pair() {
    let model = config(json!({
        "model_type": "deepseek_v3", "num_attention_heads": 2, "qk_nope_head_dim": 3,
    }));
    let a = side(&[("model.layers.0.self_attn.kv_b_proj.weight", &[10, 4])], &model);
    let b = side(&[("blk.0.attn_kv_b.weight", &[10, 4])], &[]);
    let found = pair(&a, &b, &Rules::default());
    assert!(found.pairs.len() == 1 && found.pairs[0].transform.is_none());
    let parts: [(&str, &[u64]); 2] =
        [("blk.0.attn_k_b.weight", &[2, 4, 3]), ("blk.0.attn_v_b.weight", &[2, 2, 4])];
    let found = pair(&a, &side(&parts, &[]), &Rules::default());
    assert_eq!((found.pairs.len(), found.only_a.len(), found.only_b.len()), (3, 0, 0));
    assert!(found.pairs.iter().all(|pair| pair.view_a.shape == pair.view_b.shape));
}

/// Only the model's own config tells that a layer is not one of its own.
#[test]
fn a_layer_that_is_lost_is_missing() {
    let names = [0, 1].map(|layer| format!("model.layers.{layer}.input_layernorm.weight"));
    let weights: Vec<(&str, &[u64])> = names.iter().map(|name| (&**name, &[4][..])).collect();
    let b = || side(&[("blk.0.attn_norm.weight", &[4])], &[]);
    let layers = Value::Unsigned(32, 1);
    for (family, count, missing) in
        [("deepseek_v3", 1, 0), ("deepseek_v3", 2, 1), ("qwen2", 1, 1), ("deepseek_v3", 0, 1)]
    {
        let mut json = json!({"model_type": family, "num_hidden_layers": count});
        if count == 0 {
            json = json!({"model_type": family});
        }
        let (model, mut b) = (config(json), b());
        b.metadata.push(("deepseek2.block_count", &layers));
        let found = pair(&side(&weights, &model), &b, &Rules::default());
        assert_eq!((found.only_a.len(), found.explained.len()), (missing, 1 - missing));
    }
}

/// What older checkpoints call weight and bias of a norm.
#[test]
fn gamma_and_beta_are_weight_and_bias() {
    let model = config(json!({"model_type": "bert"}));
    let weights: [(&str, &[u64]); 3] = [
        ("bert.embeddings.word_embeddings.weight", &[8, 4]),
        ("bert.embeddings.LayerNorm.gamma", &[4]),
        ("bert.embeddings.LayerNorm.beta", &[4]),
    ];
    let a = side(&weights, &model);
    let common: [(&str, &[u64]); 3] = [
        ("token_embd.weight", &[8, 4]),
        ("token_embd_norm.weight", &[4]),
        ("token_embd_norm.bias", &[4]),
    ];
    let found = pair(&a, &side(&common, &[]), &Rules::default());
    assert_eq!((found.pairs.len(), found.only_a.len(), found.only_b.len()), (3, 0, 0));
}

/// The shapes that are compared of an embedding of A and one of B, a GGUF file with so many tokens.
fn embeddings(rows_a: u64, rows_b: u64, tokens: Option<usize>, swapped: bool) -> [Vec<u64>; 2] {
    let model = config(json!({"model_type": "gemma3_text"}));
    let (shape_a, shape_b) = ([rows_a, 2], [rows_b, 2]);
    let (weights_a, weights_b) =
        ([("model.embed_tokens.weight", &shape_a[..])], [("token_embd.weight", &shape_b[..])]);
    let (a, mut b) = (side(&weights_a, &model), side(&weights_b, &[]));
    let architecture = Value::text("gemma3");
    let tokens = tokens.map(|count| Value::List(vec![Value::text("t"); count]));
    b.metadata.push(("general.architecture", &architecture));
    b.metadata.extend(tokens.iter().map(|tokens| ("tokenizer.ggml.tokens", tokens)));
    let found =
        if swapped { pair(&b, &a, &Rules::default()) } else { pair(&a, &b, &Rules::default()) };
    let [pair] = &found.pairs[..] else { panic!("{found:?}") };
    [&pair.view_a, &pair.view_b].map(|view| view.shape.to_vec())
}

#[test]
fn rows_of_no_token_are_left_out_by_the_gguf_file_only() {
    for swapped in [false, true] {
        assert_eq!(embeddings(296, 8, Some(8), swapped), [[8, 2], [8, 2]]);
    }
    assert_eq!(embeddings(8, 296, Some(296), false), [[8, 2], [296, 2]]);
    assert_eq!(embeddings(8, 296, Some(8), false), [[8, 2], [296, 2]]);
    assert_eq!(embeddings(296, 8, Some(296), false), [[296, 2], [8, 2]]);
    assert_eq!(embeddings(296, 8, None, true), [[8, 2], [296, 2]]);
}

/// Where a config does not say how many key heads there are, the class does: eight for Mixtral.
#[test]
fn key_heads_of_the_class_order_rows() {
    let name = "model.layers.0.self_attn.k_proj.weight";
    let rows_of = |model_type: &str, rows: u64| {
        let configs = config(json!({
            "model_type": model_type, "hidden_size": 64, "num_attention_heads": 16,
        }));
        let shape = [rows, 64];
        let weights = [("model.embed_tokens.weight", &[9, 64][..]), (name, &shape[..])];
        let found = to_gguf(&side(&weights, &configs), &[0, 1], None)?;
        let key = found.tensors.iter().find(|tensor| tensor.name.contains("attn_k")).unwrap();
        Ok(key.pieces[0].1.rows)
    };
    let of_heads = |heads| Rows::Heads { start: 0, heads, head_rows: 4, to_halves: false };
    for model_type in ["mixtral", "mistral"] {
        assert_eq!(rows_of(model_type, 32).unwrap(), of_heads(8));
    }
    assert_eq!(rows_of("llama", 64).unwrap(), of_heads(16));
    let error: crate::error::Error = rows_of("mixtral", 64).unwrap_err();
    assert!(error.message().contains("expected 8 heads of 4 rows (`num_key_value_heads`)"));
}
