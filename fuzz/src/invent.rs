//! A model invented from bytes: tensors under the names that schemes know, and configs in the
//! places where they look.
//!
//! ```text
//! 1 byte   tensors (0 to 15)
//! each     name, type, number of dimensions, then a byte a dimension
//! 1 byte   keys of the config (0 to 15)
//! each     where, which key, which value
//! rest     a JSON document for the quantization config if it is one, and the tensors' contents
//! ```

use serde_json::{Map, Value as Json, json};
use weighbridge::DType;
use weighbridge::catalog::{Metadata, Place, TensorInfo, element_count};
use weighbridge::internals::schemes::Config;

/// Dots and underscores are part of it: some names end a word, some a path.
const ENDINGS: &[&str] = &[
    ".weight",
    ".weight",
    ".scales",
    ".biases",
    ".qbiases",
    ".global_scale",
    ".bias",
    ".qweight",
    ".qzeros",
    ".g_idx",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight_scale_2",
    ".scale_weight",
    ".scale",
    ".scale_inv",
    ".qscale_weight",
    ".qscale_act",
    ".input_scale",
    ".activation_scale",
    ".weight_packed",
    ".weight_shape",
    ".weight_zero_point",
    ".weight_g_idx",
    ".weight_global_scale",
    ".input_global_scale",
    ".weight.absmax",
    ".weight.quant_map",
    ".weight.nested_absmax",
    ".weight.nested_quant_map",
    ".weight.quant_state.bitsandbytes__nf4",
    ".weight.quant_state.bitsandbytes__fp4",
    ".SCB",
    ".weight_format",
    ".k_scale",
    ".v_scale",
    ".comfy_quant",
    "_blocks",
    "_scales",
    ".weight_blocks",
    ".weight_scales",
    ".trellis",
    ".suh",
    ".svh",
    ".q_weight",
    ".q_scale",
    ".q_scale_max",
    ".q_groups",
    ".q_perm",
    ".codes",
    ".codebooks",
    ".scale_2",
    ".scaled_fp8",
    ".B",
    ".s",
    ".wscales",
    ".proj_down",
    ".W_q",
    ".meta",
];

const TYPES: &[DType] = &[
    DType::U32,
    DType::I32,
    DType::U8,
    DType::I8,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F8_E4M3,
    DType::F8_E5M2,
    DType::F8_E8M0,
    DType::F8_E4M3FNUZ,
    DType::I64,
    DType::I16,
    DType::Bool,
    DType::F64,
    DType::F4,
];

/// Sides that fit each other by the factors schemes use, and some that fit nothing.
const SIDES: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    16,
    20,
    24,
    32,
    40,
    48,
    64,
    90,
    96,
    128,
    129,
    160,
    192,
    256,
    320,
    384,
    512,
    1024,
    2048,
    4096,
    1 << 20,
    1 << 31,
    1 << 32,
    (1 << 32) + 1,
    1 << 61,
    u64::MAX,
];

const KEYS: &[&str] = &[
    "quant_method",
    "bits",
    "group_size",
    "mode",
    "sym",
    "desc_act",
    "checkpoint_format",
    "format",
    "weight_block_size",
    "zero_point",
    "version",
    "quant_algo",
    "dynamic",
    "modules_to_not_convert",
    "ignore",
    "config_groups",
    "load_in_4bit",
    "bnb_4bit_quant_type",
    "a",
    "b",
    "dtype",
    "torch_dtype",
    "scale_fmt",
    "activation_scheme",
    "packing_format",
    "quantization_status",
];

fn values() -> Vec<Json> {
    let weights = |bits: u32, kind: &str, strategy: &str, group: Json| json!({ "num_bits": bits, "type": kind, "strategy": strategy, "group_size": group, "symmetric": true });
    let groups = |format: &str, weights: Json| json!({ "group_0": { "targets": ["Linear"], "format": format, "weights": weights } });
    let mut values: Vec<Json> = [
        "gptq",
        "gptq_v2",
        "awq",
        "gemm",
        "fp8",
        "fbgemm_fp8",
        "modelopt",
        "compressed-tensors",
        "bitsandbytes",
        "mxfp4",
        "mxfp8",
        "nvfp4",
        "NVFP4",
        "affine",
        "metal",
        "mlx",
        "quark",
        "auto-round",
        "pack-quantized",
        "int-quantized",
        "naive-quantized",
        "float-quantized",
        "nvfp4-pack-quantized",
        "mxfp4-pack-quantized",
        "mixed-precision",
        "nf4",
        "fp4",
        "bfloat16",
        "float16",
        "float32",
        "FP8",
        "ue8m0",
        "dense",
        "",
    ]
    .map(Json::from)
    .into();
    values.extend([2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 0, -1].map(|number: i64| Json::from(number)));
    values.extend([
        json!(u64::MAX),
        json!(4.5),
        json!(null),
        json!(true),
        json!(false),
        json!([128, 128]),
        json!([0, 1]),
        json!([1, 32]),
        json!(["a", "re:.*b"]),
        json!({}),
        json!({ "bits": 8, "group_size": 32 }),
        json!({ "mode": "nvfp4" }),
        json!({ "-:a": {}, "+:.*": { "bits": 8 } }),
        groups("pack-quantized", weights(4, "int", "group", json!(32))),
        groups("pack-quantized", weights(3, "int", "channel", json!(null))),
        groups("int-quantized", weights(8, "int", "channel", json!(null))),
        groups("float-quantized", weights(8, "float", "block", json!(null))),
        groups("nvfp4-pack-quantized", weights(4, "float", "tensor_group", json!(16))),
        groups("mxfp4-pack-quantized", weights(4, "float", "group", json!(32))),
    ]);
    values
}

/// Tensors and configs.
pub struct Invented {
    /// Tensors, none of which takes more bytes than a number can say.
    pub tensors: Vec<TensorInfo>,
    /// Configs.
    pub configs: Vec<Config>,
    /// What tensors are filled with.
    pub contents: Vec<u8>,
    /// No metadata.
    pub metadata: Metadata,
}

/// Reads the description above; what is missing at the end is zero.
pub fn invent(bytes: &[u8]) -> Invented {
    let mut bytes = bytes.iter().copied();
    let mut next = || usize::from(bytes.next().unwrap_or(0));
    let count = next() % 16;
    let tensors = (0..count).filter_map(|_| tensor(&mut next)).collect();
    let values = values();
    let (mut places, mut keys) = (vec![Map::new(); PLACES], next() % 16);
    while keys > 0 {
        let (place, key, value) = (next(), next(), next());
        let key = KEYS[key % KEYS.len()].to_owned();
        places[place % PLACES].insert(key, values[value % values.len()].clone());
        keys -= 1;
    }
    let contents: Vec<u8> = bytes.collect();
    if let Ok(Json::Object(own)) = serde_json::from_slice(&contents) {
        places[0].extend(own);
    }
    Invented { tensors, configs: configs(places), contents, metadata: Metadata::default() }
}

const PLACES: usize = 7;

/// Empty places stay away.
fn configs(places: Vec<Map<String, Json>>) -> Vec<Config> {
    let mut main = Map::new();
    let mut configs = Vec::new();
    let mut put = |name: &str, json: Json| configs.push(Config { name: name.into(), json });
    for (place, map) in places.into_iter().enumerate().filter(|(_, map)| !map.is_empty()) {
        match place {
            0 => drop(main.insert("quantization_config".into(), map.into())),
            1 => drop(main.insert("quantization".into(), map.into())),
            2 => drop(main.insert("text_config".into(), json!({ "quantization_config": map }))),
            3 => drop(main.insert("compression_config".into(), map.into())),
            4 => put("quantize_config.json", map.into()),
            5 => put(
                "hf_quant_config.json",
                json!({ "producer": { "name": "modelopt" }, "quantization": map }),
            ),
            _ => main.extend(map),
        }
    }
    if !main.is_empty() {
        put("config.json", main.into());
    }
    configs
}

fn tensor(next: &mut impl FnMut() -> usize) -> Option<TensorInfo> {
    let (name, dtype, sides) = (next(), next(), next());
    let module = ["a", "b", "a.mlp.experts", ""][name % 4];
    let ending = ENDINGS[name / 4 % ENDINGS.len()];
    let name = format!("{module}{ending}").trim_start_matches('.').to_owned();
    let dtype = TYPES[dtype % TYPES.len()];
    let shape: Vec<u64> = (0..sides % 5).map(|_| SIDES[next() % SIDES.len()]).collect();
    // Containers refuse what is larger.
    let bits = element_count(&shape)?.checked_mul(dtype.bits().into())?;
    Some(TensorInfo {
        name: name.into(),
        shape: shape.into_iter().collect(),
        stored: dtype.into(),
        bytes: bits.div_ceil(8),
        place: Place::at(0),
        refused: None,
    })
}
