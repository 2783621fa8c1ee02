"""Whether llama.cpp runs GGUF files, and whether they say the same as each other or as transformers.

    python oracles/check_gguf_runs.py FIRST [OTHER ..]

Each argument is a GGUF file, which a prebuilt llama.cpp (`xllamacpp`) runs, or a repository, which
transformers runs in float32. The same tokens are put in front of each. Printed is the largest difference
of log-probabilities between the first and each other, and an error for what does not run.
"""

import json
import math
import os
import sys
import urllib.request

import torch
import xllamacpp

import transformers

# A token that is whole text. It is forced to come next: nothing is told about bytes that are none.
NEXT = 270
PROMPT = [40, 71, 12, 99, 3, 150, 201, 77, 18, 33, 64, 5]


def of_file(path):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.n_gpu_layers, params.warmup = 64, 1, 0, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    server = xllamacpp.Server(params)
    rows = []
    for end in range(1, len(PROMPT) + 1):
        asked = dict(prompt=PROMPT[:end], n_predict=1, n_probs=10000, logit_bias=[[NEXT, 10000.0]], cache_prompt=False)
        request = urllib.request.Request(server.listening_address + "/completion", json.dumps(asked).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            found = json.load(answer)["completion_probabilities"][0]["top_logprobs"]
        rows.append({entry["id"]: entry["logprob"] for entry in found})
    return rows


def of_repository(path):
    config = transformers.AutoConfig.from_pretrained(path)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.inference_mode():
        numbers = model(input_ids=torch.tensor([PROMPT])).logits[0].float().log_softmax(-1)
    return [dict(enumerate(row.tolist())) for row in numbers]


def difference(a, b):
    worst = 0.0
    for one, other in zip(a, b):
        shared = one.keys() & other.keys()
        assert len(shared) > 100, "too few tokens in common"
        worst = max(worst, *(abs(one[token] - other[token]) for token in shared))
    return worst


if __name__ == "__main__":
    torch.set_num_threads(1)
    first = None
    for path in sys.argv[1:]:
        rows = of_repository(path) if os.path.isdir(path) else of_file(path)
        assert all(math.isfinite(value) for row in rows for value in row.values()), f"{path}: no numbers"
        first = first or rows
        print(f"{difference(first, rows):.2e} {path}", flush=True)
