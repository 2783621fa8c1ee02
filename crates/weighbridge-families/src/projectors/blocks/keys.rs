//! Entries that the files of most projectors have.

use crate::projectors::keys::KeyRow;
use crate::projectors::keys::Type::{Count, Flag, Listed};
use crate::projectors::keys::Where::{Audio, FileType, Processor, TextWidth, Vision, Yes};
use crate::projectors::projector::Assumption;

/// What configs call the number of layers of an encoder.
#[rustfmt::skip]
pub(crate) const DEPTH: &[&str] = &[
    "n_layers", "num_hidden_layers", "n_layer", "num_layers", "depth", "layers", "encoder_layers",
    "vt_num_hidden_layers",
];
/// What they call its width.
pub(crate) const WIDTH: &[&str] = &["hidden_size", "width", "vt_hidden_size"];
const INNER: &[&str] = &["intermediate_size", "vt_intermediate_size"];
const HEADS: &[&str] = &["num_attention_heads", "num_heads", "heads", "vt_num_attention_heads"];

pub(crate) const FILE: KeyRow = ("general.file_type", Count, FileType);

/// What all files with a vision encoder have.
pub(crate) const VISION: &[KeyRow] = &[
    FILE,
    ("has_vision_encoder", Flag, Yes),
    ("vision.projection_dim", Count, TextWidth),
    ("vision.image_size", Count, Vision(&["image_size"])),
    ("vision.patch_size", Count, Vision(&["patch_size"])),
    ("vision.embedding_length", Count, Vision(WIDTH)),
    ("vision.feed_forward_length", Count, Vision(INNER)),
    ("vision.block_count", Count, Vision(DEPTH)),
    ("vision.attention.head_count", Count, Vision(HEADS)),
    ("vision.image_mean", Listed, Processor(&["image_mean"])),
    ("vision.image_std", Listed, Processor(&["image_std"])),
];

/// What all files with an audio encoder have.
pub(crate) const AUDIO: &[KeyRow] = &[
    FILE,
    ("has_audio_encoder", Flag, Yes),
    ("audio.projection_dim", Count, TextWidth),
    ("audio.embedding_length", Count, Audio(&["hidden_size"])),
    ("audio.feed_forward_length", Count, Audio(&["intermediate_size"])),
    ("audio.block_count", Count, Audio(DEPTH)),
    ("audio.attention.head_count", Count, Audio(&["num_attention_heads"])),
];

pub(crate) const EPSILON: &str = "vision.attention.layer_norm_epsilon";
pub(crate) const AUDIO_EPSILON: &str = "audio.attention.layer_norm_epsilon";
pub(crate) const SCALE: &str = "vision.projector.scale_factor";
/// How many frames become one.
pub(crate) const STACK: &str = "audio.projector.stack_factor";
pub(crate) const MERGE: &str = "vision.spatial_merge_size";
pub(crate) const MIN_PIXELS: &str = "vision.image_min_pixels";
pub(crate) const MAX_PIXELS: &str = "vision.image_max_pixels";
pub(crate) const GELU: KeyRow = ("use_gelu", Flag, Yes);
pub(crate) const SILU: KeyRow = ("use_silu", Flag, Yes);

/// llama.cpp's constant of rotary embeddings, which no file states.
pub(crate) const THETA: Assumption =
    ("vision.rope_parameters.rope_theta", &["10000.0", "10000"], "turns positions by 10000");
/// How many patches a side become one, where a file does not say.
pub(crate) const MERGES_TWO: Assumption =
    ("vision.spatial_merge_size", &["2"], "makes 2 by 2 patches one");
/// Every how many frames sound is cut.
pub(crate) const HUNDRED_FRAMES: Assumption =
    ("audio.n_window", &["50"], "hears 100 frames at once");

/// Names of activations that llama.cpp computes as gelu.
pub(crate) const GELUS: &[&str] =
    &["gelu", "gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_python", "gelu_accurate"];
