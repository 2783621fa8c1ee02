//! Quantized Hugging Face models as GGUF files, where llama.cpp's converter has nothing to compare
//! with: the numbers of the file are those that the model's own scheme decodes.

use std::path::{Path, PathBuf};

use serde_json::json;
use weighbridge::ops::{self, ConvertOptions, DiffOptions, Names, OutputType, QuantizeOptions};
use weighbridge::{Model, OpenOptions, Stores};

use crate::common::root;
use crate::to_gguf::{changed, config};

fn model(name: &str) -> Model {
    let path = root().join("tests/files/to-gguf").join(name).join("hf");
    OpenOptions::new().stores(Stores::none()).open(path).unwrap()
}

/// Converts a model, has the file verified, and gives it.
fn converted(model: &Model, dtype: OutputType, place: &Path) -> PathBuf {
    let out = place.join("out.gguf");
    let options = ConvertOptions::new(&out).names(Names::Gguf).dtype(dtype).verify(true);
    let report = ops::convert(model, &options).unwrap();
    assert!(report.verified.unwrap().ok);
    out
}

/// Every weight of both, by their names.
fn check(name: &str, dtype: OutputType, scheme: &str) {
    let place = tempfile::tempdir().unwrap();
    let model = model(name);
    assert!(model.weights().any(|weight| weight.scheme() == scheme), "{name}");
    let made = OpenOptions::new().open(converted(&model, dtype, place.path())).unwrap();
    let report = ops::diff(&model, &made, &DiffOptions::default()).unwrap();
    let found = &report.summary;
    assert!(report.ok && found.compared > 5, "{name}: {found:?}");
    let equal = found.identical + found.equal_after_rounding;
    // Where codes are moved, a factor beside them is multiplied with in another order.
    let moved = if dtype == OutputType::Auto { found.within_precision } else { 0 };
    assert_eq!(equal + moved, found.compared, "{name}: {found:?}");
}

macro_rules! stored {
    ($($test:ident: $name:literal $scheme:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name, OutputType::F32, $scheme);
            check($name, OutputType::Auto, $scheme);
        })*
    };
}

stored! {
    awq: "llama-awq" "awq",
    four_bits: "llama-nf4" "bnb",
    eight_bits: "llama-int8" "bnb",
    mlx: "llama-mlx" "mlx",
    one_scale: "llama-fp8-tensor" "fp8",
    a_scale_for_each_row: "llama-fp8-channel" "compressed",
    blocks: "qwen3-fp8" "fp8",
    gptq: "llama-gptq" "gptq",
    gptq_experts: "mixtral-gptq" "gptq",
    small_floats: "llama-nvfp4" "nvfp4",
    packed_small_floats: "llama-nvfp4-packed" "compressed",
    experts_of_small_floats: "qwen3_moe-nvfp4" "nvfp4",
    transposed_experts: "gpt_oss-mxfp4" "mx",
}

/// A model of an architecture whose feed-forward layers llama.cpp runs without the scales of NVFP4.
fn without_scales(family: &str) -> tempfile::TempDir {
    let mut config = config(family);
    let granite = json!({
        "model_type": "granite", "architectures": ["GraniteForCausalLM"], "logits_scaling": 8.0,
        "attention_multiplier": 0.25, "embedding_multiplier": 12.0, "residual_multiplier": 0.22,
    });
    config.as_object_mut().unwrap().extend(granite.as_object().unwrap().clone());
    changed(family, "config.json", Some(&config.to_string()))
}

/// The type of a weight of the first layer, and whether it has a scale.
fn stored(made: &Model, module: &str) -> (String, bool) {
    let tensor = |end: &str| {
        let name = format!("blk.0.{module}.{end}");
        made.sources()[0].catalog().tensors.iter().find(|info| *info.name == *name)
    };
    (tensor("weight").unwrap().stored.name().to_string(), tensor("scale").is_some())
}

const ATTENTION: [&str; 4] = ["attn_q", "attn_k", "attn_v", "attn_output"];
const FEED_FORWARD: [&str; 3] = ["ffn_gate", "ffn_up", "ffn_down"];

#[test]
fn blocks_whose_scale_llama_cpp_ignores_are_decoded() {
    for family in ["llama-nvfp4", "llama-nvfp4-packed"] {
        let (folder, place) = (without_scales(family), tempfile::tempdir().unwrap());
        let model = OpenOptions::new().stores(Stores::none()).open(folder.path()).unwrap();
        let out = place.path().join("out.gguf");
        let options = ConvertOptions::new(&out).names(Names::Gguf).verify(true);
        let report = ops::convert(&model, &options).unwrap();
        assert!(report.verified.unwrap().ok);
        let said = "3 weights are decoded, such as blk.0.ffn_down.weight: llama.cpp would ignore";
        assert!(report.notes.iter().any(|note| note.starts_with(said)), "{:?}", report.notes);
        let made = OpenOptions::new().open(&out).unwrap();
        for module in ATTENTION {
            assert_eq!(stored(&made, module), ("NVFP4".to_owned(), true), "{module}");
        }
        for module in FEED_FORWARD {
            assert_eq!(stored(&made, module), ("BF16".to_owned(), false), "{module}");
        }
        let report = ops::diff(&model, &made, &DiffOptions::default()).unwrap();
        assert!(report.ok && report.summary.compared > 5, "{:?}", report.summary);
    }
}

/// A quantizer decides about these weights, so the note of a conversion would be wrong.
#[test]
fn blocks_whose_scale_llama_cpp_ignores_get_another_type() {
    let (folder, place) = (without_scales("llama-nvfp4"), tempfile::tempdir().unwrap());
    let model = OpenOptions::new().stores(Stores::none()).open(folder.path()).unwrap();
    let out = place.path().join("out.gguf");
    let options = ConvertOptions::new(&out).names(Names::Gguf).verify(true);
    let how = QuantizeOptions::new("NVFP4").allow_requantize(true);
    let report = ops::quantize(&model, &options, &how).unwrap();
    assert!(report.verified.unwrap().ok);
    assert!(!report.notes.iter().any(|note| note.contains("decoded")), "{:?}", report.notes);
    let made = OpenOptions::new().open(&out).unwrap();
    for module in ATTENTION {
        assert_eq!(stored(&made, module), ("NVFP4".to_owned(), true), "{module}");
    }
    for module in FEED_FORWARD {
        assert_eq!(stored(&made, module), ("Q8_0".to_owned(), false), "{module}");
    }
}
