//! The families: one file each, and one line in the table.
//!
//! A family's file says all that is known about it: what configs and GGUF files call it, its tensors
//! and how their values lie, its entries and where their values are, what transformers fills in,
//! its tokenizer, and the way back. `blocks` has the words that several families are described with.

use serde_json::Value as Json;

mod about;
mod account;
mod blocks;
mod defaults;
mod evidence;
mod family;
mod listed;
mod nearest;
mod settings;
#[cfg(test)]
mod tokenizers;
mod told;
mod unsupported;

pub use about::{About, NextCount, Parameters};
pub(crate) use account::account;
pub(crate) use blocks::*;
pub(crate) use family::DropsHead;
pub use family::Family;
pub use listed::{Listed, Run, listed, missing_class, missing_classes};
pub use nearest::nearest;
pub(crate) use settings::{text_part, whole};
pub use told::{Ask, Told};
pub(crate) use told::{as_json, in_any_layer, in_first_layer};
pub(crate) use unsupported::advised;
pub use unsupported::unsupported_family;

/// The families, one line each: its file, and its name there.
macro_rules! families {
    ($($file:ident::$family:ident,)*) => {
        $(mod $file;)*

        /// Every family that is known.
        pub static FAMILIES: &[Family] = &[$($file::$family),*];

        /// The file and the name of each, in the same order.
        const NAMES: &[(&str, &str)] = &[$((stringify!($file), stringify!($family))),*];
    };
}

// Of those with one architecture, the ones that files tell by more come first.
families! {
    mixtral::MIXTRAL,
    mistral::MISTRAL,
    llama::LLAMA,
    qwen2::QWEN2,
    qwen2_moe::QWEN2_MOE,
    qwen3::QWEN3,
    qwen3_moe::QWEN3_MOE,
    qwen3_5::QWEN3_5,
    qwen3_5_moe::QWEN3_5_MOE,
    gemma::GEMMA,
    gemma2::GEMMA2,
    gemma3::GEMMA3,
    phi3::PHI3,
    granite::GRANITE,
    smollm3::SMOLLM3,
    olmo3::OLMO3,
    olmo2::OLMO2,
    starcoder2::STARCODER2,
    cohere::COHERE,
    cohere2::COHERE2,
    gpt_oss::GPT_OSS,
    glm4::GLM4,
    glm4_moe::GLM4_MOE,
    deepseek_v3::DEEPSEEK_V3,
    deepseek_v2::DEEPSEEK_V2,
    llama4::LLAMA4,
    nemotron::NEMOTRON,
    arcee::ARCEE,
    gpt2::GPT2,
    stablelm::STABLELM,
    bert::BERT,
    roberta::ROBERTA,
    xlm_roberta::XLM_ROBERTA,
    nomic_bert::NOMIC_BERT,

    // Gemma and its relatives.
    gemma_embedding::GEMMA_EMBEDDING,
    gemma3n::GEMMA3N,
    gemma4::GEMMA4,
    gemma4_unified::GEMMA4_UNIFIED,
    gemma4_assistant::GEMMA4_ASSISTANT,

    // Encoders, and what has one.
    t5::T5,
    mt5::MT5,
    umt5::UMT5,
    t5_encoder::T5_ENCODER,
    modern_bert::MODERN_BERT,
    distilbert::DISTILBERT,
    camembert::CAMEMBERT,
    eurobert::EUROBERT,
    llama_embed::LLAMA_EMBED,
    neo_bert::NEO_BERT,
    jina_bert_v2::JINA_BERT_V2,
    nomic_bert_moe::NOMIC_BERT_MOE,
    wavtokenizer_dec::WAVTOKENIZER_DEC,

    // Latent attention, and the models of Bailing and MiniCPM.
    glm4_moe_lite::GLM4_MOE_LITE,
    glm_moe_dsa::GLM_MOE_DSA,
    deepseek_v32::DEEPSEEK_V32,
    deepseek_ocr::DEEPSEEK_OCR,
    kimi_k25::KIMI_K25,
    kimi_vl::KIMI_VL,
    kimi_linear::KIMI_LINEAR,
    glm5_next::GLM5_NEXT,
    youtu::YOUTU,
    youtu_vl::YOUTU_VL,
    deepseek::DEEPSEEK,
    dots1::DOTS1,
    minicpm::MINICPM,
    minicpm3::MINICPM3,
    plm::PLM,
    minimax_m2::MINIMAX_M2,
    minimax_m3::MINIMAX_M3,
    dots3note::DOTS3NOTE,
    bailingmoe::BAILINGMOE,
    bailingmoe2::BAILINGMOE2,

    // State spaces, and mixtures with them.
    mamba::MAMBA,
    mamba2::MAMBA2,
    granitemoe::GRANITE_MOE,
    granitehybrid::GRANITE_HYBRID,
    granite_attention::GRANITE_ATTENTION,
    granitemoe_attention::GRANITE_MOE_ATTENTION,
    bamba::BAMBA,
    jamba::JAMBA,
    falcon_h1::FALCON_H1,
    nemotron_h::NEMOTRON_H,
    nemotron_h_moe::NEMOTRON_H_MOE,
    granite_swa::GRANITE_SWA,
    granitemoe_swa::GRANITE_MOE_SWA,

    // Short convolutions, RWKV and PLaMo.
    rwkv6::RWKV6,
    rwkv7::RWKV7,
    rwkv6_qwen2::RWKV6_QWEN2,
    arwkv7::ARWKV7,
    lfm2::LFM2,
    lfm2_moe::LFM2_MOE,
    plamo2::PLAMO2,
    plamo3::PLAMO3,
    rnd1::RND1,

    // Text models of multimodal ones.
    mistral3::MISTRAL3,
    mistral4::MISTRAL4,
    qwen2_vl::QWEN2_VL,
    qwen3_vl::QWEN3_VL,
    qwen3_vl_moe::QWEN3_VL_MOE,
    qwen3_asr::QWEN3_ASR,
    qwen3_omni_moe::QWEN3_OMNI_MOE,
    qwen3_next::QWEN3_NEXT,
    hunyuan_vl::HUNYUAN_VL,
    paddleocr::PADDLEOCR,
    chameleon::CHAMELEON,
    glm4v::GLM4V,
    glm_ocr::GLM_OCR,
    glm4v_moe::GLM4V_MOE,
    solar_open::SOLAR_OPEN,
    minicpmv4_6::MINICPMV4_6,
    step_vl::STEP_VL,
    kormo::KORMO,
    janus::JANUS,
    sarashina2_vision::SARASHINA2_VISION,

    // Mixtures of experts.
    olmoe::OLMOE,
    ernie4_5::ERNIE4_5,
    ernie4_5_paddle::ERNIE4_5_PADDLE,
    ernie4_5_moe::ERNIE4_5_MOE,
    hy_v3::HY_V3,
    phimoe::PHIMOE,
    exaone_moe::EXAONE_MOE,
    mellum::MELLUM,
    afmoe::AFMOE,
    cohere2_moe::COHERE2_MOE,
    llada_moe::LLADA_MOE,
    grovemoe::GROVEMOE,
    smallthinker::SMALLTHINKER,
    hunyuan_dense::HUNYUAN_DENSE,
    hunyuan_moe::HUNYUAN_MOE,
    mimo2::MIMO2,
    step35::STEP35,
    laguna::LAGUNA,
    dbrx::DBRX,
    grok::GROK,
    grok2::GROK2,
    arctic::ARCTIC,

    // Decoders until 2023.
    phi2::PHI2,
    olmo::OLMO,
    gptneox::GPTNEOX,
    falcon::FALCON,
    falcon_two_norms::FALCON_TWO_NORMS,
    bloom::BLOOM,
    mpt::MPT,
    starcoder::STARCODER,
    baichuan::BAICHUAN,
    orion::ORION,
    codeshell::CODESHELL,
    refact::REFACT,
    internlm2::INTERNLM2,
    internlm3::INTERNLM3,
    xverse::XVERSE,
    qwen::QWEN,
    glm::GLM,
    chatglm::CHATGLM,
    jais::JAIS,
    rugpt3xl::RUGPT3XL,

    // Decoders since then.
    seed_oss::SEED_OSS,
    apertus::APERTUS,
    exaone4::EXAONE4,
    exaone4_5::EXAONE4_5,
    exaone::EXAONE,
    jais2::JAIS2,
    pangu_embedded::PANGU_EMBEDDED,
    dream::DREAM,
    llada::LLADA,
    maincoder::MAINCODER,
    nanbeige::NANBEIGE,
    deci::DECI,
    openelm::OPENELM,
    talkie::TALKIE,

    // Others.
}

/// Further models whose weights mlx-lm 0.32.2 takes as transformers saves them, by their `model_type`.
const OTHERS_OF_MLX: &[&str] = &["helium", "mimo"];

/// Whether a library, by its name, takes the weights of models of a `model_type` as transformers saves
/// them. Only mlx-lm is known.
#[must_use]
pub fn takes_as_saved(library: &str, model_type: &str) -> bool {
    let takes = match of_type(model_type) {
        Some(family) => family.mlx,
        None => OTHERS_OF_MLX.contains(&model_type),
    };
    library == "mlx-lm" && takes
}

/// The family whose language model has a `model_type` of its own.
fn of_type(model_type: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.types.first() == Some(&model_type))
}

/// The family that a config or a GGUF file calls by that name.
pub(crate) fn called(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.is_called(name))
}

/// Hugging Face's names of modules with an embedding of tokens.
pub(crate) fn embeddings() -> Vec<&'static str> {
    let rows = FAMILIES.iter().flat_map(|family| family.rows.iter().copied().flatten());
    let mut all: Vec<&str> = rows.filter(|row| row.1 == ["token_embd"]).map(|row| row.0).collect();
    // A name that ends as another one does comes before that.
    all.sort_by_key(|module| std::cmp::Reverse(module.len()));
    all.dedup();
    all
}

/// Which row of a model's table of positions is the first that a token has.
pub(crate) fn first_position(config: &Json) -> u64 {
    match config["model_type"].as_str().and_then(called) {
        Some(family) if family.pads_positions => behind_padding(&settings(config)),
        _ => 0,
    }
}

/// Classes that tell more than that of the language model within them.
const WHOLE_CLASSES: &[&str] = &[
    "StepVLForConditionalGeneration",
    "Sarashina2VisionForCausalLM",
    "Exaone4_5_ForConditionalGeneration",
    "Step3p7ForConditionalGeneration",
    "KimiK3ForConditionalGeneration",
    "DeepseekOCRForCausalLM",
    "DeepseekOCR2ForCausalLM",
    "UnlimitedOCRForCausalLM",
];

/// The family of a model: by the class of its language part, by its class, or by its type.
#[must_use]
pub fn of_config(config: &Json) -> Option<&'static Family> {
    let class = |config: &Json| config["architectures"][0].as_str().map(str::to_owned);
    let text = text_part(config);
    let whole = class(config).filter(|class| WHOLE_CLASSES.contains(&class.as_str()));
    let stated = whole.or_else(|| text.and_then(class)).or_else(|| class(config));
    let is_of = |family: &Family, config: &Json| {
        config["model_type"].as_str().is_some_and(|own| family.types.contains(&own))
    };
    let fitting = || FAMILIES.iter().filter(|family| (family.fits)(text.unwrap_or(config)));
    let Some(class) = stated else { return fitting().find(|family| is_of(family, config)) };
    let mut known = fitting().filter(|family| family.classes.contains(&class.as_str()));
    // One class around several language models: their own type tells which.
    let inner = text.and_then(|text| known.clone().find(|family| is_of(family, text)));
    inner.or_else(|| known.next())
}

/// A config with everything that transformers fills in.
pub(crate) fn settings(config: &Json) -> Settings {
    let reads = of_config(config).is_none_or(|family| !family.as_stated);
    Settings::of(config, |model_type| of_type(model_type).filter(|_| reads)?.defaults.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    #[rustfmt::skip]
    fn models_that_mlx_lm_rearranges_are_known() {
        let taken = [
            "apertus", "cohere", "cohere2", "ernie4_5", "exaone", "exaone4", "gemma", "gemma2",
            "gemma3_text", "glm", "glm4", "gpt_neox", "granite", "helium", "hunyuan_v1_dense",
            "internlm2", "internlm3", "llama", "mimo", "mistral", "nemotron", "olmo", "olmo2", "olmo3",
            "phi", "phi3", "qwen2", "qwen3", "seed_oss", "smollm3", "stablelm", "starcoder2",
        ];
        assert!(taken.iter().all(|model_type| takes_as_saved("mlx-lm", model_type)));
        let types = FAMILIES.iter().flat_map(|family| family.types);
        for model_type in types.chain(&["gpt2", "other"]).filter(|own| !taken.contains(own)) {
            assert!(!takes_as_saved("mlx-lm", model_type), "{model_type}");
        }
        assert!(!takes_as_saved("another", "llama"));
    }

    #[test]
    fn positions_begin_behind_padding() {
        assert_eq!(first_position(&json!({ "model_type": "bert", "pad_token_id": 3 })), 0);
        assert_eq!(first_position(&json!({ "model_type": "roberta" })), 2);
        assert_eq!(first_position(&json!({ "model_type": "xlm-roberta", "pad_token_id": 4 })), 5);
        let none = json!({ "model_type": "xlm-roberta", "pad_token_id": null });
        assert_eq!(first_position(&none), 0);
    }
}
