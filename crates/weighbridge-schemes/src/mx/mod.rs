//! MX formats of four and six bits: small floats with a power of two (E8M0) for every 32 of a row.
//!
//! ```text
//! gpt-oss     P_blocks  U8 [E, out, in/32, 16]   P_scales  U8 [E, out, in/32]
//! OpenAI's    P.blocks  the same                 P.scales  the same
//! others      P.weight  U8, I8 or F4 [.., out, in/2 bytes] (six bits: U8 [.., out, 3*in/4])
//!             one of  P.weight_scale, P.weight_scale_inv, P.scale: F8_E8M0 or U8 [.., out, in/32]
//! ```
//!
//! Two codes a byte, the low nibble first; six-bit codes are a stream, low bits first.
//!
//! | variant | stored as | result | canonical |
//! |---|---|---|---|
//! | `mxfp4-transposed` | `P_blocks`, `P_scales` | `P` `[E, in, out]`: **transposed**, as transformers holds it | transformers 5.22.2, `convert_moe_packed_tensors` |
//! | `mxfp4-transposed-interleaved` | the same, `gate_up_proj` | the same; along `out`, gate (even) and up (odd) **take turns** | the same |
//! | `mxfp4`, `mxfp4-interleaved` (`mlp1_weight`) | `P.blocks`, `P.scales` | `P` `[E, out, in]`; interleaved: gate and up take turns along `out` | gpt-oss 0.0.9, `Checkpoint._get_mxfp4_tensor` |
//! | `mxfp4` | I8 or F4 (DeepSeek-V4) | `P.weight` `[.., out, in]` | transformers 5.22.2, `Fp8Dequantize._dequantize_one` |
//! | `mxfp4` | U8 (ModelOpt, Quark) | the same | nvidia-modelopt 0.47.0, `MXFP4QTensor.dequantize`; amd-quark 0.13, `Pack_fp4.unpack` and `dequantize_fp4_fp6_per_group` |
//! | `mxfp6-e2m3`, `mxfp6-e3m2` | U8 (Quark) | the same | amd-quark 0.13, `Pack_fp6.unpack` and the same |
//!
//! Recipe: `number * 2^(byte - 127)` in f32, rounded once to the native type, which is the
//! model's (bf16 where no config says). Quark rounds the power of two to that type first, which
//! matters for f16 alone. Byte 0 is 2^-127, never zero. Code 8 is minus zero. Byte 255 is no
//! scale: torch's E8M0 reads NaN, `convert_moe_packed_tensors` and ModelOpt get infinity; here it
//! is an error that names row and group.

use crate::dtype::DType;
use crate::framework::conventions::modelopt;
use crate::framework::{Bids, Configs, Evidence, Method, Scheme, Sign, Summary};

mod blocks;
mod encode;
mod packed;
mod transposed;

/// The scheme of MX formats.
pub struct Mx;

/// gpt-oss's name for its method.
const GPT_OSS: &str = "mxfp4";

/// Columns that share a scale.
const GROUP: u64 = 32;

impl Scheme for Mx {
    facts! {
        name: "mx",
        methods: const { &[Method::named(GPT_OSS), Method::named(packed::QUARK), modelopt::METHOD] },
        config_files: &[modelopt::FILE],
        traces: modelopt::TRACES,
        #[cfg(feature = "encoders")]
        quantizers: &[&encode::GptOss],
    }

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        modelopt::implied_method(configs)
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_type(&[DType::U8, DType::I8, DType::F4])
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        if evidence.belongs_to_another(self.name()) {
            return;
        }
        let is_quarks = evidence.method() == Some(packed::QUARK);
        let quark = is_quarks.then(|| packed::Quark::of(evidence));
        for &(id, info) in evidence.tensors() {
            if !blocks::bid_for(evidence, id, info, bids) {
                packed::bid_for(evidence, id, info, quark.as_ref(), bids);
            }
        }
    }
}

#[cfg(test)]
mod tests;
