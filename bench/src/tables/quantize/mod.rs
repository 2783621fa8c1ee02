//! Numbers into fewer bits: block by block against ggml's own C, and a whole model against
//! llama-quantize.

pub mod blocks;
pub mod model;
