//! The families: which names each of them uses, and what GGUF changes in its values. The names
//! themselves are in `rows`.

use super::linear::Part;
use super::rows::*;

/// How a GGUF tensor lies in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// As it is; several of them one after the other, cut into equal parts.
    Plain,
    /// As it is, or with a constant added ([`Family::norm_add`]).
    Norm,
    /// As it is, or with the rows of each query head in another order.
    Query,
    /// As it is, or with the rows of each key head in another order.
    Key,
    /// Query, key and value rows one after the other.
    Qkv,
    /// One row a token.
    Embedding,
    /// One row a position; GGUF may leave out the first ones, which no token has.
    Positions,
    /// One of the matrices that GGUF stacks.
    Expert,
    /// The matrices of all experts, stacked.
    Experts,
    /// The matrices of all experts, stacked; each holds several, one after the other.
    Stacked,
    /// The same, but each is transposed: several lie side by side.
    Across,
    /// The same, but the columns of several take turns; of vectors, the numbers.
    InTurn,
    /// The matrices of all heads, stacked.
    Heads,
    /// Key rows and value rows, head by head; GGUF has the keys of each head transposed.
    KeyValue,
    /// Of linear attention, with value heads in another order.
    Linear(Part),
    /// The same by the logarithms of what GGUF has below zero, one a value head.
    Decay,
}

/// A module, what is in it, and how.
pub(super) type Row = (&'static str, &'static [&'static str], How);

/// Models that share names and changes of values.
#[derive(Debug)]
pub(super) struct Family {
    /// What configs and GGUF files call it; the first is how it is shown.
    pub names: &'static [&'static str],
    /// Its modules in Hugging Face's names.
    pub rows: &'static [&'static [Row]],
    /// GGUF's tensors that are not common names as they are.
    pub gguf: &'static [&'static [Row]],
    /// Whether GGUF has the rows of query and key heads in pairs, where Hugging Face has halves.
    pub pairs: bool,
    /// What GGUF adds to Hugging Face's norms.
    pub norm_add: f32,
    /// Whether GGUF leaves out embedding rows that no token uses.
    pub cuts_embedding: bool,
    /// Whether the output head shares the embedding's numbers, unless a config says otherwise.
    pub tied: bool,
    /// Whether there may be layers that predict further tokens, behind those that the config counts.
    /// The converter may leave them out.
    pub predicts: bool,
    /// Whether it does.
    pub drops_next: bool,
    /// Which output heads it leaves out.
    pub drops_head: DropsHead,
    /// How names of weights begin that the converter leaves out, and what they are.
    pub left_out: &'static [(&'static str, &'static str)],
    /// Models that GGUF calls by the same name, but changes in ways that are not known here.
    pub unlike: &'static [&'static str],
}

impl Family {
    /// Why converters leave out a weight, if they do. Names may have the prefix of the model.
    pub fn leaves_out(&self, name: &str, prefix: &str) -> Option<&'static str> {
        let below = name.strip_prefix(prefix).unwrap_or(name);
        let is_one = |start: &str| below.starts_with(start) || name.starts_with(start);
        self.left_out.iter().find(|(start, _)| is_one(start)).map(|(_, what)| *what)
    }
}

/// Whether the converter writes an output head that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropsHead {
    /// It does, even if it shares the embedding's numbers.
    Never,
    /// Not if the config says that it shares the embedding's numbers.
    Tied,
    /// It does not.
    Always,
}

const LLAMA: Family = Family {
    names: &["llama", "mistral", "mixtral", "mistral3", "ministral3"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, MIXTRAL, EXPERTS],
    gguf: &[GGUF, GGUF_FUSED],
    pairs: true,
    norm_add: 0.0,
    cuts_embedding: false,
    tied: false,
    predicts: false,
    drops_next: false,
    drops_head: DropsHead::Never,
    left_out: &[],
    unlike: &[],
};
const QWEN2: Family =
    Family { names: &["qwen2"], rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS], pairs: false, ..LLAMA };
const GEMMA: Family = Family {
    names: &["gemma"],
    pairs: false,
    norm_add: 1.0,
    tied: true,
    drops_head: DropsHead::Always,
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    ..LLAMA
};

const BERT: Family = Family {
    names: &["bert", "roberta", "xlm-roberta"],
    rows: &[BOTH_WAYS],
    left_out: &[
        ("pooler.", "the pooling layer, which the converter leaves out"),
        ("cls.predictions.", "the head for masked words, which the converter leaves out"),
        ("cls.seq_relationship.", "the head for next sentences, which the converter leaves out"),
    ],
    ..QWEN2
};

/// Every family that is known.
pub(super) static FAMILIES: &[Family] = &[
    LLAMA,
    QWEN2,
    Family { names: &["qwen3"], rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS], ..QWEN2 },
    Family {
        names: &["qwen3moe", "qwen3_moe"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS],
        ..QWEN2
    },
    GEMMA,
    Family { names: &["gemma2"], rows: &[TRUNK, ATTENTION, MLP, FOUR_NORMS], ..GEMMA },
    Family {
        names: &["gemma3", "gemma3_text"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS],
        cuts_embedding: true,
        ..GEMMA
    },
    Family {
        names: &["qwen2moe", "qwen2_moe"],
        rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERT],
        ..QWEN2
    },
    Family { names: &["phi3"], rows: &[TRUNK, ATTENTION, FUSED_MLP, TWO_NORMS], ..QWEN2 },
    Family { names: &["granite"], rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS], ..LLAMA },
    Family { names: &["smollm3"], rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS], tied: true, ..LLAMA },
    Family {
        names: &["olmo2", "olmo3"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS_AFTER],
        ..QWEN2
    },
    // Hugging Face has their heads in pairs, as GGUF does.
    Family {
        names: &["cohere", "command-r"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, ONE_NORM],
        tied: true,
        ..QWEN2
    },
    Family { names: &["cohere2"], rows: &[TRUNK, ATTENTION, MLP, ONE_NORM], tied: true, ..QWEN2 },
    Family {
        names: &["starcoder2"],
        rows: &[TRUNK, ATTENTION, UNGATED_MLP, TWO_NORMS],
        tied: true,
        ..QWEN2
    },
    // With rotary embeddings in sections, as the models that see images have them, the converter
    // changes the order of rows.
    Family {
        names: &["glm4"],
        rows: &[TRUNK, ATTENTION, FUSED_MLP, GLM_NORMS],
        unlike: &["glm4v", "glm4v_text", "glm_ocr", "glm_ocr_text"],
        ..QWEN2
    },
    Family {
        names: &["glm4moe", "glm4_moe"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS_BETWEEN, EXPERTS, SHARED_EXPERTS, NEXTN],
        predicts: true,
        ..QWEN2
    },
    Family {
        names: &["llama4", "llama4_text"],
        rows: &[TRUNK, ATTENTION, TWO_NORMS, LLAMA4],
        ..QWEN2
    },
    Family {
        names: &["gpt-oss", "gpt_oss"],
        rows: &[TRUNK, ATTENTION, NORMS_BETWEEN, GPT_OSS],
        ..QWEN2
    },
    Family {
        names: &["deepseek2", "deepseek_v2", "deepseek_v3"],
        rows: &[TRUNK, ATTENTION, LATENT_ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS, NEXTN],
        predicts: true,
        drops_next: true,
        drops_head: DropsHead::Tied,
        ..QWEN2
    },
    Family {
        names: &[
            "qwen35",
            "qwen35moe",
            "qwen3_5",
            "qwen3_5_text",
            "qwen3_5_moe",
            "qwen3_5_moe_text",
        ],
        rows: &[
            TRUNK,
            ATTENTION,
            LINEAR_ATTENTION,
            HEAD_NORMS,
            MLP,
            NORMS_BETWEEN,
            EXPERTS,
            SHARED_EXPERT,
            NEXTN,
        ],
        gguf: &[GGUF, GGUF_LINEAR],
        norm_add: 1.0,
        predicts: true,
        ..QWEN2
    },
    BERT,
    // Those with experts have their matrices in other shapes.
    Family {
        names: &["nomic-bert", "nomic_bert"],
        rows: &[NOMIC_BERT],
        unlike: &["nomic-bert-moe"],
        ..BERT
    },
];

/// Endings of names that not every library stores, because they can be computed from the config,
/// and what they are.
pub(super) const COMPUTED: &[(&str, &str)] = &[
    ("rope_freqs.weight", "rotary scaling factors, computed from the config"),
    ("rope_factors_long.weight", "rotary scaling factors, which are in the config"),
    ("rope_factors_short.weight", "rotary scaling factors, which are in the config"),
    (".attn_rot_embd.weight", "rotary frequencies, computed from the config"),
    ("rotary_emb.inv_freq", "rotary frequencies, computed from the config"),
    ("rope.freqs", "rotary frequencies, computed from the config"),
    (".attention.masked_bias", "a constant of the attention mask"),
    ("embeddings.position_ids", "positions, counted from zero"),
];

/// How names of the vision model begin, at any dot: GGUF keeps it in a separate file.
pub(super) const VISION: &[&str] = &[
    "vision_tower.",
    "vision_model.",
    "vision_encoder.",
    "vision_language_adapter.",
    "visual.",
    "multi_modal_projector.",
    "multimodal_projector.",
    "patch_merger.",
    "pre_mm_projector_norm.",
];
