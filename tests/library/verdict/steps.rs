//! How far apart the levels of each type are.

/// About how far apart the levels around an element are: the range of the elements that share its
/// scale, over the number of widest gaps in it.
pub fn step(kind: &str, columns: usize, stored: &[f32], at: usize) -> f32 {
    if kind == "plain" {
        return stored[at].abs() / 128.0;
    }
    let (group, gaps) = match kind {
        "Q4_0" | "Q4_1" => (32, 15.0),
        "Q5_0" | "Q5_1" => (32, 31.0),
        "Q8_0" => (32, 254.0),
        "Q2_K" => (16, 3.0),
        "Q3_K" => (16, 7.0),
        "Q4_K" => (32, 15.0),
        "Q5_K" => (32, 31.0),
        "Q6_K" => (16, 63.0),
        "IQ4_NL" | "IQ4_XS" => (32, 10.0),
        "TQ1_0" | "TQ2_0" => (256, 2.0),
        "Q1_0" => (128, 1.0),
        "Q2_0" => (64, 2.0),
        "MXFP4" => (32, 6.0),
        "NVFP4" => (16, 6.0),
        "IQ3_S" | "IQ3_XXS" => (32, 14.0),
        "IQ2_S" | "IQ2_XS" | "IQ2_XXS" => (16, 5.0),
        "bnb-nf4" | "bnb-nf4-nested" => (64, 6.5),
        "bnb-fp4" => (64, 6.0),
        "bnb-int8" => (columns, 254.0),
        "mlx-affine2" => (32, 3.0),
        "mlx-affine4" => (64, 15.0),
        "mlx-affine8-f32" => (64, 255.0),
        "mlx-mxfp4" => (32, 6.0),
        "mlx-nvfp4" => (16, 6.0),
        _ => (32, 28.0),
    };
    let group = &stored[at / group * group..at / group * group + group];
    let ends = group.iter().fold([0.0f32; 2], |[least, most], x| [least.min(*x), most.max(*x)]);
    (ends[1] - ends[0]) / gaps
}
