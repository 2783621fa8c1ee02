//! The numbers of four-bit floats: a sign, two bits of exponent, one of mantissa.

/// What each code of E2M1 stands for. Code 8 is minus zero here; ModelOpt's reader of NVFP4 takes
/// it for zero.
pub(crate) const E2M1: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
