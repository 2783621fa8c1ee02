//! The rows: one scheme each, sometimes two where a scheme has two sets of names.

use super::kind::Kind;
use super::{Group, details, shapes};
use crate::dtype::DType;
use crate::framework::Method;
use crate::framework::conventions::{comfy, modelopt};

const SOURCE: &str = "convert the model it was made from";

/// What rows have in common.
const USUAL: Kind = Kind {
    name: "",
    title: "",
    anchor: "",
    types: &[],
    needs: &[],
    takes: &[],
    drops: &[],
    method: &[],
    fits: |_| true,
    shape: |_| None,
    detail: |_| None,
    weight: ".weight",
    instead: SOURCE,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const EIGHT_BITS: [DType; 5] =
    [DType::I8, DType::F8_E4M3, DType::F8_E5M2, DType::F8_E4M3FNUZ, DType::F8_E5M2FNUZ];

/// Whether a companion holds plain floating-point numbers.
fn is_float(group: &Group<'_, '_>, suffix: &str) -> bool {
    group.type_of(suffix).is_some_and(|t| FLOATS.contains(&t))
}

/// The methods of the rows below that need one.
pub(super) const METHODS: &[Method] = &[
    Method::named("sinq"),
    Method::named("bitnet"),
    Method::named("gemma"),
    Method::named("sdnq"),
    Method::named("sdnq_training"),
    modelopt::METHOD,
    Method::named("quark"),
];

/// Every scheme that is known and not decoded. Of two rows that fit, the first counts.
pub(super) static KINDS: &[Kind] = &[
    Kind {
        name: "exl2",
        title: "EXL2 (ExLlamaV2: groups of 2 to 8 bits, permuted rows)",
        anchor: ".q_weight",
        types: &[DType::I32],
        needs: &[".q_scale", ".q_scale_max", ".q_groups"],
        takes: &[".q_invperm", ".q_perm", ".q_group_map"],
        shape: shapes::exl2,
        instead: "load it with exllamav2, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "exl3",
        title: "EXL3 (ExLlamaV3: trellis codes under Hadamard transforms)",
        anchor: ".trellis",
        types: &[DType::I16],
        needs: &[".suh", ".svh"],
        takes: &[".su", ".sv", ".mcg", ".mul1"],
        shape: shapes::exl3,
        detail: details::exl3,
        instead: "load it with exllamav3, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "exl3",
        title: "EXL3 (ExLlamaV3: trellis codes under Hadamard transforms)",
        anchor: ".trellis",
        types: &[DType::I16],
        needs: &[".su", ".sv"],
        takes: &[".mcg", ".mul1"],
        shape: shapes::exl3,
        detail: details::exl3,
        instead: "load it with exllamav3, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "qtip",
        title: "QTIP (trellis codes under Hadamard transforms)",
        anchor: ".trellis",
        types: &[DType::I16],
        needs: &[".SU", ".SV"],
        takes: &[".tlut", ".rcp", ".tp_rank"],
        shape: shapes::signs,
        ..USUAL
    },
    Kind {
        name: "quip#",
        title: "QuIP# (indices into the E8P lattice under Hadamard transforms)",
        anchor: ".Qidxs",
        needs: &[".SU", ".SV"],
        takes: &[".Wscale", ".codebook_id", ".A", ".B", ".scaleWH", ".ocs_dupe_inds"],
        shape: shapes::signs,
        ..USUAL
    },
    Kind {
        name: "aqlm",
        title: "AQLM (sums of codebook vectors)",
        anchor: ".codes",
        needs: &[".codebooks", ".scales"],
        shape: shapes::aqlm,
        detail: details::aqlm,
        instead: "load it with the aqlm package, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "vptq",
        title: "VPTQ (indices into centroids, with residuals)",
        anchor: ".indices",
        needs: &[".centroids.weight"],
        takes: &[
            ".res_indices",
            ".res_centroids.weight",
            ".outlier_indices",
            ".outlier_centroids.weight",
            ".perm",
            ".weight_scale",
            ".weight_bias",
        ],
        shape: shapes::vptq,
        instead: "load it with the vptq package, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "spqr",
        title: "SpQR (dense 3-bit tiles and sparse outliers)",
        anchor: ".dense_weights",
        types: &[DType::I64],
        needs: &[".row_offsets", ".col_vals"],
        takes: &[".in_perm"],
        shape: shapes::spqr,
        ..USUAL
    },
    Kind {
        name: "higgs",
        title: "HIGGS (FLUTE's shuffled indices under Hadamard transforms)",
        anchor: ".weight",
        types: &[DType::I16],
        needs: &[".scales", ".tables", ".tables2"],
        shape: shapes::higgs,
        ..USUAL
    },
    Kind {
        name: "eetq",
        title: "EETQ (8-bit integers in the order of a GPU kernel)",
        anchor: ".weight",
        types: &[DType::I8],
        needs: &[".weight_scales"],
        shape: shapes::transposed,
        ..USUAL
    },
    Kind {
        name: "svdquant",
        title: "SVDQuant (nunchaku: 4-bit tiles in the order of a GPU kernel plus a low rank)",
        anchor: ".qweight",
        types: &[DType::I8],
        needs: &[".wscales"],
        takes: &[
            ".proj_down",
            ".proj_up",
            ".lora_down",
            ".lora_up",
            ".smooth_factor",
            ".smooth_factor_orig",
            ".smooth",
            ".smooth_orig",
            ".wcscales",
            ".wtscale",
        ],
        shape: shapes::half_bytes,
        detail: |group| Some(if is_float(group, ".wscales") { "int4" } else { "fp4" }.to_owned()),
        instead: "load it with nunchaku, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "nunchaku-awq",
        title: "nunchaku's AWQ (4-bit integers in the order of a GPU kernel)",
        anchor: ".qweight",
        types: &[DType::I32],
        needs: &[".wscales", ".wzeros"],
        shape: shapes::nunchaku_awq,
        instead: "load it with nunchaku, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "fp_quant",
        title: "FP-Quant (4-bit floats under Hadamard transforms)",
        anchor: ".qweight",
        types: &[DType::U8],
        needs: &[".scales"],
        takes: &[
            ".weight_global_scale",
            ".forward_hadamard_matrix",
            ".backward_hadamard_matrix",
            ".weight",
            ".dqweight",
        ],
        drops: &[".act_global_scale"],
        shape: shapes::half_bytes,
        instead: "load it with the fp_quant package, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "fp_quant-pseudo",
        title: "FP-Quant's pseudo-quantized form (plain numbers under a Hadamard transform)",
        anchor: ".dqweight",
        types: &FLOATS,
        needs: &[".forward_hadamard_matrix"],
        takes: &[".backward_hadamard_matrix", ".weight_global_scale", ".weight"],
        drops: &[".act_global_scale"],
        fits: |group| group.anchor.1.elements() > 0,
        ..USUAL
    },
    Kind {
        name: "bitblas",
        title: "BitBLAS (integers in the order of a GPU kernel)",
        anchor: ".qweight",
        types: &[DType::I8],
        needs: &[".scales"],
        takes: &[".qzeros", ".zeros"],
        shape: shapes::by_bits_of_config,
        ..USUAL
    },
    Kind {
        name: "awq-fast",
        title: "AWQ in the layout of its fast GEMV kernel",
        anchor: ".qweight",
        types: &[DType::I16],
        needs: &[".scales"],
        takes: &[".qzeros", ".scaled_zeros"],
        // Where the config names a method that is decoded, that scheme reports it.
        fits: |group| !group.evidence.is_read_by_another(&super::Known),
        shape: shapes::awq_fast,
        instead: "convert the model it was made from, or one in AWQ's GEMM layout",
        ..USUAL
    },
    Kind {
        name: "marlin-24",
        title: "Marlin with 2:4 sparsity (4-bit integers in the order of a GPU kernel)",
        anchor: ".B_24",
        types: &[DType::I32],
        needs: &[".B_meta", ".s"],
        takes: &[".workspace"],
        shape: shapes::marlin_24,
        ..USUAL
    },
    Kind {
        name: "marlin",
        title: "Marlin (4-bit integers in the order of a GPU kernel)",
        anchor: ".B",
        types: &[DType::I32],
        needs: &[".s"],
        takes: &[".workspace"],
        shape: shapes::marlin,
        instead: "convert the GPTQ model it was made from, which has the same values",
        ..USUAL
    },
    Kind {
        name: "qqq",
        title: "QQQ (4-bit integers in the order of a GPU kernel)",
        anchor: ".B",
        types: &[DType::I32],
        needs: &[".s_channel"],
        takes: &[".s_group", ".workspace"],
        shape: shapes::marlin,
        ..USUAL
    },
    Kind {
        name: "sinq",
        title: "SINQ (integers with scales of rows and columns)",
        anchor: ".W_q",
        needs: &[".scale2"],
        takes: details::HQQ_PARTS,
        shape: shapes::hqq,
        detail: details::hqq,
        ..USUAL
    },
    Kind {
        name: "sinq",
        title: "SINQ (integers with scales of rows and columns)",
        anchor: ".W_q",
        method: &["sinq"],
        takes: details::HQQ_PARTS,
        shape: shapes::hqq,
        detail: details::hqq,
        ..USUAL
    },
    Kind {
        name: "hqq",
        title: "HQQ (integers with scales and zero points)",
        anchor: ".W_q",
        takes: details::HQQ_PARTS,
        shape: shapes::hqq,
        detail: details::hqq,
        instead: "load it with the hqq package, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "quanto",
        title: "optimum-quanto (integers with scales and shifts)",
        anchor: ".weight._data._data",
        types: &[DType::U8],
        needs: &[".weight._scale", ".weight._shift"],
        drops: &[".input_scale", ".output_scale"],
        shape: shapes::quanto_packed,
        detail: details::quanto,
        instead: "load it with optimum-quanto, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "quanto",
        title: "optimum-quanto (8-bit numbers with scales)",
        anchor: ".weight._data",
        types: &EIGHT_BITS,
        needs: &[".weight._scale"],
        takes: &[".weight._shift"],
        drops: &[".input_scale", ".output_scale"],
        detail: details::quanto,
        instead: "load it with optimum-quanto, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "torchao",
        title: "a tensor class of torchao",
        anchor: "._weight_qdata",
        takes: &[
            "._weight_scale",
            "._weight_zero_point",
            "._weight_scale_and_zero",
            "._weight_per_tensor_scale",
            "._weight_act_pre_scale",
        ],
        drops: &["._weight_act_per_tensor_scale", "._weight_act_quant_scale"],
        shape: shapes::torchao,
        detail: details::torchao_type,
        instead: "load it with torchao and save it dequantized, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "bitnet",
        title: "BitNet (four ternary numbers a byte)",
        anchor: ".weight",
        types: &[DType::U8],
        needs: &[".weight_scale"],
        method: &["bitnet"],
        shape: shapes::four_rows_a_byte,
        instead: "convert the model's bf16 release",
        ..USUAL
    },
    Kind {
        name: "gemma",
        title: "Gemma's own packing (integers of 2, 4 or 8 bits with a scale a row)",
        anchor: ".weight",
        types: &[DType::U8, DType::I8],
        needs: &[".weight_scale"],
        method: &["gemma"],
        drops: &[".input_activation_scale", ".output_activation_scale"],
        ..USUAL
    },
    Kind {
        name: "gemma",
        title: "Gemma's own packing (integers of 2, 4 or 8 bits with a scale a row)",
        anchor: ".embedding_quantized",
        types: &[DType::U8, DType::I8],
        needs: &[".embedding_scale"],
        ..USUAL
    },
    Kind {
        name: "sdnq",
        title: "SDNQ (integers and small floats of many widths)",
        anchor: ".weight",
        needs: &[".scale"],
        takes: &[
            ".scale_2",
            ".scale_scale",
            ".scale_zero_point",
            ".zero_point",
            ".zero_point_scale",
            ".zero_point_2",
            ".svd_up",
            ".svd_down",
            ".codebook",
        ],
        method: &["sdnq", "sdnq_training"],
        fits: |group| !group.anchor.1.stored.element().is_some_and(DType::is_float),
        shape: shapes::sdnq,
        detail: details::sdnq,
        instead: "load it with the sdnq package, or convert the model it was made from",
        ..USUAL
    },
    Kind {
        name: "modelopt-int4",
        title: "ModelOpt's INT4_AWQ (two rows a byte)",
        anchor: ".weight",
        types: &[DType::U8],
        needs: &[".weight_scale"],
        takes: &[".weight_scale_2", ".pre_quant_scale"],
        drops: &[".input_scale"],
        method: &[modelopt::METHOD.name],
        fits: |group| is_float(group, ".weight_scale"),
        shape: shapes::two_rows_a_byte,
        ..USUAL
    },
    Kind {
        name: "quark-int",
        title: "Quark's integers",
        anchor: ".weight",
        types: &[DType::I32],
        needs: &[".weight_scale"],
        takes: &[".weight_zero_point", ".weight_scale_2"],
        drops: &[".input_scale", ".input_zero_point", ".output_scale", ".output_zero_point"],
        method: &["quark"],
        shape: shapes::quark,
        ..USUAL
    },
    Kind {
        name: "comfy",
        title: "a layout of ComfyUI",
        anchor: comfy::TENSOR,
        types: &[DType::U8],
        needs: &[".weight", ".weight_scale"],
        takes: &[
            ".weight_scale_2",
            ".weight_zero_point",
            ".proj_down",
            ".proj_up",
            ".smooth_factor",
            ".pre_quant_scale",
        ],
        drops: &[".input_scale"],
        fits: |group| details::comfy(group).is_some(),
        shape: |group| Some(group.companion(".weight")?.shape.clone()),
        detail: details::comfy,
        ..USUAL
    },
    Kind {
        name: "gptqmodel-bnb",
        title: "GPTQModel's own form of bitsandbytes",
        anchor: ".weight",
        needs: &[".weight_absmax"],
        takes: &[
            ".weight_quant_map",
            ".weight_nested_absmax",
            ".weight_nested_quant_map",
            ".weight_nested_offset",
            ".weight_quant_state",
        ],
        ..USUAL
    },
    Kind {
        name: "gptqmodel-bnb",
        title: "GPTQModel's own form of bitsandbytes",
        anchor: ".weight",
        types: &[DType::I8],
        needs: &[".weight_scb"],
        ..USUAL
    },
    Kind {
        name: "int8-scaled",
        title: "8-bit integers with scales, of a method that no config names",
        anchor: ".weight",
        types: &[DType::I8],
        needs: &[".weight_scale"],
        takes: &[".weight_zero_point", ".pre_quant_scale"],
        drops: &[".input_scale", ".input_zero_point"],
        fits: |group| is_float(group, ".weight_scale") && details::int8_is_unclaimed(group),
        detail: |group| details::method(group.evidence).filter(|method| !method.is_empty()),
        instead: "put the config.json it came with beside it, or convert the model it was made from",
        ..USUAL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_of_all_rows_are_stated() {
        for method in KINDS.iter().flat_map(|kind| kind.method) {
            assert!(METHODS.iter().any(|known| known.is_called(method)), "{method}");
        }
    }
}
