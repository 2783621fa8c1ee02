//! What the classes and functions named in a pickle mean to us.

use super::danger;
pub(super) use super::danger::LONGEST;
use super::element::Element;
use super::wrappers;

/// What a global means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Makes a tensor.
    Rebuild(Rebuild),
    /// A storage of such elements; without, of bytes.
    Storage(Option<Element>),
    /// A torch dtype.
    Dtype(Element),
    /// `torch.Size`, a tuple.
    Size,
    /// `torch.device`.
    Device,
    /// Dictionaries and what behaves like one.
    Dict,
    /// Lists, tuples, sets and the like.
    List,
    /// `bytes` and `bytearray`.
    Bytes,
    /// `copyreg._reconstructor(class, base, state)`.
    Reconstructor,
    /// `_codecs.encode(text, "latin1")`: how protocol 2 spells bytes.
    Encode,
    /// An empty array, filled by its state.
    Array,
    /// An array over a buffer.
    ArrayOverBuffer,
    /// A numpy number.
    Scalar,
    /// A numpy dtype.
    ArrayType,
    /// `torch.storage._load_from_bytes`: another pickle inside this one.
    Nested,
    /// `getattr`: harmless when it spells the name of a known thing, an attack otherwise.
    GetAttr,
    /// Calls what it is given: as dangerous as that.
    Wrapper,
    /// Known, harmless, and without a meaning of its own.
    Inert,
    /// Nothing is known about it.
    Unknown,
    /// Only an attack needs it.
    Dangerous,
}

/// The ways tensors are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rebuild {
    /// (storage, offset, size, strides, ..); the third form has its dtype at place 6.
    Dense,
    /// (storage of bytes, offset, size, strides, dtype, ..).
    DenseTyped,
    /// The first argument is the tensor.
    First,
    /// (array, dtype, device, requires_grad)
    FromArray,
    /// (storage, offset, size, strides, quantizer, ..)
    Quantized,
    /// (layout, (indices.., values, size, ..))
    Sparse,
    /// (dtype, size, strides, requires_grad)
    Meta,
    /// (class, dtype, size, strides, offset, layout, device, requires_grad)
    Wrapper,
    /// (function, class, arguments, state)
    FromType,
    /// (buffer, sizes, strides, offsets)
    Nested,
    /// A parameter whose shape is not known yet.
    Uninitialized,
}

/// What one global means.
pub(super) fn classify(module: &str, name: &str) -> Class {
    match known(module, name) {
        Some(class) => class,
        None if wrappers::is_wrapper(module, name) => Class::Wrapper,
        None if danger::is_dangerous(module, name) => Class::Dangerous,
        None if is_code_free(module) && is_own(name) => Class::Inert,
        None => Class::Unknown,
    }
}

fn known(module: &str, name: &str) -> Option<Class> {
    const NUMBERS: &[&str] = names! {
        float16, float32, float64, longdouble, int8, int16, int32, int64, uint8, uint16, uint32,
        uint64, bool_, bool, complex64, complex128, str_,
    };
    Some(match (module, name) {
        ("torch._utils" | "torch._tensor" | "torch.tensor", _) => Class::Rebuild(rebuild(name)?),
        ("torch.storage", "_load_from_bytes") => Class::Nested,
        ("torch" | "torch.cuda" | "torch.storage" | "torch.sparse", _) => return torch(name),
        ("torch.nn.parameter", "Parameter" | "Buffer") => Class::Rebuild(Rebuild::First),
        ("torch.nn.parameter", "UninitializedParameter" | "UninitializedBuffer") => {
            Class::Rebuild(Rebuild::Uninitialized)
        }
        ("torch.autograd.variable", "Variable") => Class::Rebuild(Rebuild::First),
        ("torch.serialization", "_get_layout") => Class::Inert,
        (
            "torch.jit._pickle",
            "build_intlist" | "build_tensorlist" | "build_doublelist" | "build_boollist"
            | "restore_type_tag",
        ) => Class::List,
        ("torch.jit._pickle", "build_tensor_from_id") => Class::Inert,
        ("torch._C", "_VariableFunctionsClass") => Class::Inert,
        ("collections", "OrderedDict" | "defaultdict" | "Counter") => Class::Dict,
        ("collections", "deque") => Class::List,
        ("builtins" | "__builtin__", _) => builtin(name)?,
        ("copyreg" | "copy_reg", "_reconstructor") => Class::Reconstructor,
        ("_codecs", "encode") => Class::Encode,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Class::Array,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Class::Scalar,
        ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Class::ArrayOverBuffer,
        ("numpy", "ndarray") => Class::Inert,
        ("numpy", "dtype") => Class::ArrayType,
        ("numpy", _) if NUMBERS.contains(&name) => Class::Inert,
        ("numpy.dtypes", _) if name.ends_with("DType") && !name.contains('.') => Class::Inert,
        ("numpy.random._pickle", _) if name.starts_with("__") && name.ends_with("_ctor") => {
            Class::Inert
        }
        ("numpy.random._mt19937", "MT19937") | ("numpy.random._pcg64", "PCG64") => Class::Inert,
        _ => return None,
    })
}

/// Classes of torch itself that hold values and do nothing when they are made, and the classes
/// of TorchScript, whose code is not in the pickle.
fn is_code_free(module: &str) -> bool {
    const PACKAGES: [&str; 5] =
        ["torch.nn", "torch.optim", "torch.ao.nn", "torch.quantization", "__torch__"];
    PACKAGES.iter().any(|package| {
        module.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Whether a name is something of its module, and not reached through what that imports.
fn is_own(name: &str) -> bool {
    !name.contains('.') || name.starts_with(|c: char| c.is_uppercase())
}

fn rebuild(name: &str) -> Option<Rebuild> {
    Some(match name {
        "_rebuild_tensor" | "_rebuild_tensor_v2" => Rebuild::Dense,
        "_rebuild_tensor_v3" => Rebuild::DenseTyped,
        "_rebuild_parameter"
        | "_rebuild_parameter_with_state"
        | "_rebuild_device_tensor_from_cpu_tensor" => Rebuild::First,
        "_rebuild_device_tensor_from_numpy" | "_rebuild_xla_tensor" => Rebuild::FromArray,
        "_rebuild_qtensor" => Rebuild::Quantized,
        "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor" => Rebuild::Sparse,
        "_rebuild_meta_tensor_no_storage" => Rebuild::Meta,
        "_rebuild_wrapper_subclass" => Rebuild::Wrapper,
        "_rebuild_from_type_v2" | "_rebuild_from_type" => Rebuild::FromType,
        "_rebuild_nested_tensor" => Rebuild::Nested,
        _ => return None,
    })
}

fn torch(name: &str) -> Option<Class> {
    const FIXED: &[&str] = names! {
        Tensor, Generator, strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc,
        _mkldnn, jagged, per_tensor_affine, per_channel_affine, per_tensor_symmetric,
        per_channel_symmetric, per_channel_affine_float_qparams, contiguous_format, channels_last,
        channels_last_3d, preserve_format,
    };
    if let Some(kind) = name.strip_suffix("Storage") {
        return match kind {
            "Untyped" | "_Untyped" => Some(Class::Storage(None)),
            "Typed" | "_Typed" => Some(Class::Inert),
            _ => Element::of_storage(kind).map(|element| Class::Storage(Some(element))),
        };
    }
    match name {
        "Size" => Some(Class::Size),
        "device" => Some(Class::Device),
        _ if FIXED.contains(&name) => Some(Class::Inert),
        _ => match name.strip_suffix("Tensor").and_then(Element::of_storage) {
            Some(_) => Some(Class::Inert),
            None => Element::of_dtype(name).map(Class::Dtype),
        },
    }
}

fn builtin(name: &str) -> Option<Class> {
    Some(match name {
        "dict" => Class::Dict,
        "list" | "tuple" | "set" | "frozenset" => Class::List,
        "bytes" | "bytearray" => Class::Bytes,
        "slice" | "complex" | "int" | "float" | "str" | "bool" | "object" | "long" | "unicode"
        | "range" | "xrange" | "Ellipsis" | "NotImplemented" | "NoneType" => Class::Inert,
        "getattr" => Class::GetAttr,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ones() {
        assert_eq!(classify("torch._utils", "_rebuild_tensor_v2"), Class::Rebuild(Rebuild::Dense));
        let float = Element::of_dtype("float32");
        assert_eq!(classify("torch", "FloatStorage"), Class::Storage(float));
        assert_eq!(classify("torch.cuda", "FloatStorage"), Class::Storage(float));
        assert_eq!(classify("torch.storage", "UntypedStorage"), Class::Storage(None));
        assert_eq!(classify("torch", "float32"), Class::Dtype(float.unwrap()));
        assert_eq!(classify("torch.nn.modules.linear", "Linear"), Class::Inert);
        assert_eq!(classify("__torch__.net", "Net"), Class::Inert);
        assert_eq!(classify("argparse", "Namespace"), Class::Unknown);
        assert_eq!(classify("functools", "partial"), Class::Wrapper);
        assert_eq!(classify("__builtin__", "map"), Class::Wrapper);
    }

    #[test]
    fn a_known_room_does_not_shelter() {
        assert_eq!(classify("torch.nn.modules.module", "os"), Class::Dangerous);
        assert_eq!(classify("torch.nn.modules", "linear.os.system"), Class::Dangerous);
        assert_eq!(classify("torch", "load"), Class::Dangerous);
        assert_eq!(classify("torch.nn.modules.module", "torch.load"), Class::Dangerous);
        assert_eq!(classify("torch.nn.modules.module", "torch.special"), Class::Unknown);
        assert_eq!(classify("torch.optim.lr_scheduler", "OneCycleLR._annealing_cos"), Class::Inert);
        assert_eq!(classify("torch", ""), Class::Unknown);
        assert_eq!(classify("torch.nnet", "X"), Class::Unknown);
    }
}
