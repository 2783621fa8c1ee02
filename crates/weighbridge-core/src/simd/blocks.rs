//! The kinds of packed blocks for which an instruction set may have its own forms.

use super::Number;

/// Declares a form for each kind of block: its bytes, its elements, and its other arguments. The
/// default is the definition, which the caller passes in. `block_form!` writes one for an
/// instruction set that has a function for it.
macro_rules! block_forms {
    ($d:tt $($(#[$doc:meta])* $name:ident($bytes:literal => $elements:literal $(, $argument:ident: $type:ty)*);)*) => {
        /// Kinds of blocks, named as ggml names them. Each form fills `out` with a block's numbers.
        pub trait BlockForms: Copy {
            $($(#[$doc])*
            #[inline(always)]
            fn $name<T: Number>(
                self,
                block: &[u8; $bytes],
                $($argument: $type,)*
                out: &mut [T; $elements],
                define: impl FnOnce(&mut [f32; $elements]),
            ) {
                let _ = (block, $($argument,)*);
                T::through(out, define);
            })*
        }

        #[allow(unused_macros)] // Architectures without a set of their own.
        macro_rules! block_form {
            $(($name by $d function:path) => {
                #[inline(always)]
                fn $name<T: Number>(
                    self,
                    block: &[u8; $bytes],
                    $($argument: $type,)*
                    out: &mut [T; $elements],
                    _: impl FnOnce(&mut [f32; $elements]),
                ) {
                    // SAFETY: the CPU has the instructions.
                    unsafe { $d function(block, $($argument,)* out) }
                }
            };)*
        }
    };
}

/// The forms of an instruction set: functions of the same names in files of its `blocks`.
#[allow(unused_macros)] // Architectures without a set of their own.
macro_rules! block_forms_of {
    ($set:ty { $($file:ident: $($name:ident),*;)* }) => {
        impl BlockForms for $set {
            $($(block_form!($name by blocks::$file::$name);)*)*
        }
    };
}

block_forms! {
    $
    /// One scale, nibbles around 8; the low nibbles are the first half.
    q4_0(18 => 32);
    /// One scale and minimum, nibbles.
    q4_1(20 => 32);
    /// One scale, five bits around 16.
    q5_0(22 => 32);
    /// One scale and minimum, five bits.
    q5_1(24 => 32);
    /// One scale, signed bytes.
    q8_0(34 => 32);
    /// One scale, an unused sum, signed bytes.
    q8_1(36 => 32);
    /// One scale, nibbles around 8; each byte holds two neighbours.
    apr_q4(18 => 32);
    /// One scale, signs.
    q1_0(18 => 128);
    /// One scale, two bits from -1 to 2.
    q2_0(18 => 64);
    /// One scale, nibbles that choose among `steps`.
    iq4_nl(18 => 32, steps: &[i8; 16]);
    /// Eight scales, nibbles that choose among `steps`.
    iq4_xs(136 => 256, steps: &[i8; 16]);
    /// Sixteen scales and minimums, two bits.
    q2_k(84 => 256);
    /// Eight `scales` and minimums, nibbles.
    q4_k(144 => 256, scales: [[u8; 8]; 2]);
    /// Eight `scales` and minimums, five bits.
    q5_k(176 => 256, scales: [[u8; 8]; 2]);
    /// Sixteen `scales` around 32, three bits around 4.
    q3_k(110 => 256, scales: [u8; 16]);
    /// Sixteen scales, six bits around 32.
    q6_k(210 => 256);
    /// One `scale`, signed bytes.
    q8_k(292 => 256, scale: f32);
    /// One scale, five base-3 digits per byte.
    tq1_0(54 => 256);
    /// One scale, two bits from -1 to 1.
    tq2_0(66 => 256);
    /// One `scale`, nibbles that choose among `numbers`. `finished` are the sixteen products as
    /// 16-bit numbers: their lower bytes, then their upper ones.
    mxfp4(17 => 32, numbers: &[i8; 16], scale: f32, finished: &[u8; 32]);
    /// As [`mxfp4`](Self::mxfp4), with four scales.
    nvfp4(36 => 64, numbers: &[i8; 16], scales: [f32; 4], finished: [&[u8; 32]; 4]);
    /// As [`nvfp4`](Self::nvfp4), then each number times `factor`. A NaN is the plain one.
    nvfp4_times(36 => 64, numbers: &[i8; 16], scales: [f32; 4], factor: f32);
    /// Digits of `grid` stand for -1, 0 and 1; moved by 1/8, with eight scales.
    iq1_s(50 => 256, grid: &'static [[u8; 8]; 2048]);
    /// As [`iq1_s`](Self::iq1_s), with sixteen scales and one `scale` over all of them.
    iq1_m(56 => 256, grid: &'static [[u8; 8]; 2048], scale: f32);
    /// Digits of `grid` stand for 8, 25 and 43; seven signs of eight, eight scales.
    iq2_xxs(66 => 256, grid: &'static [[u8; 8]; 256]);
    /// As [`iq2_xxs`](Self::iq2_xxs), with sixteen scales.
    iq2_xs(74 => 256, grid: &'static [[u8; 8]; 512]);
    /// As [`iq2_xs`](Self::iq2_xs), with all eight signs.
    iq2_s(82 => 256, grid: &'static [[u8; 8]; 1024]);
    /// Digits of `grid` stand for `magnitudes`, which are in `numbers`; seven signs of eight.
    iq3_xxs(98 => 256, magnitudes: [f32; 8], grid: &'static [[u8; 4]; 256], numbers: &'static [[f32; 4]; 256]);
    /// As [`iq3_xxs`](Self::iq3_xxs), with all eight signs.
    iq3_s(110 => 256, magnitudes: [f32; 8], grid: &'static [[u8; 4]; 512], numbers: &'static [[f32; 4]; 512]);
}
