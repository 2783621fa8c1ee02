//! llama-quantize's mixtures: which weight gets which type, and what becomes of its numbers.

mod asked;
mod choices;
mod files;
mod models;
mod overflow;
mod planning;
mod reencoded;
mod refused;
mod rows;
mod scales;
mod threads;
mod whole;
