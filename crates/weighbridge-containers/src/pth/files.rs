//! How PyTorch's files are named and found, and what is easily taken for one.

use crate::conventions::{Configs, Conventions, Extension, Header, Magic, Signature};

/// What the format says about its files.
pub(super) static FILES: Conventions = Conventions {
    name: "pth",
    label: "PyTorch",
    promise: "a PyTorch checkpoint, which begins with `PK` or is a pickle",
    extensions: EXTENSIONS,
    header: Header::Last(64 << 10),
    preference: 2,
    magic: &[
        Magic::start(b"PK\x03\x04"),
        Magic::start(b"\x80\x02"),
        Magic::start(b"\x80\x03"),
        Magic::start(b"\x80\x04"),
        Magic::start(b"\x80\x05"),
        Magic { offset: 257, bytes: b"ustar" },
    ],
    indexed: true,
    independent: false,
    stems: STEMS,
    not_weights: &[LEFTOVERS, &["tokenizer*"]],
    look_alikes: &[
        pickle(b"\x80\x02"),
        pickle(b"\x80\x03"),
        pickle(b"\x80\x04"),
        pickle(b"\x80\x05"),
    ],
    ..Conventions::USUAL
};

/// What libraries call the file with the weights, best first.
pub(crate) const STEMS: &[&[&str]] = &[
    &["model"],
    &["diffusion_pytorch_model"],
    &["pytorch_model", "open_clip_pytorch_model", "open_clip_model"],
    &["model*"],
    &["consolidated*"],
    &["adapter_model"],
];

/// What training leaves beside the weights.
pub(crate) const LEFTOVERS: &[&str] = &[
    "training_args",
    "scheduler",
    "scaler",
    "trainer_state",
    "args",
    "metadata",
    "optimizer*",
    "rng_state*",
    "random_states*",
    "*_optim_states",
    "*.optim",
];

/// Training frameworks write `.pt`, `.pth` and `.ckpt` files by the thousand and put no config
/// beside them.
const EXTENSIONS: &[Extension] = &[
    Extension::new("bin", Configs::Always).shared(),
    Extension::new("pt", Configs::IfPacked),
    Extension::new("pth", Configs::IfPacked),
    Extension::new("ckpt", Configs::IfPacked),
    Extension::new("tar", Configs::Always).unlisted(),
    Extension::new("th", Configs::Always).unlisted(),
    Extension::new("pkl", Configs::Always).unlisted(),
    Extension::new("pickle", Configs::Always).unlisted(),
];

const fn pickle(magic: &'static [u8]) -> Signature {
    let hint = || {
        let formats = crate::labels().join(", ");
        format!("save its arrays in a format that can be read: {formats}")
    };
    let what = "a pickle that is not a PyTorch checkpoint";
    Signature { magic: Magic::start(magic), what, hint, ambiguous: true }
}
