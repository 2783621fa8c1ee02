"""Capsules of DLPack, opened with nothing but ctypes."""

from __future__ import annotations

import ctypes
from typing import NamedTuple


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Legacy(ctypes.Structure):
    _fields_ = [
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Seen(NamedTuple):
    """What a capsule says."""

    name: str
    version: tuple[int, int] | None
    is_read_only: bool
    is_copied: bool
    address: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    data: bytes


def look(capsule: object) -> Seen:
    """Reads a capsule that nobody has taken, and leaves it so."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    at = pointer_of(capsule, name)
    version, flags = None, 0
    if name == b"dltensor_versioned":
        managed = ctypes.cast(at, ctypes.POINTER(_Versioned)).contents
        version, flags, tensor = (managed.major, managed.minor), managed.flags, managed.tensor
    else:
        tensor = ctypes.cast(at, ctypes.POINTER(_Legacy)).contents.tensor
    shape = tuple(tensor.shape[: tensor.ndim])
    count = 1
    for side in shape:
        count *= side
    data = b""
    if count:
        data = ctypes.string_at(tensor.data + tensor.byte_offset, count * tensor.bits // 8)
    return Seen(
        name.decode(),
        version,
        bool(flags & 1),
        bool(flags & 2),
        (tensor.data or 0) + tensor.byte_offset,
        (tensor.device_type, tensor.device_id),
        (tensor.code, tensor.bits, tensor.lanes),
        shape,
        tuple(tensor.strides[: tensor.ndim]),
        data,
    )
