// ggml on a big-endian machine: built for one by ggml_big_endian.py, run under its emulator.
//
//   ggml-big-endian FILE.gguf               lists name, type, extents, place and size of tensors
//   ggml-big-endian TYPE ROWS COLUMNS       quantizes the f32 on standard input: ROWS * COLUMNS
//                                           weights, then COLUMNS importances
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml.h"
#include "gguf.h"

void quantize_row_q8_1_ref(const float * x, void * y, int64_t k);
void quantize_row_q8_K_ref(const float * x, void * y, int64_t k);

static int list(const char * path) {
    struct gguf_init_params params = {true, NULL};
    struct gguf_context * file = gguf_init_from_file(path, params);
    if (!file) {
        return 1;
    }
    for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
        const int64_t * ne = gguf_get_tensor_ne(file, i);
        printf("%s %d %ld %ld %ld %zu %zu\n", gguf_get_tensor_name(file, i), gguf_get_tensor_type(file, i),
               (long) ne[0], (long) ne[1], (long) ne[2],
               gguf_get_data_offset(file) + gguf_get_tensor_offset(file, i), gguf_get_tensor_size(file, i));
    }
    return 0;
}

static float * floats(size_t count) {
    float * values = malloc(count * sizeof(float));
    if (fread(values, sizeof(float), count, stdin) != count) {
        exit(1);
    }
    return values;
}

int main(int argc, char ** argv) {
    if (argc == 2) {
        return list(argv[1]);
    }
    enum ggml_type type = atoi(argv[1]);
    int64_t rows = atol(argv[2]), columns = atol(argv[3]);
    const float * values = floats(rows * columns);
    const float * importance = floats(columns);
    size_t bytes = ggml_row_size(type, columns) * rows;
    void * out = calloc(1, bytes);
    if (type == GGML_TYPE_Q8_1) {
        quantize_row_q8_1_ref(values, out, rows * columns);
    } else if (type == GGML_TYPE_Q8_K) {
        quantize_row_q8_K_ref(values, out, rows * columns);
    } else {
        ggml_quantize_chunk(type, values, out, 0, rows, columns,
                            ggml_quantize_requires_imatrix(type) ? importance : NULL);
    }
    return fwrite(out, 1, bytes, stdout) != bytes;
}
