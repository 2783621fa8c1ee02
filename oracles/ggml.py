"""ggml's C through ctypes: types, quantizers, decoders and the GGUF writer of its base library.

`ggml_build.sh` makes the library. Nothing here computes: every number comes from ggml.
"""

import ctypes as c

import numpy as np

VERSION = "ggml 0.25.3"
# GGML_TYPE_COUNT of that version.
TYPE_COUNT = 43


class Traits(c.Structure):
    _fields_ = [
        ("name", c.c_char_p), ("elements", c.c_int64), ("interleave", c.c_int64), ("bytes", c.c_size_t),
        ("is_quantized", c.c_bool), ("to_float", c.c_void_p), ("from_float_ref", c.c_void_p),
    ]  # fmt: skip


class InitParams(c.Structure):
    _fields_ = [("size", c.c_size_t), ("buffer", c.c_void_p), ("no_alloc", c.c_bool)]


class FileParams(c.Structure):
    _fields_ = [("no_alloc", c.c_bool), ("context", c.c_void_p)]


class Type:
    """One element or block type, as ggml's own table has it."""

    def __init__(self, number, traits):
        self.number = number
        self.name = traits.name.decode().upper()
        self.elements = traits.elements
        self.bytes = traits.bytes
        self.is_block = traits.is_quantized
        self.to_float = traits.to_float


def address(array):
    return array.ctypes.data_as(c.c_void_p)


class Ggml:
    def __init__(self, path):
        self.lib = lib = c.CDLL(path)
        lib.ggml_get_type_traits.restype = c.POINTER(Traits)
        lib.ggml_quantize_requires_imatrix.restype = c.c_bool
        lib.ggml_quantize_chunk.restype = c.c_size_t
        lib.ggml_quantize_chunk.argtypes = [c.c_int, c.c_void_p, c.c_void_p] + 3 * [c.c_int64] + [c.c_void_p]
        lib.ggml_init.restype = c.c_void_p
        lib.ggml_init.argtypes = [InitParams]
        lib.ggml_new_tensor.restype = c.c_void_p
        lib.ggml_new_tensor.argtypes = [c.c_void_p, c.c_int, c.c_int, c.c_void_p]
        lib.ggml_set_name.argtypes = [c.c_void_p, c.c_char_p]
        lib.ggml_get_data.restype = c.c_void_p
        lib.ggml_get_data.argtypes = [c.c_void_p]
        lib.ggml_nbytes.restype = c.c_size_t
        lib.ggml_nbytes.argtypes = [c.c_void_p]
        lib.gguf_init_empty.restype = c.c_void_p
        lib.gguf_init_from_file.restype = c.c_void_p
        lib.gguf_init_from_file.argtypes = [c.c_char_p, FileParams]
        lib.gguf_set_val_str.argtypes = [c.c_void_p, c.c_char_p, c.c_char_p]
        lib.gguf_add_tensor.argtypes = [c.c_void_p, c.c_void_p]
        lib.gguf_write_to_file.restype = c.c_bool
        lib.gguf_write_to_file.argtypes = [c.c_void_p, c.c_char_p, c.c_bool]
        lib.gguf_get_n_tensors.restype = c.c_int64
        lib.gguf_get_n_tensors.argtypes = [c.c_void_p]
        lib.gguf_get_data_offset.restype = c.c_size_t
        lib.gguf_get_data_offset.argtypes = [c.c_void_p]
        for name, result in [
            ("name", c.c_char_p), ("offset", c.c_size_t), ("size", c.c_size_t),
            ("type", c.c_int), ("ne", c.POINTER(c.c_int64)),
        ]:  # fmt: skip
            function = getattr(lib, "gguf_get_tensor_" + name)
            function.restype = result
            function.argtypes = [c.c_void_p, c.c_int64]
        self.types = [t for t in map(self.type, range(TYPE_COUNT)) if t]

    def type(self, number):
        """None for the numbers of removed types, which have a name and no size."""
        traits = self.lib.ggml_get_type_traits(number).contents
        return Type(number, traits) if traits.elements and traits.bytes else None

    def quantize(self, kind, values, importance, always=False):
        """Rows of f32 as blocks; the importance matrix is used only where ggml insists, or always."""
        values = np.ascontiguousarray(values, np.float32)
        rows, columns = values.shape
        out = np.zeros((rows, columns // kind.elements * kind.bytes), np.uint8)
        special = {"Q8_1": "quantize_row_q8_1_ref", "Q8_K": "quantize_row_q8_K_ref"}.get(kind.name)
        if special:
            function = getattr(self.lib, special)
            function.argtypes = [c.c_void_p, c.c_void_p, c.c_int64]
            function(address(values), address(out), values.size)
            return out
        insists = self.lib.ggml_quantize_requires_imatrix(kind.number)
        matrix = np.ascontiguousarray(importance, np.float32)
        written = self.lib.ggml_quantize_chunk(
            kind.number, address(values), address(out), 0, rows, columns,
            address(matrix) if insists or always else None,
        )
        assert written == out.size, kind.name
        return out

    def decode(self, kind, data):
        """Blocks as f32, flat."""
        data = np.frombuffer(bytes(data), np.uint8)
        out = np.zeros(data.size // kind.bytes * kind.elements, np.float32)
        function = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_int64)
        if kind.name == "Q8_K":
            self.lib.dequantize_row_q8_K.argtypes = [c.c_void_p, c.c_void_p, c.c_int64]
            self.lib.dequantize_row_q8_K(address(data), address(out), out.size)
        else:
            function(kind.to_float)(address(data), address(out), out.size)
        return out

    def write(self, path, metadata, tensors):
        """A GGUF of (name, type, shape outermost first, bytes)."""
        context = self.lib.ggml_init(InitParams(64 << 20, None, False))
        file = self.lib.gguf_init_empty()
        for key, value in metadata.items():
            self.lib.gguf_set_val_str(file, key.encode(), value.encode())
        for name, kind, shape, data in tensors:
            extents = (c.c_int64 * len(shape))(*reversed(shape))
            tensor = self.lib.ggml_new_tensor(context, kind.number, len(shape), extents)
            self.lib.ggml_set_name(tensor, name.encode())
            assert self.lib.ggml_nbytes(tensor) == len(data), name
            c.memmove(self.lib.ggml_get_data(tensor), data, len(data))
            self.lib.gguf_add_tensor(file, tensor)
        assert self.lib.gguf_write_to_file(file, str(path).encode(), False)

    def read(self, path):
        """What ggml's reader finds: (name, type, shape outermost first without leading ones, bytes)."""
        file = self.lib.gguf_init_from_file(str(path).encode(), FileParams(True, None))
        assert file, path
        content = open(path, "rb").read()
        start = self.lib.gguf_get_data_offset(file)
        for i in range(self.lib.gguf_get_n_tensors(file)):
            shape = self.lib.gguf_get_tensor_ne(file, i)[:4][::-1]
            while shape[0] == 1 and len(shape) > 1:
                shape = shape[1:]
            offset = start + self.lib.gguf_get_tensor_offset(file, i)
            data = content[offset : offset + self.lib.gguf_get_tensor_size(file, i)]
            kind = self.type(self.lib.gguf_get_tensor_type(file, i))
            yield self.lib.gguf_get_tensor_name(file, i).decode(), kind, shape, data
