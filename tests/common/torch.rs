//! A PyTorch file opened by its container alone.

use weighbridge::Limits;
use weighbridge::internals::containers::{Opening, format_of, recognize};
use weighbridge::internals::input::Input;
use weighbridge::internals::limits::Budget;
use weighbridge::internals::source::{Slab, Source};

pub fn open(input: Input, strict: bool) -> weighbridge::Result<Source> {
    open_within(input, strict, Limits::default())
}

pub fn open_within(input: Input, strict: bool, limits: Limits) -> weighbridge::Result<Source> {
    let budget = Budget::new(limits.clone());
    let stem = input.name().file_stem().unwrap().to_string_lossy().into_owned();
    let (container, _) = recognize(&input)?.expect("recognised");
    assert_eq!(container.name(), "pth");
    let opening = Opening { budget: &budget, stem: &stem, root: None, strict_pickle: strict };
    let catalog = container.open(&input, &opening)?;
    Ok(Source::new(input, catalog, format_of(container), limits))
}

pub fn sha(source: &Source, index: usize) -> weighbridge::Result<String> {
    let tensor = &source.catalog().tensors[index];
    let mut scratch = Vec::new();
    let staged = source.fetch(tensor, &Slab::whole(0, 0, tensor.bytes), &mut scratch)?;
    Ok(super::sha256(staged.bytes()))
}
