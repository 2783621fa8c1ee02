//! llama-quantize's mixtures: which weight gets which type, and what files of them say.

mod asked;
mod choices;
mod files;
mod written;
