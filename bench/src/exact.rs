//! `bench ggml-exact`: our decoding against ggml's own C, bit for bit, on random raw blocks.
//!
//! Every bit pattern is a legal block. f32 must have ggml's bits, bf16 and f16 those of ggml's
//! f32 rounded to nearest even; any NaN matches any NaN. Every level of the CPU is compared. This
//! is the wide search; the samples under `tests/files` are the narrow one that anyone can run.

use weighbridge::Element;
use weighbridge::internals::blocks::{BLOCKS, Block, Standing};
use weighbridge::internals::simd::{Level, with_level};
use weighbridge::{Scratch, bf16, f16};

use crate::random_blocks::{BlockFile, Scales};
use crate::{Setting, ggml};

/// The tensor of one round.
const ROWS: u64 = 16;
const COLUMNS: u64 = 16384;

/// Compares every type; returns the exit code.
pub fn run(setting: &Setting) -> i32 {
    let library = match ggml::Library::open() {
        Ok(library) => library,
        Err(missing) => {
            eprintln!("{missing}");
            return 2;
        }
    };
    println!("ggml {}, {} blocks of each type", library.version(), setting.blocks);
    let chosen = BLOCKS.iter().filter(|b| b.standing == Standing::Current && setting.wants(b.name));
    let failed: Vec<_> =
        chosen.filter(|block| !compare(setting, &library, block)).map(|block| block.name).collect();
    if failed.is_empty() {
        return 0;
    }
    println!("not the same: {}", failed.join(", "));
    1
}

/// Compares one type and prints the result; returns whether all elements are the same. A type that
/// we cannot decode fails; one that ggml cannot decode passes, as there is nothing to compare.
fn compare(setting: &Setting, library: &ggml::Library, block: &'static Block) -> bool {
    let Some(decoder) = library.decoder(block) else {
        println!("{:8} ggml has no decoder for it", block.name);
        return true;
    };
    let mut theirs = Theirs::new((ROWS * COLUMNS) as usize);
    let rounds = setting.blocks.div_ceil(ROWS * COLUMNS / u64::from(block.elements));
    let mut levels: Vec<_> = Level::available().iter().map(|&l| (l, Tally::default())).collect();
    for round in 0..rounds {
        let seed = (round << 16) | u64::from(block.id);
        let file = BlockFile::new(block, ROWS, COLUMNS, Scales::Raw, seed);
        if let Some(reason) = file.weight().undecodable() {
            println!("{:8} {reason}", block.name);
            return false;
        }
        theirs.decode(&decoder, &file);
        for (level, tally) in &mut levels {
            with_level(*level, || tally.round(&file, &theirs));
        }
    }
    for (level, tally) in &levels {
        let [single, brain, half] = tally.differing;
        let verdict = if tally.sum() == 0 { "same" } else { "DIFFERENT" };
        println!(
            "{:8} {:8} {verdict}: of {} elements {single} differ at f32, {brain} at bf16, {half} at f16",
            block.name,
            level.name(),
            rounds * ROWS * COLUMNS,
        );
        tally.first.iter().for_each(|first| println!("         {first}"));
    }
    levels.iter().all(|(_, tally)| tally.sum() == 0)
}

/// Whether two floats of one type have the same bits, or are both NaN.
macro_rules! same {
    () => {
        |a, b| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    };
}

/// What ggml says, at each output type.
struct Theirs {
    single: Vec<f32>,
    brain: Vec<bf16>,
    half: Vec<f16>,
}

impl Theirs {
    fn new(len: usize) -> Self {
        Self { single: vec![0.0; len], brain: vec![bf16::ZERO; len], half: vec![f16::ZERO; len] }
    }

    fn decode(&mut self, decoder: &ggml::Decoder, file: &BlockFile) {
        decoder.decode(file.blocks(), &mut self.single);
        self.round_off();
    }

    /// Rounds the f32 to bf16 and f16.
    fn round_off(&mut self) {
        for (index, value) in self.single.iter().enumerate() {
            self.brain[index] = bf16::from_f32(*value);
            self.half[index] = f16::from_f32(*value);
        }
    }
}

/// What one level got wrong.
#[derive(Default)]
struct Tally {
    /// Elements that differ at f32, bf16 and f16.
    differing: [u64; 3],
    /// The first of them.
    first: Option<String>,
    scratch: Scratch,
}

impl Tally {
    fn sum(&self) -> u64 {
        self.differing.iter().sum()
    }

    fn round(&mut self, file: &BlockFile, theirs: &Theirs) {
        self.output(0, file, &theirs.single, same!());
        self.output(1, file, &theirs.brain, same!());
        self.output(2, file, &theirs.half, same!());
    }

    fn output<T: Element + std::fmt::Debug>(
        &mut self,
        index: usize,
        file: &BlockFile,
        theirs: &[T],
        same: impl Fn(T, T) -> bool,
    ) {
        let mut ours = vec![T::default(); theirs.len()];
        file.weight().decode_rows_with(0..ROWS, &mut ours, &mut self.scratch).expect("it decodes");
        for (at, (&ours, &theirs)) in ours.iter().zip(theirs).enumerate() {
            if !same(ours, theirs) {
                self.differing[index] += 1;
                self.first.get_or_insert_with(|| difference(file, at, ours, theirs));
            }
        }
    }
}

/// Describes an element that differs, with its block, so that it can be reproduced.
fn difference<T: std::fmt::Debug>(file: &BlockFile, at: usize, ours: T, theirs: T) -> String {
    let (elements, bytes) = (file.block.elements as usize, file.block.bytes as usize);
    let block = &file.blocks()[at / elements * bytes..][..bytes];
    let hex: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("element {}: ours {ours:?}, ggml's {theirs:?}, block {hex}", at % elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_is_seen_and_the_kind_of_nan_is_not() {
        let block = Block::from_name("Q8_0").unwrap();
        let file = BlockFile::new(block, ROWS, COLUMNS, Scales::Sane, 1);
        let mut theirs = Theirs::new(file.elements());
        file.weight().decode_into(&mut theirs.single).unwrap();
        theirs.round_off();
        let mut tally = Tally::default();
        tally.round(&file, &theirs);
        assert_eq!(tally.differing, [0, 0, 0]);
        theirs.single[77] = f32::from_bits(theirs.single[77].to_bits() ^ 1);
        theirs.half[78] = -theirs.half[78];
        tally.round(&file, &theirs);
        assert_eq!(tally.differing, [1, 0, 1]);
        assert!(tally.first.unwrap().starts_with("element 13: "));
        let same: fn(f32, f32) -> bool = same!();
        assert!(same(f32::NAN, -f32::NAN) && !same(0.0, -0.0));
    }
}
