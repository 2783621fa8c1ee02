//! Model families: which tensor of one naming is which of another, what the metadata of their files
//! says, and their tokenizers.

#[allow(dead_code, unused_imports)] // Words that only some families need.
pub mod families;
pub mod names;
#[allow(dead_code, unused_imports)] // The same of projectors.
pub mod projectors;
#[cfg(test)]
mod testing;
pub mod tokenizer;

// The ground, under its own names.
use weighbridge_core::{catalog, change, config, error, text, view, warning};
