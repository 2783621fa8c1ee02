//! Schemes with a model, a plan or a file: what quantizers make of whole models, held against what
//! other libraries make of them.

mod bnb;
mod compressed;
mod fp8;
mod mlx;
mod mx;
mod nvfp4;
mod own_encoders;
mod quantizing;
mod run;
mod scaled_fp4;
