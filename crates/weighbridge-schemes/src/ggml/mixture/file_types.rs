//! The file types of llama-quantize: what users call each, the number that GGUF files have for it,
//! and the type that a weight gets unless a rule says otherwise.

/// A file type.
pub(super) struct FileType {
    /// What users call it.
    pub(super) name: &'static str,
    /// What the rules call it.
    pub(super) rules: &'static str,
    /// `general.file_type`.
    pub(super) id: u32,
    /// The type of a weight that no rule is about.
    pub(super) base: &'static str,
    /// What it is, in a few words.
    pub(super) about: &'static str,
}

const fn of(name: &'static str, id: u32, base: &'static str, about: &'static str) -> FileType {
    FileType { name, rules: name, id, base, about }
}

/// A shorter name for another file type.
const fn short(name: &'static str, rules: &'static str, id: u32) -> FileType {
    FileType { name, rules, id, base: name, about: "the medium mixture of this type" }
}

/// Every file type, from the fewest bits to the most.
pub(super) static FILE_TYPES: &[FileType] = &[
    of("Q1_0", 40, "Q1_0", "signs only, a scale for 128 of them; 1.1 bits a weight"),
    of("IQ1_S", 24, "IQ1_S", "points of a grid, by importance; 1.6 bits a weight"),
    of("TQ1_0", 36, "TQ1_0", "three values, for models trained so; 1.7 bits a weight"),
    of(
        "IQ1_M",
        31,
        "IQ1_M",
        "points of a grid with finer scales, by importance; 1.8 bits a weight",
    ),
    of("TQ2_0", 37, "TQ2_0", "three values, faster to read; 2.1 bits a weight"),
    of("IQ2_XXS", 19, "IQ2_XXS", "points of a grid, by importance; 2.1 bits a weight"),
    of("Q2_0", 41, "Q2_0", "four values, a scale for 64 weights; 2.3 bits a weight"),
    of("IQ2_XS", 20, "IQ2_XS", "points of a larger grid, by importance; 2.3 bits a weight"),
    of("IQ2_S", 28, "IQ2_XS", "as IQ2_XS, with more bits where it matters; 2.5 bits a weight"),
    of("IQ2_M", 29, "IQ2_S", "a mixture around points of a grid, by importance; 2.7 bits a weight"),
    of("Q2_K_S", 21, "Q2_K", "two bits nearly everywhere, by importance; 2.9 bits a weight"),
    of("IQ3_XXS", 23, "IQ3_XXS", "points of a grid, by importance; 3.1 bits a weight"),
    of("Q2_K", 10, "Q2_K", "two bits, three where it matters; 3.2 bits a weight"),
    of("IQ3_XS", 22, "IQ3_S", "a mixture of two grids, by importance; 3.3 bits a weight"),
    of("IQ3_S", 26, "IQ3_S", "points of a grid; 3.4 bits a weight"),
    of("Q3_K_S", 11, "Q3_K", "three bits everywhere; 3.5 bits a weight"),
    of("IQ3_M", 27, "IQ3_S", "points of a grid, four bits where it matters; 3.7 bits a weight"),
    short("Q3_K", "Q3_K_M", 12),
    of("Q3_K_M", 12, "Q3_K", "three bits, four or five where it matters; 3.9 bits a weight"),
    of("Q3_K_L", 13, "Q3_K", "three bits, five where it matters; 4.3 bits a weight"),
    of("IQ4_XS", 30, "IQ4_XS", "sixteen uneven values; 4.3 bits a weight"),
    of("MXFP4_MOE", 38, "MXFP4", "four-bit floats for experts, eight bits for the rest"),
    of(
        "MXFP4-ggml",
        38,
        "MXFP4",
        "four-bit floats, a power of two for 32 weights; 4.3 bits a weight",
    ),
    of("IQ4_NL", 25, "IQ4_NL", "sixteen uneven values, a scale for 32 weights; 4.5 bits a weight"),
    of(
        "NVFP4",
        39,
        "NVFP4",
        "four-bit floats, a scale for 16 weights and one for all; 4.5 bits a weight",
    ),
    FileType {
        rules: "NVFP4",
        ..of(
            "NVFP4-ggml",
            39,
            "NVFP4",
            "the same without the second scale: small weights become zero",
        )
    },
    of("Q4_0", 2, "Q4_0", "sixteen even values, simple and fast; 4.5 bits a weight"),
    of("Q4_K_S", 14, "Q4_K", "four bits, five where it matters most; 4.6 bits a weight"),
    short("Q4_K", "Q4_K_M", 15),
    of("Q4_K_M", 15, "Q4_K", "four bits, six where it matters; 4.8 bits a weight"),
    of("Q4_1", 3, "Q4_1", "sixteen even values from a minimum; 5 bits a weight"),
    of("Q5_0", 8, "Q5_0", "32 even values; 5.5 bits a weight"),
    of("Q5_K_S", 16, "Q5_K", "five bits everywhere; 5.5 bits a weight"),
    short("Q5_K", "Q5_K_M", 17),
    of("Q5_K_M", 17, "Q5_K", "five bits, six where it matters; 5.7 bits a weight"),
    of("Q5_1", 9, "Q5_1", "32 even values from a minimum; 6 bits a weight"),
    of("Q6_K", 18, "Q6_K", "six bits everywhere; 6.6 bits a weight"),
    of(
        "Q8_0",
        7,
        "Q8_0",
        "eight bits everywhere, hardly to be told from the original; 8.5 bits a weight",
    ),
    of("F16", 1, "F16", "half precision, no blocks; 16 bits a weight"),
    of("BF16", 32, "BF16", "the upper half of single precision, no blocks; 16 bits a weight"),
    of("F32", 0, "F32", "single precision, no blocks; 32 bits a weight"),
];
