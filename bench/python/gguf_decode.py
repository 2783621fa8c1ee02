"""Decodes raw blocks with gguf-py, once for every line on standard input; prints the seconds.

usage: gguf_decode.py FILE FIRST_BYTE TYPE ROWS ROW_BYTES
"""
import sys
import time

import numpy
from gguf import GGMLQuantizationType, quants

path, first, kind, rows, row_bytes = sys.argv[1:]
rows, row_bytes = int(rows), int(row_bytes)
data = numpy.fromfile(path, numpy.uint8, rows * row_bytes, offset=int(first)).reshape(rows, row_bytes)
for _ in sys.stdin:
    start = time.perf_counter()
    quants.dequantize(data, GGMLQuantizationType[kind])
    print(time.perf_counter() - start, flush=True)
