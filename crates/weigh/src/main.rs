//! `weigh`: says exactly what is inside a model weight file.
fn main() {}
