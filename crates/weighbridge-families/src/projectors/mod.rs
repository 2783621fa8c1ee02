//! Projectors: encoders of images and sound, as llama.cpp keeps them in a file of their own. One file a
//! class, and one line in the table.
//!
//! A class's file says all that is known about it: what configs call it, its tensors and how their values
//! lie, its entries and where their values are, what transformers fills in. `blocks` has the words
//! that several classes are described with.
//!
//! To add a class:
//!
//! 1. Read its class of llama.cpp's converter (`conversion/*.py`, the subclass of `MmprojModel`), in full, and
//!    the entries of `gguf-py/gguf/tensor_mapping.py` for its names.
//! 2. Write `projectors/NAME.rs`: a `Projector` that takes all but a few fields from `PROJECTOR`. `gemma3` and
//!    `qwen2_vl` are examples. `starts` says how names of its weights begin, and what rows have in place of that;
//!    a weight of an encoder that no row names is refused. `settle` computes settings that the converter computes.
//!    `forced` has what its `tensor_force_quant` says, by names of GGUF's. `needs` lists what llama.cpp does not
//!    load a file without, `assumes` what it takes for granted.
//! 3. Write `oracles/projectors/NAME.py`, and make the goldens:
//!    `python oracles/mmproj_models.py LLAMA_CPP tests/files/to-mmproj NAME`. The tests find them by listing.
//!    `BLESS=1 cargo test -p weighbridge-families projectors` counts them.
//! 4. `cargo test -p weighbridge-tests --test library -- to_mmproj`, with `WEIGHBRIDGE_ONLY=NAME` while working.

use serde_json::Value as Json;

mod assumed;
mod blocks;
mod facts;
mod folded;
mod keys;
mod listed;
mod needed;
mod padded;
mod projector;
mod rows;
mod translate;

pub use facts::{Facts, Repository};
pub use listed::{ListedProjector, listed};
pub use projector::Projector;
pub use translate::{MadeOf, Tensor, Translation, Wanted, translate};

/// The classes, one line each: its file, and its name there.
macro_rules! projectors {
    ($($file:ident::$projector:ident,)*) => {
        $(mod $file;)*

        /// Every class of projectors that is known.
        pub static PROJECTORS: &[Projector] = &[$($file::$projector),*];
    };
}

projectors! {
    gemma3::GEMMA3,
    qwen2_vl::QWEN2_VL,
    qwen2_5_vl::QWEN2_5_VL,
    // Qwen, Gemma, Llava and their relatives.
    exaone4_5::EXAONE4_5,
    gemma3n::GEMMA3N,
    gemma4::GEMMA4,
    gemma4_unified::GEMMA4_UNIFIED,
    glm4v::GLM4V,
    glm5_next::GLM5_NEXT,
    glm_ocr::GLM_OCR,
    idefics3::IDEFICS3,
    internvl::INTERNVL,
    lighton_ocr::LIGHTON_OCR,
    llama4::LLAMA4,
    llava::LLAVA,
    mistral3::MISTRAL3,
    qwen2_5_omni::QWEN2_5_OMNI,
    qwen2_audio::QWEN2_AUDIO,
    qwen3_asr::QWEN3_ASR,
    qwen3_omni::QWEN3_OMNI,
    qwen3_vl::QWEN3_VL,
    qwen3_5::QWEN3_5,
    qwen4_exp::QWEN4_EXP,

    // Others.
    audio_flamingo3::AUDIO_FLAMINGO3,
    bailingmoe3_vl::BAILINGMOE3_VL,
    cogvlm::COGVLM,
    deepseek4_v::DEEPSEEK4_V,
    deepseek_ocr2::DEEPSEEK_OCR2,
    deepseek_ocr::DEEPSEEK_OCR,
    dots3_note::DOTS3_NOTE,
    dots_ocr::DOTS_OCR,
    glm5v::GLM5V,
    glm_asr::GLM_ASR,
    granite4_vision::GRANITE4_VISION,
    granite_speech::GRANITE_SPEECH,
    granite_speech_plus::GRANITE_SPEECH_PLUS,
    hunyuan_vl::HUNYUAN_VL,
    janus::JANUS,
    kimi_k25::KIMI_K25,
    kimi_vl::KIMI_VL,
    lfm2_audio::LFM2_AUDIO,
    lfm2_vl::LFM2_VL,
    meralion2::MERALION2,
    mimo_v2::MIMO_V2,
    minicpmv4_6::MINICPMV4_6,
    minimax_m3::MINIMAX_M3,
    muse_glimmer::MUSE_GLIMMER,
    nemotron_vl::NEMOTRON_VL,
    paddle_ocr::PADDLE_OCR,
    phi4_v::PHI4_V,
    sarashina2_vision::SARASHINA2_VISION,
    step3_vl::STEP3_VL,
    ultravox::ULTRAVOX,
    unlimited_ocr::UNLIMITED_OCR,
    voxtral::VOXTRAL,
    youtu_vl::YOUTU_VL,
}

/// The projector of a model: by the class of its vision encoder, or by its own.
#[must_use]
pub fn of_config(config: &Json) -> Option<&'static Projector> {
    let class = |config: &Json| config["architectures"][0].as_str().map(str::to_owned);
    let class = class(&config["vision_config"]).or_else(|| class(config))?;
    PROJECTORS.iter().find(|projector| projector.classes.contains(&class.as_str()))
}
