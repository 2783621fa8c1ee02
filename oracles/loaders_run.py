"""What a loader makes of models: the worker of `check_loaders.py`, in the loader's own environment.

    python loaders_run.py transformers|vllm|mlx|llama.cpp MODEL ..

Prints a JSON object per model: the file with its log-probabilities for some tokens, or the error.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy

PROMPT = [40, 71, 12, 99, 3, 150, 201, 77, 18, 33, 64, 5]


def transformers_logits(path):
    import torch

    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model, info = AutoModelForCausalLM.from_pretrained(path, dtype="auto", output_loading_info=True)
    missing = [key for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for key in info.get(kind) or []]
    with torch.inference_mode():
        logits = model.eval()(input_ids=torch.tensor([PROMPT]), use_cache=False).logits[0].float().numpy()
    return logits, {"keys": sorted(map(str, missing))[:3]} if missing else {}


def vllm_logits(path):
    os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_KVCACHE_SPACE="1", VLLM_NO_USAGE_STATS="1", VLLM_CPU_OMP_THREADS_BIND="nobind", HF_HUB_OFFLINE="1")
    from vllm import LLM, SamplingParams

    model = LLM(path, dtype="bfloat16", enforce_eager=True, max_model_len=64, max_num_seqs=1, max_logprobs=-1, enable_prefix_caching=False)
    sampling = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=-1, logprobs=-1, detokenize=False)
    found = model.generate([dict(prompt_token_ids=PROMPT)], sampling, use_tqdm=False)[0]
    rows = [*found.prompt_logprobs[1:], found.outputs[0].logprobs[0]]
    size = max(max(row) for row in rows) + 1
    return numpy.array([[row[id].logprob if id in row else -numpy.inf for id in range(size)] for row in rows]), {}


def mlx_logits(path):
    import mlx.core as mx
    from mlx_lm.utils import load_model

    model, _ = load_model(Path(path))
    # Its kernels for CPUs add up in the type of the model, and some take no other.
    model.set_dtype(mx.float32)
    logits = model(mx.array([PROMPT]))[0].astype(mx.float32)
    return numpy.array(logits), {}


def llama_cpp_logits(path):
    from check_gguf_runs import of_file

    rows = of_file(path)
    size = max(max(row) for row in rows) + 1
    return numpy.array([[row.get(id, numpy.nan) for id in range(size)] for row in rows]), {}


LOADERS = {"transformers": transformers_logits, "vllm": vllm_logits, "mlx": mlx_logits, "llama.cpp": llama_cpp_logits}


def said(error):
    """The line of an error that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return re.sub(r"/\S*/", "", text)[:200]


if __name__ == "__main__":
    loader, answers = sys.argv[1], os.fdopen(os.dup(1), "w")
    # Libraries print what they like.
    os.dup2(2, 1)
    for path in sys.argv[2:]:
        try:
            logits, more = LOADERS[loader](path)
            with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
                numpy.save(file, logits.astype(numpy.float64))
            answer = dict(path=path, logits=file.name, **more)
        except BaseException as error:
            answer = dict(path=path, error=said(error))
        print(json.dumps(answer), file=answers, flush=True)
