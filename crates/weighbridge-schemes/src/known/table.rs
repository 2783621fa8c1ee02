//! The rows: one per scheme, two if a scheme has two sets of names.

use super::kind::{Kind, found};
use super::{Group, details, shapes};
use crate::dtype::DType;
use crate::framework::Method;
use crate::framework::conventions::{comfy, modelopt};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const EIGHT_BITS: [DType; 5] =
    [DType::I8, DType::F8_E4M3, DType::F8_E5M2, DType::F8_E4M3FNUZ, DType::F8_E5M2FNUZ];

/// Whether a companion holds plain floating-point numbers.
fn is_float(group: &Group<'_, '_>, suffix: &str) -> bool {
    group.type_of(suffix).is_some_and(|t| FLOATS.contains(&t))
}

/// Methods of the rows below that need one.
pub(super) const METHODS: &[Method] = &[
    Method::named("sinq"),
    Method::named("bitnet"),
    Method::named("gemma"),
    Method::named("sdnq"),
    Method::named("sdnq_training"),
    modelopt::METHOD,
    Method::named("quark"),
];

/// Every recognised but unsupported scheme. If two rows match, the first applies.
pub(super) static KINDS: &[Kind] = &[
    found("exl2", ".q_weight", &[DType::I32], &[".q_scale", ".q_scale_max", ".q_groups"])
        .title("EXL2 (ExLlamaV2: groups of 2 to 8 bits, permuted rows)")
        .takes(".q_invperm .q_perm .q_group_map")
        .shape(shapes::exl2)
        .instead("load it with exllamav2, or convert the original model"),
    found("exl3", ".trellis", &[DType::I16], &[".suh", ".svh"])
        .title("EXL3 (ExLlamaV3: trellis codes under Hadamard transforms)")
        .takes(".su .sv .mcg .mul1")
        .shape(shapes::exl3)
        .detail(details::exl3)
        .instead("load it with exllamav3, or convert the original model"),
    found("exl3", ".trellis", &[DType::I16], &[".su", ".sv"])
        .title("EXL3 (ExLlamaV3: trellis codes under Hadamard transforms)")
        .takes(".mcg .mul1")
        .shape(shapes::exl3)
        .detail(details::exl3)
        .instead("load it with exllamav3, or convert the original model"),
    found("qtip", ".trellis", &[DType::I16], &[".SU", ".SV"])
        .title("QTIP (trellis codes under Hadamard transforms)")
        .takes(".tlut .rcp .tp_rank")
        .shape(shapes::signs),
    found("quip#", ".Qidxs", &[], &[".SU", ".SV"])
        .title("QuIP# (indices into the E8P lattice under Hadamard transforms)")
        .takes(".Wscale .codebook_id .A .B .scaleWH .ocs_dupe_inds")
        .shape(shapes::signs),
    found("aqlm", ".codes", &[], &[".codebooks", ".scales"])
        .title("AQLM (sums of codebook vectors)")
        .shape(shapes::aqlm)
        .detail(details::aqlm)
        .instead("load it with the aqlm package, or convert the original model"),
    found("vptq", ".indices", &[], &[".centroids.weight"])
        .title("VPTQ (indices into centroids, with residuals)")
        .takes(
            ".res_indices .res_centroids.weight .outlier_indices .outlier_centroids.weight \
             .perm .weight_scale .weight_bias",
        )
        .shape(shapes::vptq)
        .instead("load it with the vptq package, or convert the original model"),
    found("spqr", ".dense_weights", &[DType::I64], &[".row_offsets", ".col_vals"])
        .title("SpQR (dense 3-bit tiles and sparse outliers)")
        .takes(".in_perm")
        .shape(shapes::spqr),
    found("higgs", ".weight", &[DType::I16], &[".scales", ".tables", ".tables2"])
        .title("HIGGS (FLUTE's shuffled indices under Hadamard transforms)")
        .shape(shapes::higgs),
    found("eetq", ".weight", &[DType::I8], &[".weight_scales"])
        .title("EETQ (8-bit integers in a GPU kernel's order)")
        .shape(|group| shapes::turned(group, 1, 1)),
    found("svdquant", ".qweight", &[DType::I8], &[".wscales"])
        .title("SVDQuant (nunchaku: 4-bit tiles in a GPU kernel's order plus low-rank matrices)")
        .takes(
            ".proj_down .proj_up .lora_down .lora_up .smooth_factor .smooth_factor_orig .smooth \
             .smooth_orig .wcscales .wtscale",
        )
        .shape(|group| shapes::scaled(group, 1, 2))
        .detail(|group| Some(if is_float(group, ".wscales") { "int4" } else { "fp4" }.to_owned()))
        .instead("load it with nunchaku, or convert the original model"),
    found("nunchaku-awq", ".qweight", &[DType::I32], &[".wscales", ".wzeros"])
        .title("nunchaku's AWQ (4-bit integers in a GPU kernel's order)")
        .shape(|group| shapes::scaled(group, 4, 2))
        .instead("load it with nunchaku, or convert the original model"),
    found("fp_quant", ".qweight", &[DType::U8], &[".scales"])
        .title("FP-Quant (4-bit floats under Hadamard transforms)")
        .takes(
            ".weight_global_scale .forward_hadamard_matrix .backward_hadamard_matrix .weight \
             .dqweight",
        )
        .drops(&[".act_global_scale"])
        .shape(|group| shapes::scaled(group, 1, 2))
        .instead("load it with the fp_quant package, or convert the original model"),
    found("fp_quant-pseudo", ".dqweight", &FLOATS, &[".forward_hadamard_matrix"])
        .title("FP-Quant's pseudo-quantized form (unquantized values under a Hadamard transform)")
        .takes(".backward_hadamard_matrix .weight_global_scale .weight")
        .drops(&[".act_global_scale"])
        .fits(|group| group.anchor.1.elements() > 0),
    found("bitblas", ".qweight", &[DType::I8], &[".scales"])
        .title("BitBLAS (integers in a GPU kernel's order)")
        .takes(".qzeros .zeros")
        .shape(shapes::by_bits_of_config),
    found("awq-fast", ".qweight", &[DType::I16], &[".scales"])
        .title("AWQ in the layout of its fast GEMV kernel")
        .takes(".qzeros .scaled_zeros")
        // If the config names a supported method, that scheme reports the weight.
        .fits(|group| !group.evidence.is_read_by_another(super::NAME))
        .shape(|group| shapes::scaled(group, 4, 1))
        .instead("convert the original model, or one in AWQ's GEMM layout"),
    found("marlin-24", ".B_24", &[DType::I32], &[".B_meta", ".s"])
        .title("Marlin with 2:4 sparsity (4-bit integers in a GPU kernel's order)")
        .takes(".workspace")
        .shape(shapes::marlin_24),
    found("marlin", ".B", &[DType::I32], &[".s"])
        .title("Marlin (4-bit integers in a GPU kernel's order)")
        .takes(".workspace")
        .shape(shapes::marlin)
        .instead("convert the original GPTQ model, which has the same values"),
    found("qqq", ".B", &[DType::I32], &[".s_channel"])
        .title("QQQ (4-bit integers in a GPU kernel's order)")
        .takes(".s_group .workspace")
        .shape(shapes::marlin),
    found("sinq", ".W_q", &[], &[".scale2"])
        .title("SINQ (integers with row and column scales)")
        .takes(details::HQQ_PARTS)
        .shape(shapes::hqq)
        .detail(details::hqq),
    found("sinq", ".W_q", &[], &[])
        .title("SINQ (integers with row and column scales)")
        .method(&["sinq"])
        .takes(details::HQQ_PARTS)
        .shape(shapes::hqq)
        .detail(details::hqq),
    found("hqq", ".W_q", &[], &[])
        .title("HQQ (integers with scales and zero points)")
        .takes(details::HQQ_PARTS)
        .shape(shapes::hqq)
        .detail(details::hqq)
        .instead("load it with the hqq package, or convert the original model"),
    found("quanto", ".weight._data._data", &[DType::U8], &[".weight._scale", ".weight._shift"])
        .title("optimum-quanto (integers with scales and shifts)")
        .drops(&[".input_scale", ".output_scale"])
        .shape(shapes::quanto_packed)
        .detail(details::quanto)
        .instead("load it with optimum-quanto, or convert the original model"),
    found("quanto", ".weight._data", &EIGHT_BITS, &[".weight._scale"])
        .title("optimum-quanto (8-bit numbers with scales)")
        .takes(".weight._shift")
        .drops(&[".input_scale", ".output_scale"])
        .detail(details::quanto)
        .instead("load it with optimum-quanto, or convert the original model"),
    found("torchao", "._weight_qdata", &[], &[])
        .title("a torchao tensor class")
        .takes(
            "._weight_scale ._weight_zero_point ._weight_scale_and_zero \
             ._weight_per_tensor_scale ._weight_act_pre_scale",
        )
        .drops(&["._weight_act_per_tensor_scale", "._weight_act_quant_scale"])
        .shape(shapes::torchao)
        .detail(details::torchao_type)
        .instead("load it with torchao and save it dequantized, or convert the original model"),
    found("bitnet", ".weight", &[DType::U8], &[".weight_scale"])
        .title("BitNet (four ternary numbers per byte)")
        .method(&["bitnet"])
        .shape(|group| shapes::scaled(group, 4, 1))
        .instead("convert the model's bf16 release"),
    found("gemma", ".weight", &[DType::U8, DType::I8], &[".weight_scale"])
        .title("Gemma's own packing (2-, 4- or 8-bit integers, one scale per row)")
        .method(&["gemma"])
        .drops(&[".input_activation_scale", ".output_activation_scale"]),
    found("gemma", ".embedding_quantized", &[DType::U8, DType::I8], &[".embedding_scale"])
        .title("Gemma's own packing (2-, 4- or 8-bit integers, one scale per row)"),
    found("sdnq", ".weight", &[], &[".scale"])
        .title("SDNQ (integers and small floats of many widths)")
        .takes(
            ".scale_2 .scale_scale .scale_zero_point .zero_point .zero_point_scale \
             .zero_point_2 .svd_up .svd_down .codebook",
        )
        .method(&["sdnq", "sdnq_training"])
        .fits(|group| !group.anchor.1.stored.element().is_some_and(DType::is_float))
        .shape(shapes::sdnq)
        .detail(details::sdnq)
        .instead("load it with the sdnq package, or convert the original model"),
    found("modelopt-int4", ".weight", &[DType::U8], &[".weight_scale"])
        .title("ModelOpt's INT4_AWQ (two rows per byte)")
        .takes(".weight_scale_2 .pre_quant_scale")
        .drops(&[".input_scale"])
        .method(&[modelopt::METHOD.name])
        .fits(|group| is_float(group, ".weight_scale"))
        .shape(|group| shapes::scaled(group, 2, 1)),
    found("quark-int", ".weight", &[DType::I32], &[".weight_scale"])
        .title("Quark's integers")
        .takes(".weight_zero_point .weight_scale_2")
        .drops(&[".input_scale", ".input_zero_point", ".output_scale", ".output_zero_point"])
        .method(&["quark"])
        .shape(|group| shapes::turned(group, 1, 8)),
    found("comfy", comfy::TENSOR, &[DType::U8], &[".weight", ".weight_scale"])
        .title("a ComfyUI layout")
        .takes(
            ".weight_scale_2 .weight_zero_point .proj_down .proj_up .smooth_factor \
             .pre_quant_scale",
        )
        .drops(&[".input_scale"])
        .fits(|group| details::comfy(group).is_some())
        .shape(|group| Some(group.companion(".weight")?.shape.clone()))
        .detail(details::comfy),
    found("gptqmodel-bnb", ".weight", &[], &[".weight_absmax"])
        .title("GPTQModel's own form of bitsandbytes")
        .takes(
            ".weight_quant_map .weight_nested_absmax .weight_nested_quant_map \
             .weight_nested_offset .weight_quant_state",
        ),
    found("gptqmodel-bnb", ".weight", &[DType::I8], &[".weight_scb"])
        .title("GPTQModel's own form of bitsandbytes"),
    found("int8-scaled", ".weight", &[DType::I8], &[".weight_scale"])
        .title("8-bit integers with scales (no config names the method)")
        .takes(".weight_zero_point .pre_quant_scale")
        .drops(&[".input_scale", ".input_zero_point"])
        .fits(|group| is_float(group, ".weight_scale") && details::int8_is_unclaimed(group))
        .detail(|group| details::method(group.evidence).filter(|method| !method.is_empty()))
        .instead("add its config.json, or convert the original model"),
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
