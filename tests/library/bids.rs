//! Headers of schemes that are known and not decoded: each is named, accounted for and refused.

use serde_json::json;
use weighbridge::{OpenOptions, Stores};

use crate::common::ledger::check_ledger;

/// A header like those of a scheme that is known and not decoded.
struct Header {
    /// The variant, the logical shape of `m.weight`.
    variant: &'static str,
    shape: &'static [u64],
    /// `quantization_config` of its `config.json`, the file's metadata, another config.
    config: serde_json::Value,
    metadata: serde_json::Value,
    beside: Option<(&'static str, serde_json::Value)>,
    tensors: &'static [(&'static str, &'static str, &'static [u64])],
    /// Contents of tensors that are read.
    contents: Vec<(&'static str, Vec<u8>)>,
}

fn header(
    variant: &'static str,
    shape: &'static [u64],
    tensors: &'static [(&'static str, &'static str, &'static [u64])],
) -> Header {
    let none = serde_json::Value::Null;
    Header {
        variant,
        shape,
        config: none.clone(),
        metadata: none,
        beside: None,
        tensors,
        contents: Vec::new(),
    }
}

fn with_method(method: &str, header: Header) -> Header {
    Header { config: json!({ "quant_method": method }), ..header }
}

fn file_of(header: &Header) -> Vec<u8> {
    let width = |dtype: &str| match dtype {
        "I64" => 8,
        "I32" | "F32" | "U32" => 4,
        "I16" | "F16" | "BF16" => 2,
        _ => 1,
    };
    let (mut entries, mut data) = (serde_json::Map::new(), Vec::new());
    if !header.metadata.is_null() {
        entries.insert("__metadata__".into(), header.metadata.clone());
    }
    for (name, dtype, shape) in header.tensors {
        let start = data.len();
        let bytes = shape.iter().product::<u64>() * width(dtype);
        match header.contents.iter().find(|(other, _)| other == name) {
            Some((_, contents)) => data.extend_from_slice(contents),
            None => data.resize(start + usize::try_from(bytes).unwrap(), 0),
        }
        let entry = json!({ "dtype": dtype, "shape": shape, "data_offsets": [start, data.len()] });
        entries.insert((*name).to_owned(), entry);
    }
    let mut text = serde_json::to_vec(&entries).unwrap();
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut file = u64::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    file.extend(text);
    file.extend(data);
    file
}

fn headers() -> Vec<Header> {
    [codebooks(), layouts_of_kernels(), layouts_of_libraries()].into_iter().flatten().collect()
}

/// Codes that stand for vectors, or whose rows are transformed.
#[rustfmt::skip]
fn codebooks() -> Vec<Header> {
    vec![
        with_method("exl2", header("exl2", &[64, 96], &[
            ("m.q_weight", "I32", &[12, 64]), ("m.q_scale", "I32", &[3, 8]), ("m.q_scale_max", "F16", &[3]),
            ("m.q_groups", "I16", &[6]), ("m.q_invperm", "I32", &[96]),
        ])),
        with_method("exl3", header("exl3-4bit", &[256, 128], &[
            ("m.trellis", "I16", &[8, 16, 64]), ("m.suh", "F16", &[128]), ("m.svh", "F16", &[256]), ("m.mul1", "I32", &[1]),
        ])),
        header("exl3-3bit", &[256, 128], &[
            ("m.trellis", "I16", &[8, 16, 48]), ("m.su", "I16", &[8]), ("m.sv", "I16", &[16]),
        ]),
        header("qtip", &[256, 128], &[
            ("m.trellis", "I16", &[128, 32]), ("m.SU", "F16", &[128]), ("m.SV", "F32", &[256]), ("m.tlut", "F16", &[512, 2]),
            ("m.rcp", "I64", &[]), ("m.tp_rank", "I64", &[]),
        ]),
        header("quip#", &[64, 128], &[
            ("m.Qidxs", "I64", &[64, 4]), ("m.SU", "F16", &[128]), ("m.SV", "F16", &[64]), ("m.Wscale", "F32", &[]),
            ("m.codebook_id", "I64", &[]),
        ]),
        with_method("aqlm", header("aqlm-1x16", &[32, 64], &[
            ("m.codes", "I16", &[32, 8, 1]), ("m.codebooks", "F16", &[1, 65536, 1, 8]), ("m.scales", "F16", &[32, 1, 1, 1]),
        ])),
        Header { config: json!({ "quant_method": "vptq", "config_for_layers": { "m": { "in_features": 64, "out_features": 48 } } }),
            ..header("vptq", &[48, 64], &[
                ("m.indices", "I32", &[1, 64, 3]), ("m.centroids.weight", "F16", &[1, 2048]), ("m.res_centroids.weight", "F16", &[1, 2048]),
                ("m.perm", "I16", &[64]), ("m.weight_scale", "F16", &[64]), ("m.weight_bias", "F16", &[64]),
            ]) },
        with_method("spqr", header("spqr", &[64, 128], &[
            ("m.dense_weights", "I64", &[512]), ("m.row_offsets", "I32", &[65]), ("m.col_vals", "I32", &[10]), ("m.in_perm", "I32", &[128]),
        ])),
        with_method("higgs", header("higgs", &[64, 128], &[
            ("m.weight", "I16", &[16, 128]), ("m.scales", "F16", &[64, 2]), ("m.tables", "F16", &[16]), ("m.tables2", "F16", &[16, 16, 2]),
        ])),
        with_method("eetq", header("eetq", &[64, 128], &[
            ("m.weight", "I8", &[128, 64]), ("m.weight_scales", "F16", &[64]),
        ])),
    ]
}

/// Weights laid out as one library's kernel reads them.
#[rustfmt::skip]
fn layouts_of_kernels() -> Vec<Header> {
    vec![
        header("svdquant-int4", &[128, 256], &[
            ("m.qweight", "I8", &[128, 128]), ("m.wscales", "BF16", &[4, 128]), ("m.proj_down", "BF16", &[256, 32]),
            ("m.proj_up", "BF16", &[128, 32]), ("m.smooth_factor", "BF16", &[256]), ("m.smooth_factor_orig", "BF16", &[256]),
        ]),
        header("svdquant-fp4", &[128, 256], &[
            ("m.qweight", "I8", &[128, 128]), ("m.wscales", "F8_E4M3", &[16, 128]), ("m.lora_down", "BF16", &[256, 32]),
            ("m.lora_up", "BF16", &[128, 32]), ("m.smooth", "BF16", &[256]), ("m.wcscales", "BF16", &[128]), ("m.wtscale", "BF16", &[1]),
        ]),
        header("nunchaku-awq", &[128, 256], &[
            ("m.qweight", "I32", &[32, 128]), ("m.wscales", "BF16", &[4, 128]), ("m.wzeros", "BF16", &[4, 128]),
        ]),
        with_method("fp_quant", header("fp_quant", &[64, 128], &[
            ("m.qweight", "U8", &[64, 64]), ("m.scales", "U8", &[64, 4]), ("m.weight_global_scale", "BF16", &[1]),
            ("m.act_global_scale", "BF16", &[1]), ("m.forward_hadamard_matrix", "BF16", &[32, 32]), ("m.backward_hadamard_matrix", "BF16", &[32, 32]),
        ])),
        with_method("fp_quant", header("fp_quant-pseudo", &[64, 128], &[
            ("m.dqweight", "BF16", &[64, 128]), ("m.forward_hadamard_matrix", "BF16", &[32, 32]),
        ])),
        header("awq-fast", &[64, 128], &[
            ("m.qweight", "I16", &[16, 128]), ("m.scales", "F16", &[8, 64]), ("m.scaled_zeros", "F16", &[8, 64]),
        ]),
        with_method("gptq", header("marlin", &[64, 128], &[
            ("m.B", "I32", &[8, 128]), ("m.s", "F16", &[1, 64]),
        ])),
        header("marlin-24", &[64, 128], &[
            ("m.B_24", "I32", &[4, 128]), ("m.B_meta", "I16", &[128, 8]), ("m.s", "F16", &[1, 64]),
        ]),
        with_method("qqq", header("qqq", &[64, 128], &[
            ("m.B", "I32", &[8, 128]), ("m.s_channel", "F32", &[1, 64]), ("m.s_group", "F16", &[1, 64]),
        ])),
    ]
}

/// Weights as libraries serialise their own tensors.
#[rustfmt::skip]
fn layouts_of_libraries() -> Vec<Header> {
    let words = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    vec![
        Header { contents: vec![("m.shape", words(&[48, 64])), ("m.nbits", words(&[4]))],
            ..with_method("hqq", header("hqq-4bit", &[48, 64], &[
                ("m.W_q", "U8", &[24, 64]), ("m.scale", "F16", &[48, 1]), ("m.zero", "F16", &[48, 1]), ("m.nbits", "I32", &[]),
                ("m.shape", "I32", &[2]), ("m.group_size", "I32", &[]), ("m.axis", "I32", &[]), ("m.packing", "U8", &[7]),
            ])) },
        Header { contents: vec![("m.shape", words(&[48, 64]))],
            ..header("sinq", &[48, 64], &[
                ("m.W_q", "U8", &[24, 64]), ("m.scale", "F16", &[48, 1]), ("m.zero", "F16", &[48, 1]), ("m.scale2", "F16", &[64]),
                ("m.shape", "I32", &[2]),
            ]) },
        Header { beside: Some(("quanto_qmap.json", json!({ "m": { "weights": "qint4", "activations": "none" } }))),
            ..header("quanto-qint4", &[64, 256], &[
                ("m.weight._data._data", "U8", &[64, 128]), ("m.weight._scale", "BF16", &[128, 1]), ("m.weight._shift", "BF16", &[128, 1]),
                ("m.bias", "BF16", &[64]), ("m.input_scale", "F32", &[]), ("m.output_scale", "F32", &[]),
            ]) },
        header("quanto", &[64, 128], &[
            ("m.weight._data", "I8", &[64, 128]), ("m.weight._scale", "BF16", &[64, 1]),
        ]),
        Header { metadata: json!({ "m.weight": "{\"_type\": \"Int4Tensor\", \"_tensor_data_names\": [\"qdata\", \"scale\", \"zero_point\"]}", "tensor_names": "[\"m.weight\"]" }),
            ..header("torchao-Int4Tensor", &[64, 128], &[
                ("m._weight_qdata", "U8", &[64, 64]), ("m._weight_scale", "BF16", &[1, 64]), ("m._weight_zero_point", "BF16", &[1, 64]),
            ]) },
        with_method("bitnet", header("bitnet", &[64, 128], &[
            ("m.weight", "U8", &[16, 128]), ("m.weight_scale", "BF16", &[1]),
        ])),
        with_method("gemma", header("gemma", &[64, 64], &[
            ("m.weight", "U8", &[64, 64]), ("m.weight_scale", "F32", &[64, 1]), ("m.input_activation_scale", "F32", &[]),
        ])),
        Header { beside: Some(("quantization_config.json", json!({ "quant_method": "sdnq", "weights_dtype": "uint4" }))),
            ..header("sdnq-uint4", &[64, 128], &[
                ("m.weight", "U8", &[4096]), ("m.scale", "F32", &[64, 4, 1]), ("m.zero_point", "F32", &[64, 4, 1]),
            ]) },
        with_method("modelopt", header("modelopt-int4", &[64, 128], &[
            ("m.weight", "U8", &[32, 128]), ("m.weight_scale", "F32", &[64, 1]), ("m.pre_quant_scale", "F32", &[128]),
        ])),
        with_method("quark", header("quark-int", &[64, 128], &[
            ("m.weight", "I32", &[128, 8]), ("m.weight_scale", "F32", &[1, 64]), ("m.weight_zero_point", "I32", &[1, 8]),
        ])),
        header("int8-scaled", &[64, 128], &[
            ("m.weight", "I8", &[64, 128]), ("m.weight_scale", "F32", &[64, 1]),
        ]),
        Header { contents: vec![("m.comfy_quant", b"{\"format\": \"int8_tensorwise\"}".to_vec())],
            ..header("comfy-int8_tensorwise", &[64, 128], &[
                ("m.weight", "I8", &[64, 128]), ("m.weight_scale", "F32", &[]), ("m.comfy_quant", "U8", &[29]),
            ]) },
        header("gptqmodel-bnb", &[4096, 1], &[
            ("m.weight", "U8", &[4096, 1]), ("m.weight_absmax", "F32", &[128]), ("m.weight_quant_map", "F32", &[16]), ("m.weight_quant_state", "U8", &[8]),
        ]),
        with_method("bitblas", header("bitblas", &[64, 64], &[
            ("m.qweight", "I8", &[64, 64]), ("m.scales", "F16", &[64, 1]), ("m.zeros", "F16", &[64, 1]),
        ])),
    ]
}

#[test]
fn what_is_known_is_named_and_refused() {
    let failures: Vec<String> = headers()
        .iter()
        .filter_map(|header| Some(format!("{}: {}", header.variant, refusal_of(header).err()?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Checks a header: an error unless it is named, accounted for and refused.
fn refusal_of(header: &Header) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    };
    write("model.safetensors", &file_of(header));
    if !header.config.is_null() {
        let config = json!({ "quantization_config": header.config });
        write("config.json", config.to_string().as_bytes());
    }
    if let Some((name, json)) = &header.beside {
        write(name, json.to_string().as_bytes());
    }
    let model = OpenOptions::new().stores(Stores::none()).open(folder.path()).unwrap();
    check_ledger(header.variant, &model);
    let findings = model.findings();
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    if kinds != ["undecodable"] {
        return Err(format!("findings {findings:?}"));
    }
    let left: Vec<_> =
        model.weights().map(|w| w.name().to_owned()).filter(|n| n != "m.bias").collect();
    if left != ["m.weight"] {
        return Err(format!("weights {left:?}"));
    }
    let weight = model.weight("m.weight").unwrap();
    let found = (weight.scheme(), weight.variant(), weight.shape());
    if found != ("known", header.variant, header.shape) {
        return Err(format!("{found:?} instead of {:?}", header.shape));
    }
    let error = weight.decode_into(&mut vec![0f32; weight.len()]).unwrap_err().to_string();
    match error.split_once(" is not supported: ") {
        Some((_, way_out)) if way_out.contains("convert") || way_out.contains("load") => Ok(()),
        _ => Err(format!("refused without a way out: {error}")),
    }
}

/// `X.scale` with one number a row, and nothing that says what it is.
#[test]
fn a_lone_scale_is_used_if_the_user_says_so() {
    use weighbridge::ops::{ConvertOptions, convert_to};
    const TENSORS: &[(&str, &str, &[u64])] =
        &[("m.weight", "F8_E4M3", &[2, 2]), ("m.scale", "F32", &[2])];
    let scale: Vec<u8> = [0.5f32, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    // 1, 2, -1 and 0.5.
    let contents = vec![("m.weight", vec![0x38, 0x40, 0xb8, 0x30]), ("m.scale", scale)];
    let file = file_of(&Header { contents, ..header("", &[], TENSORS) });
    let open = |options: OpenOptions| options.open_bytes(file.clone(), "m.safetensors").unwrap();
    let model = open(OpenOptions::new());
    let error = convert_to(&model, &ConvertOptions::new("-").to("safetensors"), Vec::new());
    let error = error.unwrap_err();
    assert_eq!(error.tensor(), Some("m.weight"));
    assert!(error.remedies().contains(&weighbridge::Remedy::StateScheme), "{error:?}");
    let model = open(OpenOptions::new().scheme(|name| name == "m.weight", "fp8/e4m3-channel"));
    assert_eq!((model.findings(), model.weights().len()), (&[][..], 1));
    let mut out = [0f32; 4];
    model.weight("m.weight").unwrap().decode_into(&mut out).unwrap();
    assert_eq!(out, [0.5, 1.0, -3.0, 1.5]);
}
