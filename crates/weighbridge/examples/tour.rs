//! The example of the README: open, decode, convert, compare. Run it where `samples` lies.
#![allow(clippy::print_stdout, missing_docs)] // It prints, and only tests call it.

use weighbridge::ops::{self, ConvertOptions, DiffOptions, OutputType};
use weighbridge::{Model, Result};

pub fn main() -> Result<()> {
    let model = Model::open("samples/tiny-llama-gptq")?;
    for weight in model.weights() {
        println!("{} {:?} {}", weight.name(), weight.shape(), weight.scheme());
    }
    let weight = model.weight("model.layers.0.mlp.up_proj.weight")?;
    let numbers: Vec<f32> = weight.decode_to_vec()?;
    println!("{} numbers, the first is {}", numbers.len(), numbers[0]);

    let options = ConvertOptions::new("tour.safetensors").dtype(OutputType::Bf16);
    ops::convert(&model, &options)?;

    let plain = Model::open("tour.safetensors")?;
    let report = ops::diff(&model, &plain, &DiffOptions::default())?;
    assert!(report.ok, "the same model, rounded to bf16");
    Ok(())
}
