"""llama.cpp as a library: the one inside the Python package `xllamacpp`, called through its C interface.

Run as a script it answers requests for `run`, pickled on its standard input, until llama.cpp aborts. Structures are
passed as blobs. The offsets are those of include/llama.h; `check_layout` compares the defaults that the library itself
fills in.
"""

import ctypes
import glob
import os
import pickle
import struct
import sys

import numpy
import xllamacpp

CONTEXT = 64
F16, F32 = 1, 0
ERROR = 4
LOADING = "error loading model: "
# Bytes from the start of llama_context_params.
N_CTX, N_BATCH, N_UBATCH, N_THREADS, POOLING, FLASH, TYPE_K, EMBEDDINGS = 0, 4, 8, 28, 44, 52, 104, 136


class Blob(ctypes.Structure):
    # Larger than every structure that is passed by value: what follows is not read.
    _fields_ = [("data", ctypes.c_ubyte * 256)]


class Batch(ctypes.Structure):
    pointers = ["token", "embd", "pos", "n_seq_id", "seq_id", "logits"]
    _fields_ = [("n_tokens", ctypes.c_int32), *[(name, ctypes.c_void_p) for name in pointers]]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
said = []
library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "xllamacpp*.so"))[0])


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


model_defaults = function("llama_model_default_params", Blob)
context_defaults = function("llama_context_default_params", Blob)
load = function("llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Blob)
free_model = function("llama_model_free", None, ctypes.c_void_p)
new_context = function("llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p, Blob)
free_context = function("llama_free", None, ctypes.c_void_p)
vocabulary = function("llama_model_get_vocab", ctypes.c_void_p, ctypes.c_void_p)
count_tokens = function("llama_vocab_n_tokens", ctypes.c_int32, ctypes.c_void_p)
width = function("llama_model_n_embd", ctypes.c_int32, ctypes.c_void_p)
new_batch = function("llama_batch_init", Batch, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
free_batch = function("llama_batch_free", None, Batch)
decode = function("llama_decode", ctypes.c_int32, ctypes.c_void_p, Batch)
logits = function("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
embeddings = function("llama_get_embeddings_ith", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
keep = LOG(lambda level, text, _: said.append((level, text.decode(errors="replace"))))
library.llama_log_set(keep, None)
library.llama_backend_init()


def put(blob, offset, kind, *values):
    struct.pack_into(kind, blob.data, offset, *values)


def check_layout():
    blob = bytes(context_defaults().data)
    sizes = struct.unpack_from("3I", blob, N_CTX)
    types = struct.unpack_from("2i", blob, TYPE_K)
    assert sizes == (512, 2048, 512) and types == (F16, F16), "llama_context_params has another layout"
    assert struct.unpack_from("2i", blob, N_THREADS) == (4, 4) and blob[EMBEDDINGS] == 0
    assert struct.unpack_from("3i", blob, POOLING) == (-1, -1, -1)


def context_of(model, embed):
    """A context that counts in F32 throughout."""
    params = context_defaults()
    put(params, N_CTX, "3I", CONTEXT, CONTEXT, CONTEXT)
    put(params, N_THREADS, "2i", 1, 1)
    put(params, FLASH, "i", 0)
    put(params, TYPE_K, "2i", F32, F32)
    if embed:
        put(params, POOLING, "i", 0)
        put(params, EMBEDDINGS, "?", True)
    return new_context(model, params)


def fill(batch, tokens):
    def array(name, kind):
        return ctypes.cast(getattr(batch, name), ctypes.POINTER(kind))

    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        array("token", ctypes.c_int32)[i] = token
        array("pos", ctypes.c_int32)[i] = i
        array("n_seq_id", ctypes.c_int32)[i] = 1
        ctypes.cast(array("seq_id", ctypes.c_void_p)[i], ctypes.POINTER(ctypes.c_int32))[0] = 0
        array("logits", ctypes.c_int8)[i] = 1


def rows(context, tokens, length, embed):
    batch = new_batch(len(tokens), 0, 1)
    fill(batch, tokens)
    status = decode(context, batch)
    free_batch(batch)
    if status != 0:
        raise RuntimeError(f"llama_decode returned {status}")
    row = embeddings if embed else logits
    return numpy.stack([numpy.ctypeslib.as_array(row(context, i), [length]).copy() for i in range(len(tokens))])


def complaint():
    """The first error of the last call, or the more telling one that says what is wrong with a model."""
    errors = [text.strip() for level, text in said if level == ERROR]
    telling = next((text for text in errors if LOADING in text), errors[0] if errors else "no message")
    return telling.split(LOADING)[-1]


def run(path, tokens, embed=False):
    """What a GGUF file says of each token: logits, or with `embed` the last hidden states."""
    said.clear()
    model = load(path.encode(), model_defaults())
    if not model:
        raise RuntimeError(complaint())
    try:
        context = context_of(model, embed)
        if not context:
            raise RuntimeError(complaint())
        try:
            return rows(context, tokens, width(model) if embed else count_tokens(vocabulary(model)), embed)
        finally:
            free_context(context)
    finally:
        free_model(model)


def serve():
    answers = os.fdopen(os.dup(1), "wb")
    # What the library prints goes where errors go.
    os.dup2(2, 1)
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = run(*request)
        except RuntimeError as error:
            answer = str(error)
        pickle.dump(answer, answers)
        answers.flush()


check_layout()
if __name__ == "__main__":
    serve()
