//! Models that transformers 5.22.2 with compressed-tensors 0.20.0 cannot load, or loads with other
//! numbers.
//!
//! transformers fuses the matrices of experts while it loads them. It decodes each by the tensors
//! that it knows: not by all types' factors and zero points.

use crate::framework::LoaderFault;
use crate::framework::loader_faults::{has_expert_matrices, is_not_bf16};
use crate::warning::{LOADS_WRONG, WILL_NOT_LOAD};

/// Experts in a form that transformers does not fuse.
const EXPERTS: LoaderFault = LoaderFault {
    kind: WILL_NOT_LOAD,
    concerns: has_expert_matrices,
    message: "transformers 5.22.2 cannot fuse expert matrices of this type, and does not load the \
              model",
};

/// Experts without their factor.
const EXPERTS_WITHOUT_FACTOR: LoaderFault = LoaderFault {
    kind: LOADS_WRONG,
    concerns: has_expert_matrices,
    message: "transformers 5.22.2 does not apply weight_global_scale to experts: their values are \
              thousands of times too large",
};

/// Layers that are decoded to bf16, in a model that computes in another type.
const OTHER_TYPE: LoaderFault = LoaderFault {
    kind: WILL_NOT_LOAD,
    concerns: is_not_bf16,
    message: "the model is not BF16, but transformers 5.22.2 decodes this type to BF16 and cannot \
              run the mix: convert the model to BF16 first",
};

/// Of integers of eight bits, and of four bits with zero points.
pub(super) const INTEGERS: &[LoaderFault] = &[EXPERTS];
pub(super) const MXFP4: &[LoaderFault] = &[OTHER_TYPE];
pub(super) const MXFP8: &[LoaderFault] = &[EXPERTS, OTHER_TYPE];
pub(super) const NVFP4: &[LoaderFault] = &[EXPERTS_WITHOUT_FACTOR, OTHER_TYPE];
