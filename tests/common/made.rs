//! Numbers that are made and not stored: the same here as in `oracles/made.py`, which says how.

fn seed(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |value, byte| {
        (value ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// Outputs of splitmix64.
fn random(name: &str) -> impl FnMut() -> u64 + use<> {
    let mut state = seed(name);
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// BF16 numbers, by their bits.
pub fn weights(name: &str, count: usize) -> Vec<u16> {
    let mut random = random(name);
    let parts = |z: u64| (0..4).map(|part| (z >> (16 * part) & 0xFFFF) as i32).sum::<i32>();
    let number = |_| {
        let (first, second) = (random(), random());
        let sum = parts(first) + parts(second) - 8 * 32768 + 4;
        let number = sum * if second >> 54 == 0 { 16 } else { 1 };
        #[allow(clippy::cast_precision_loss)] // It has fewer than 24 bits.
        let bits = (number as f32 * 2f32.powi(-21)).to_bits();
        ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16
    };
    (0..count).map(number).collect()
}

/// The same numbers as f32.
pub fn widened(bits: &[u16]) -> Vec<f32> {
    bits.iter().map(|&bits| f32::from_bits(u32::from(bits) << 16)).collect()
}

/// Numbers that are not negative.
pub fn importance(name: &str, count: usize) -> Vec<f32> {
    let mut random = random(name);
    let number = |_| match random() {
        zero if zero >> 58 == 0 => 0.0,
        z => f32::from((z & 0xFFFF) as u16) * 2f32.powi(-12),
    };
    (0..count).map(number).collect()
}
