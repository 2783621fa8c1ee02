//! What was encoded, decoded again, to see what it costs.

use super::encoder::MlxEncoder;
use super::kind::Mode;
use super::packing::unpack;
use crate::arithmetic::matrix::E2M1;
use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::framework::SameLevels;

/// Decodes groups to single precision and adds their levels.
pub(super) fn decode(
    of: MlxEncoder,
    codes: &[u8],
    factors: [&[u8]; 2],
    out: &mut [f32],
    levels: &mut Vec<SameLevels>,
) {
    let (bits, group) = (of.kind.bits, usize::try_from(of.kind.group).unwrap_or(usize::MAX));
    let bytes = group / 8 * bits as usize;
    let mut own = vec![0; group];
    for (index, (out, codes)) in out.chunks_mut(group).zip(codes.chunks(bytes)).enumerate() {
        unpack(bits, codes, &mut own);
        let [scale, bias] = factors.map(|bytes| factor(of, bytes, index));
        let number = |code: u8| level(of.kind.mode, code) * scale + bias;
        out.iter_mut().zip(&own).for_each(|(out, code)| *out = number(*code));
        levels.extend(same_levels(of, out.len(), scale, bias));
    }
}

/// What a code stands for under a scale of one.
fn level(mode: Mode, code: u8) -> f32 {
    match mode {
        Mode::Affine => code.into(),
        Mode::Mxfp8 => plain::number(DType::F8_E4M3, &[code], 0),
        Mode::Mxfp4 | Mode::Nvfp4 => E2M1[usize::from(code & 15)],
    }
}

/// The scale or the bias of a group; a bias that is not there is zero.
fn factor(of: MlxEncoder, bytes: &[u8], index: usize) -> f32 {
    let dtype = match of.kind.mode {
        Mode::Affine => of.dtype,
        Mode::Mxfp4 | Mode::Mxfp8 => DType::F8_E8M0,
        Mode::Nvfp4 => DType::F8_E4M3,
    };
    if bytes.is_empty() { 0.0 } else { plain::number(dtype, bytes, index) }
}

/// The levels of a group. Those of eight bits lie too differently far from each other.
fn same_levels(of: MlxEncoder, elements: usize, scale: f32, bias: f32) -> Option<SameLevels> {
    let (size, last) = (scale.abs(), bias + f32::from((1u16 << of.kind.bits) - 1) * scale);
    match of.kind.mode {
        Mode::Affine => {
            let (lowest, highest) = (bias.min(last), bias.max(last));
            Some(SameLevels { elements, step: size, lowest, highest })
        }
        Mode::Mxfp4 | Mode::Nvfp4 => {
            let highest = 6.0 * size;
            Some(SameLevels { elements, step: size / 2.0, lowest: -highest, highest })
        }
        Mode::Mxfp8 => None,
    }
}
