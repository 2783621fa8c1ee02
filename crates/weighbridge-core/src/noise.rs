//! For tests: numbers that look random and are the same in every run (SplitMix64).

/// The state of the numbers.
#[derive(Clone, Debug)]
pub struct Noise(pub u64);

impl Noise {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.bits().to_le_bytes()[7]
    }

    /// Bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    /// From 0 to 1.
    #[allow(clippy::cast_precision_loss)] // 24 bits are exact.
    pub fn unit(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 24) as f32
    }

    /// From -1 to 1.
    pub fn uniform(&mut self) -> f32 {
        self.unit() * 2.0 - 1.0
    }

    /// Nearly normally distributed.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.unit()).sum::<f32>() - 6.0
    }
}
