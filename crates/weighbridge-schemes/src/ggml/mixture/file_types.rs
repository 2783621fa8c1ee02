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
    FileType { name, rules, id, base: name, about: "alias of the medium (_M) mixture" }
}

/// Every file type, from the fewest bits to the most.
pub(super) static FILE_TYPES: &[FileType] = &[
    of("Q1_0", 40, "Q1_0", "signs only, one scale per 128 weights; 1.1 bits per weight"),
    of("IQ1_S", 24, "IQ1_S", "codebook grid, needs an importance matrix; 1.6 bits per weight"),
    of("TQ1_0", 36, "TQ1_0", "ternary, for models trained as ternary; 1.7 bits per weight"),
    of(
        "IQ1_M",
        31,
        "IQ1_M",
        "codebook grid with finer scales, needs an importance matrix; 1.8 bits per weight",
    ),
    of("TQ2_0", 37, "TQ2_0", "ternary, faster to decode; 2.1 bits per weight"),
    of("IQ2_XXS", 19, "IQ2_XXS", "codebook grid, needs an importance matrix; 2.1 bits per weight"),
    of("Q2_0", 41, "Q2_0", "2-bit, one scale per 64 weights; 2.3 bits per weight"),
    of(
        "IQ2_XS",
        20,
        "IQ2_XS",
        "larger codebook grid, needs an importance matrix; 2.3 bits per weight",
    ),
    of("IQ2_S", 28, "IQ2_XS", "IQ2_XS with more bits for sensitive weights; 2.5 bits per weight"),
    of("IQ2_M", 29, "IQ2_S", "codebook mixture, needs an importance matrix; 2.7 bits per weight"),
    of(
        "Q2_K_S",
        21,
        "Q2_K",
        "2-bit for most weights, needs an importance matrix; 2.9 bits per weight",
    ),
    of("IQ3_XXS", 23, "IQ3_XXS", "codebook grid, needs an importance matrix; 3.1 bits per weight"),
    of("Q2_K", 10, "Q2_K", "2-bit, 3-bit for sensitive weights; 3.2 bits per weight"),
    of(
        "IQ3_XS",
        22,
        "IQ3_S",
        "mixture of two codebook grids, needs an importance matrix; 3.3 bits per weight",
    ),
    of("IQ3_S", 26, "IQ3_S", "codebook grid; 3.4 bits per weight"),
    of("Q3_K_S", 11, "Q3_K", "3-bit throughout; 3.5 bits per weight"),
    of("IQ3_M", 27, "IQ3_S", "codebook grid, 4-bit for sensitive weights; 3.7 bits per weight"),
    short("Q3_K", "Q3_K_M", 12),
    of("Q3_K_M", 12, "Q3_K", "3-bit, 4- or 5-bit for sensitive weights; 3.9 bits per weight"),
    of("Q3_K_L", 13, "Q3_K", "3-bit, 5-bit for sensitive weights; 4.3 bits per weight"),
    of("IQ4_XS", 30, "IQ4_XS", "4-bit non-linear; 4.3 bits per weight"),
    of("MXFP4_MOE", 38, "MXFP4", "4-bit floats for experts, 8-bit for the rest"),
    of(
        "MXFP4-ggml",
        38,
        "MXFP4",
        "4-bit floats, one power-of-two scale per 32 weights; 4.3 bits per weight",
    ),
    of("IQ4_NL", 25, "IQ4_NL", "4-bit non-linear, one scale per 32 weights; 4.5 bits per weight"),
    of(
        "NVFP4",
        39,
        "NVFP4",
        "4-bit floats, one scale per 16 weights and one per tensor; 4.5 bits per weight",
    ),
    FileType {
        rules: "NVFP4",
        ..of("NVFP4-ggml", 39, "NVFP4", "NVFP4 without the tensor scale: small weights become zero")
    },
    of("Q4_0", 2, "Q4_0", "4-bit linear, simple and fast; 4.5 bits per weight"),
    of("Q4_K_S", 14, "Q4_K", "4-bit, 5-bit for the most sensitive weights; 4.6 bits per weight"),
    short("Q4_K", "Q4_K_M", 15),
    of("Q4_K_M", 15, "Q4_K", "4-bit, 6-bit for sensitive weights; 4.8 bits per weight"),
    of("Q4_1", 3, "Q4_1", "4-bit linear with a minimum; 5 bits per weight"),
    of("Q5_0", 8, "Q5_0", "5-bit linear; 5.5 bits per weight"),
    of("Q5_K_S", 16, "Q5_K", "5-bit throughout; 5.5 bits per weight"),
    short("Q5_K", "Q5_K_M", 17),
    of("Q5_K_M", 17, "Q5_K", "5-bit, 6-bit for sensitive weights; 5.7 bits per weight"),
    of("Q5_1", 9, "Q5_1", "5-bit linear with a minimum; 6 bits per weight"),
    of("Q6_K", 18, "Q6_K", "6-bit throughout; 6.6 bits per weight"),
    of(
        "Q8_0",
        7,
        "Q8_0",
        "8-bit throughout, nearly identical to the original; 8.5 bits per weight",
    ),
    of("F16", 1, "F16", "half precision, no blocks; 16 bits per weight"),
    of("BF16", 32, "BF16", "bfloat16, no blocks; 16 bits per weight"),
    of("F32", 0, "F32", "single precision, no blocks; 32 bits per weight"),
];
