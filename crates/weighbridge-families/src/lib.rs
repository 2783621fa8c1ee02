//! Model families: which tensor of one naming is which of another, what the metadata of their files
//! says, and their tokenizers.

pub mod families;
pub mod names;
pub mod projectors;
#[cfg(test)]
mod testing;
pub mod tokenizer;

// The ground, under its own names.
use weighbridge_core::{catalog, change, config, error, text, view, warning};
