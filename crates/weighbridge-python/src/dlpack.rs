//! DLPack, the protocol for sharing arrays between Python libraries, in both of its forms.
//!
//! A capsule carries a pointer to a structure with the address of the values and a deleter. A
//! consumer renames the capsule and calls the deleter later; otherwise the capsule's destructor does.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use weighbridge::DType;

use crate::tensor::Memory;

/// The CPU.
pub(crate) const DEVICE: (i32, i32) = (1, 0);

const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";

/// The type of a value: its code, its bits, and the lanes per element.
#[derive(Clone, Copy)]
#[repr(C)]
struct Type {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// The layout of an array in memory.
#[repr(C)]
struct Described {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: Type,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

/// The form since DLPack 1.0.
#[repr(C)]
struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Described,
}

/// The form before DLPack 1.0.
#[repr(C)]
struct Legacy {
    tensor: Described,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// The data that a capsule keeps alive until its consumer releases it.
pub(crate) struct Exported {
    memory: Arc<Memory>,
    dtype: Type,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    is_copied: bool,
}

impl Exported {
    pub(crate) fn new(
        memory: Arc<Memory>,
        dtype: DType,
        shape: &[u64],
        is_copied: bool,
    ) -> PyResult<Self> {
        let dtype = type_of(dtype)
            .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no name for {dtype}")))?;
        let shape: Box<[i64]> =
            shape.iter().map(|&side| i64::try_from(side)).collect::<Result<_, _>>()?;
        let mut strides = vec![1i64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
        }
        Ok(Self { memory, dtype, shape, strides: strides.into(), is_copied })
    }

    fn described(&mut self) -> Described {
        let bytes = self.memory.bytes();
        let data = if bytes.is_empty() { std::ptr::null_mut() } else { bytes.as_ptr().cast_mut() };
        Described {
            data: data.cast(),
            device: [DEVICE.0, DEVICE.1],
            ndim: i32::try_from(self.shape.len()).unwrap_or(i32::MAX),
            dtype: self.dtype,
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: 0,
        }
    }

    /// A capsule in the form that the consumer understands.
    pub(crate) fn capsule(mut self, py: Python<'_>, versioned: bool) -> PyResult<Bound<'_, PyAny>> {
        let tensor = self.described();
        let flags = if self.memory.is_read_only() { READ_ONLY } else { 0 }
            | if self.is_copied { COPIED } else { 0 };
        let context = Box::into_raw(Box::new(self)).cast::<c_void>();
        let (capsule, end): (_, Box<dyn FnOnce()>) = if versioned {
            let version = Version { major: 1, minor: 0 };
            let deleter = Some(end_versioned as unsafe extern "C" fn(*mut Versioned));
            let managed = Versioned { version, context, deleter, flags, tensor };
            let managed = Box::into_raw(Box::new(managed));
            // SAFETY: a name that lives for ever, and a pointer that its destructor frees.
            let capsule = unsafe {
                ffi::PyCapsule_New(managed.cast(), VERSIONED.as_ptr(), Some(drop_versioned))
            };
            // SAFETY: called only if no capsule has the pointer.
            (capsule, Box::new(move || unsafe { end_versioned(managed) }))
        } else {
            let deleter = Some(end_legacy as unsafe extern "C" fn(*mut Legacy));
            let managed = Box::into_raw(Box::new(Legacy { tensor, context, deleter }));
            // SAFETY: as above.
            let capsule =
                unsafe { ffi::PyCapsule_New(managed.cast(), LEGACY.as_ptr(), Some(drop_legacy)) };
            // SAFETY: as above.
            (capsule, Box::new(move || unsafe { end_legacy(managed) }))
        };
        if capsule.is_null() {
            end();
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a new reference, which is ours.
        Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
    }
}

/// The deleter. A consumer calls it on any thread, with or without the interpreter lock, so it must
/// not touch Python objects.
unsafe extern "C" fn end_versioned(managed: *mut Versioned) {
    // SAFETY: made by `capsule`, and ended once: by the consumer, or by the capsule if there is none.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

/// The deleter of the older form.
unsafe extern "C" fn end_legacy(managed: *mut Legacy) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

/// The pointer in a capsule that was not consumed.
unsafe fn untaken<T>(capsule: *mut ffi::PyObject, name: &CStr) -> Option<*mut T> {
    // SAFETY: the interpreter calls a destructor with its capsule; a taken one has another name.
    unsafe {
        let is_untaken = ffi::PyCapsule_IsValid(capsule, name.as_ptr()) == 1;
        is_untaken.then(|| ffi::PyCapsule_GetPointer(capsule, name.as_ptr()).cast())
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: the pointer is the one that `capsule` put there.
    unsafe {
        if let Some(managed) = untaken(capsule, VERSIONED) {
            end_versioned(managed);
        }
    }
}

unsafe extern "C" fn drop_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if let Some(managed) = untaken(capsule, LEGACY) {
            end_legacy(managed);
        }
    }
}

/// An error if another device is requested: the values are in CPU memory.
pub(crate) fn check_device(device: Option<(i32, i32)>) -> PyResult<()> {
    match device {
        None | Some(DEVICE) => Ok(()),
        Some(other) => {
            let why = format!("weights are in CPU memory {DEVICE:?}, not on device {other:?}");
            Err(PyBufferError::new_err(why))
        }
    }
}

/// The DLPack code of a type; `None` if it has none, or if no library accepts it (packed types).
fn type_of(dtype: DType) -> Option<Type> {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::C32 | DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
        DType::F8_E4M3 => 10,
        DType::F8_E4M3FNUZ => 11,
        DType::F8_E5M2 => 12,
        DType::F8_E5M2FNUZ => 13,
        DType::F8_E8M0 => 14,
        _ => return None,
    };
    Some(Type { code, bits: u8::try_from(dtype.bits()).ok()?, lanes: 1 })
}
