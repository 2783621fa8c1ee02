"""Which type llama-quantize gives to which weight, over models made for its rules.

    python oracles/quantize_choices.py LLAMA_CPP LLAMA_QUANTIZE tests/files/quantize

LLAMA_CPP is the source tree (`ggml_build.sh DIR` leaves it in DIR/src/vendor/llama.cpp), for its gguf-py.
LLAMA_QUANTIZE is the program, built from that tree with
`cmake -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DGGML_OPENMP=OFF` (target llama-quantize).

Every model is a GGUF with the entries and names of its architecture and rows of zeros, for which
`llama-quantize --dry-run` says what it would do. `choices.json` has, for each model:

* `entries`: what its metadata says, `general.architecture` included;
* `tensors`: name, shape (outermost first) and type, in the order of the file;
* `order`: the places of the tensors, in the order in which llama-quantize writes them;
* `runs`: `type` (the file type), `options` (as they were given), and
  either `error` (what it says) or `types`: one letter for each tensor, in llama-quantize's order, whose
  meaning is in `letters`; `.` for a tensor that stays as it is. `needs_importance` where it says that it will.
"""

import json
import os
import re
import string
import struct
import subprocess
import sys
import tempfile

import numpy as np

LLAMA_CPP, QUANTIZE, OUT = sys.argv[1:4]
sys.path[:0] = [os.path.join(LLAMA_CPP, "gguf-py")]
import gguf  # noqa: E402

ALL = (
    "Q1_0 Q2_0 Q4_0 Q4_1 MXFP4_MOE Q5_0 Q5_1 IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ1_S IQ1_M TQ1_0 TQ2_0 Q2_K Q2_K_S "
    "IQ3_XXS IQ3_S IQ3_M Q3_K IQ3_XS Q3_K_S Q3_K_M Q3_K_L IQ4_NL IQ4_XS Q4_K Q4_K_S Q4_K_M Q5_K Q5_K_S Q5_K_M Q6_K "
    "Q8_0 F16 BF16 F32"
).split()
SOME = ["Q4_K_M", "Q5_K_S", "IQ2_XS", "IQ3_XXS", "Q2_K", "MXFP4_MOE", "Q8_0", "F16"]
# What importance changes.
WITH_IMPORTANCE = ["Q4_0", "Q5_0", "IQ3_XXS", "IQ4_NL", "IQ4_XS", "IQ2_M", "Q2_K_S", "Q4_K_M"]
ROWS = 2
BY = ["--imatrix", "none.dat"]


def dense(layers, ffn=("ffn_gate", "ffn_up", "ffn_down"), attention=("attn_q", "attn_k", "attn_v", "attn_output")):
    """The matrices of some blocks."""
    for layer in range(layers):
        for name in [*attention, *ffn]:
            yield f"blk.{layer}.{name}.weight", [ROWS, 256]


def experts(layers, count, shared=False):
    for layer in layers:
        yield f"blk.{layer}.ffn_gate_inp.weight", [count, 256]
        for name in ["ffn_gate", "ffn_up", "ffn_down"]:
            yield f"blk.{layer}.{name}_exps.weight", [count, ROWS, 256]
            if shared:
                yield f"blk.{layer}.{name}_shexp.weight", [ROWS, 256]


ENDS = [("token_embd.weight", [ROWS, 256]), ("output_norm.weight", [256]), ("output.weight", [ROWS, 256])]
TIED = ENDS[:2]


def entries(architecture, layers, heads=8, shared=8, **more):
    said = {
        "context_length": 64,
        "embedding_length": 256,
        "block_count": layers,
        "feed_forward_length": 256,
        "attention.head_count": heads,
        "attention.head_count_kv": shared,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.layer_norm_epsilon": 1e-5,
    }
    said.update((key.replace("__", "."), value) for key, value in more.items())
    return {f"{architecture}.{key}": value for key, value in said.items()}


# Names that stay, and others that nearly have such names.
STAY = """_norm ffn_gate_inp ffn_gate_tid2eid altup_proj laurel_l per_layer_model_proj ssm_conv1d shortconv.conv
indexer.k_proj indexer.q_proj time_mix_first time_mix_w0 time_mix_w1 time_mix_w2 time_mix_v0 time_mix_v1 time_mix_v2
time_mix_a0 time_mix_a1 time_mix_a2 time_mix_g1 time_mix_g2 time_mix_decay_w1 time_mix_decay_w2 time_mix_lerp_fused
attn_rel_b .position_embd sam.pos_embd sam.neck.0 sam.net_2 .rel_pos_h .patch_embd .patch_merger a.rvq.codebook
mm.a.code_embd hc_fn indexer.attn_q_b indexer.attn_k indexer.proj indexer_compressor_gate indexer_compressor_ape
ssm_f_a ssm_f_b ssm_g_a ssm_g_b ssm_beta attn_kv_a_mqa attn_k_b attn_v_b attn_q_a attn_q_b nextn.eh_proj norm
attn_qkv attn_kv_b time_mix_key ssm_in attn_gate cross_attn_v""".split()


def names(layers):
    for name in STAY:
        yield f"blk.1.{name}.weight", [ROWS, 256]
    yield from [
        ("position_embd.weight", [ROWS, 256]), ("token_types.weight", [ROWS, 256]), ("cls.weight", [ROWS, 256]),
        ("per_layer_token_embd.weight", [ROWS, 256]), ("blk.1.attn_q.bias", [ROWS, 256]), ("blk.1.attn_x.scale", [ROWS, 256]),
        ("blk.1.one_row.weight", [1, 256]), ("blk.1.one_column.weight", [256, 1]), ("blk.1.flat_stack.weight", [1, ROWS, 256]),
        ("blk.1.stack_of_rows.weight", [3, 1, 256]), ("v.blk.0.attn_v.weight", [ROWS, 256]), ("v.blk.0.ffn_down.weight", [ROWS, 256]),
    ]  # fmt: skip
    yield from dense(layers)


def odd(layers):
    for layer, width in zip(range(layers), [32, 64, 96, 100, 128, 160, 256, 288, 512]):
        for name in ["attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down"]:
            yield f"blk.{layer}.{name}.weight", [ROWS, width]


def latent(layers):
    attention = ["attn_q_a", "attn_q_b", "attn_kv_a_mqa", "attn_kv_b", "attn_k_b", "attn_v_b", "attn_output"]
    yield from dense(layers, ffn=[], attention=attention)
    yield from dense(1, attention=[])
    yield from experts(range(1, layers), 16, shared=True)


LATENT = {
    "expert_count": 16, "expert_used_count": 2, "leading_dense_block_count": 1, "expert_feed_forward_length": 256, "expert_shared_count": 1,
    "expert_weights_scale": 1.0, "attention__q_lora_rank": 256, "attention__kv_lora_rank": 256, "rope__scaling__yarn_log_multiplier": 0.1,
    "expert_gating_func": 2, "attention__key_length": 64, "attention__value_length": 64, "rope__dimension_count": 16, "vocab_size": 2,
}  # fmt: skip
GLM5 = {
    "attention__key_length_mla": 64, "attention__value_length_mla": 64, "ssm__conv_kernel": 4, "kda__head_dim": 16, "kda__gate_lower_bound": -5.0,
    "attention__indexer__head_count": 2, "attention__indexer__key_length": 16, "attention__indexer__top_k": 8, "attention__indexer__kpool": 2,
    "hyper_connection__count": 4, "hyper_connection__sinkhorn_iterations": 2, "hyper_connection__epsilon": 1e-5,
}  # fmt: skip
STACKS = [("blk.1.attn_x.weight", [3, ROWS, 256]), ("blk.2.ffn_y.weight", [3, ROWS, 256])]
SWITCH = {"logit_scale": 1.0, "adapters__count": 1, "adapters__lora_rank": 1, "adapters__token_ids_activate": [1], "adapters__token_ids_substitute": [1]}
EXPERTS = {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 256}
PER_LAYER = [("per_layer_token_embd.weight", [ROWS, 256])]
# name: (architecture, entries, tensors, file types)
MODELS = {
    "llama": ("llama", entries("llama", 17, 8, 2, rope__dimension_count=32), [*ENDS, *dense(17)], ALL),
    "llama-tied": ("llama", entries("llama", 9, 8, 8, rope__dimension_count=32), [*TIED, *dense(9)], ALL),
    "llama-70b": ("llama", entries("llama", 80, 8, 1, rope__dimension_count=32), [*ENDS, *dense(80, ffn=[], attention=["attn_v"])], ALL),
    "llama-65b": ("llama", entries("llama", 80, 8, 8, rope__dimension_count=32), [*ENDS, *dense(80, ffn=[], attention=["attn_v"])], SOME),
    "qwen2-70b": ("qwen2", entries("qwen2", 80, 8, 8), [*ENDS, *dense(80, ffn=[], attention=["attn_v"])], SOME),
    "jais2-70b": ("jais2", entries("jais2", 68, 8, 8), [*ENDS, *dense(68, ffn=[], attention=["attn_v"])], SOME),
    "olmo-70b": ("olmo", entries("olmo", 80, 8, 8), [*ENDS, *dense(80, ffn=[], attention=["attn_v"])], SOME),
    "mixtral": ("llama", entries("llama", 9, 8, 8, rope__dimension_count=32, **EXPERTS), [*ENDS, *dense(9, ffn=[]), *experts(range(9), 8)], ALL),
    "mixtral-apart": (
        "llama",
        entries("llama", 9, 8, 2, rope__dimension_count=32, **EXPERTS),
        [*ENDS, *((f"blk.{i}.ffn_{part}.{e}.weight", [ROWS, 256]) for e in range(8) for i in reversed(range(9)) for part in ["gate", "up", "down"])],
        SOME,
    ),
    "qwen3moe": (
        "qwen3moe",
        entries("qwen3moe", 10, 8, 2, **dict(EXPERTS, expert_count=6)),
        [*TIED, *dense(10, ffn=[]), *experts(range(10), 6, shared=True)],
        ALL,
    ),
    "falcon": ("falcon", entries("falcon", 33, 8, 1, rope__dimension_count=32), [*ENDS, *dense(33, ["ffn_up", "ffn_down"], ["attn_qkv", "attn_output"])], ALL),
    "deepseek2": ("deepseek2", entries("deepseek2", 12, 8, 1, **LATENT), [*ENDS, *latent(12)], ALL),
    "odd": ("llama", entries("llama", 9, 8, 8, rope__dimension_count=32), [*ENDS[:2], ("output.weight", [ROWS, 96]), *odd(9)], ALL),
    "odd-tied": ("llama", entries("llama", 1, 8, 8, rope__dimension_count=32), [("token_embd.weight", [ROWS, 160]), *dense(1)], ALL),
    "names": ("llama", entries("llama", 9, 8, 8, rope__dimension_count=32), [*ENDS, *names(9)], SOME),
    "names-tied": ("llama", entries("llama", 9, 8, 8, rope__dimension_count=32), [*TIED, *PER_LAYER, *dense(1)], SOME),
    "glm5-next": ("glm5-next", entries("glm5-next", 9, 8, 8, **LATENT, **GLM5), [*ENDS, *(one for one in names(9) if one[0][0] != "v")], SOME),
    "bailingmoe3": ("bailingmoe3", entries("bailingmoe3", 9, 8, 8, **LATENT, **GLM5), [*ENDS, *latent(3), *STACKS], SOME),
    "nanbeige": ("nanbeige", entries("nanbeige", 4, 8, 8, num_loops=4), [*ENDS, *dense(4)], SOME),
    "graniteswitch": ("graniteswitch", entries("graniteswitch", 15, 8, 8, **SWITCH), [*ENDS, *dense(15)], SOME),
    "deci": ("deci", entries("deci", 8, [8] * 8, [2, 0, 2, 2, 2, 2, 2, 2], rope__dimension_count=32), [*ENDS, *dense(8)], SOME),
    "bert": (
        "bert",
        entries("bert", 9, 8, 8, attention__causal=False),
        [("token_embd.weight", [ROWS, 256]), ("position_embd.weight", [ROWS, 256]), ("token_types.weight", [ROWS, 256]), *dense(9)],
        SOME,
    ),
    "clip": ("clip", {"clip.has_vision_encoder": True}, [("v.patch_embd.weight", [4, 3, 2, 32]), ("v.blk.0.attn_v.weight", [ROWS, 256]), ("v.blk.0.ffn_down.weight", [ROWS, 256]), ("mm.0.weight", [ROWS, 256])], ["Q4_K_M", "Q5_K_S", "Q8_0", "MXFP4_MOE", "F16"]),
    "mtp": (
        "glm4moe",
        entries("glm4moe", 17, 8, 2, nextn_predict_layers=1, **dict(LATENT, expert_count=6)),
        [*ENDS, *dense(17, ffn=[]), *experts(range(17), 6, shared=True), ("blk.16.nextn.eh_proj.weight", [ROWS, 512])],
        SOME,
    ),
}
# Options beside the file type, for some models.
OPTIONS = {
    "llama": [
        ("Q4_K_M", ["--pure"]), ("Q6_K", ["--pure"]), ("F16", ["--pure"]), ("Q4_K", ["--pure"]), ("IQ2_XXS", ["--pure", *BY]),
        ("Q4_K_M", ["--leave-output-tensor"]), ("IQ2_XS", ["--leave-output-tensor"]),
        ("Q4_K_M", ["--output-tensor-type", "q8_0"]), ("Q4_K_M", ["--token-embedding-type", "Q5_1"]), ("F16", ["--output-tensor-type", "Q6_K"]),
        ("Q4_K_M", ["--token-embedding-type", "iq3_s", "--output-tensor-type", "bf16"]),
        ("Q4_K_M", ["--tensor-type", "attn_v=q8_0"]), ("Q4_K_M", ["--tensor-type", r"blk\.([0-4]|9)\.ffn_down=q4_k"]),
        ("Q4_K_M", ["--tensor-type", "ATTN=q5_k", "--tensor-type", "attn_q=q8_0", "--tensor-type", "norm=f16"]),
        ("Q3_K_M", ["--tensor-type", r"blk\.0\.attn_v=f16", "--tensor-type", "token_embd=mxfp4", "--tensor-type", "^output=f32"]),
        ("Q4_K_S", ["--pure", "--tensor-type", "attn_(k|v)=q6_k", "--tensor-type", "ffn_down=nvfp4"]),
        ("F16", ["--tensor-type", "attn_q=q8_0"]), ("BF16", ["--token-embedding-type", "f32"]),
        *((kind, [*BY]) for kind in WITH_IMPORTANCE),
    ],
    "llama-tied": [
        ("Q4_K_M", ["--output-tensor-type", "q8_0"]), ("Q4_K_M", ["--token-embedding-type", "q4_0", "--output-tensor-type", "q8_0"]),
        ("Q4_K_M", ["--leave-output-tensor"]), ("Q4_K_M", ["--pure", "--output-tensor-type", "q8_0"]),
        ("Q4_K_M", ["--tensor-type", "token_embd=q3_k", "--output-tensor-type", "q8_0"]), *((kind, [*BY]) for kind in WITH_IMPORTANCE),
    ],
    "mixtral": [*((kind, [*BY]) for kind in WITH_IMPORTANCE), ("Q4_K_M", ["--tensor-type", "exps=iq4_xs"])],
    "mixtral-apart": [("Q4_0", [*BY]), ("Q3_K_M", []), ("IQ3_XS", []), ("Q2_K_S", [])],
    "odd": [("Q4_K_M", ["--pure"]), ("Q4_K_M", ["--token-embedding-type", "q4_k"]), ("Q4_K_M", ["--output-tensor-type", "q6_k"]),
            ("Q8_0", ["--tensor-type", "blk.0=nvfp4"]), ("Q8_0", ["--tensor-type", "blk.8=tq1_0", "--tensor-type", "blk.1=mxfp4"])],
    "names": [("Q4_K_M", ["--token-embedding-type", "q8_0"]), ("Q4_K_M", ["--token-embedding-type", "q8_0", "--tensor-type", "per_layer=q5_k"])],
    "names-tied": [("Q4_K_M", ["--token-embedding-type", "q8_0", "--tensor-type", "per_layer=q5_k"]),
                   ("Q4_K_M", ["--token-embedding-type", "q8_0", "--tensor-type", "token=q5_k"]), ("Q4_K_M", ["--output-tensor-type", "q5_0"])],
    "falcon": [("IQ4_XS", [*BY]), ("Q5_0", [*BY])],
    "nanbeige": [("Q3_K_M", []), ("Q4_K_S", []), ("IQ3_XS", [])],
    "graniteswitch": [("Q3_K_M", []), ("Q4_K_S", []), ("IQ3_XS", [])],
    "mtp": [("Q3_K_M", []), ("Q4_K_S", []), ("IQ3_XS", [])],
}  # fmt: skip
LINE = re.compile(r"\[ *\d+/ *\d+\] (\S+) +- \[.*?\], type = +(\S+), size = .*?(?:\((\S+)\))?$")


def write(path, architecture, said, tensors):
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in said.items():
        kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, list: writer.add_array}
        kinds[type(value)](key, value)
    for name, shape in tensors:
        writer.add_tensor(name, np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def dry_run(folder, model, kind, options):
    done = subprocess.run([QUANTIZE, "--dry-run", *options, model, kind], capture_output=True, text=True, cwd=folder)
    said = done.stdout + done.stderr
    if done.returncode:
        reason = re.search(r"failed to quantize: (.*)", said)
        assert reason, said
        return None, reason[1].strip(), False
    found = [LINE.search(line) for line in said.splitlines()]
    found = [(one[1], one[3].upper() if one[3] else None) for one in found if one]
    return found, None, "will require an imatrix" in said


def main():
    letters = {}
    known = {}
    with tempfile.TemporaryDirectory() as folder:
        model, matrix = os.path.join(folder, "model.gguf"), os.path.join(folder, BY[1])
        # One entry of a weight that no model has: importance is known, though of nothing.
        open(matrix, "wb").write(struct.pack("<ii4siif", 1, 4, b"none", 1, 1, 1.0))
        for name, (architecture, said, tensors, kinds) in MODELS.items():
            tensors = list(dict(tensors).items())
            write(model, architecture, said, tensors)
            places = {tensor: place for place, (tensor, _) in enumerate(tensors)}
            order, runs = None, []
            for kind, options in [*((kind, []) for kind in kinds), *OPTIONS.get(name, [])]:
                found, error, needs = dry_run(folder, model, kind, options)
                run = {"type": kind, "options": options}
                if error:
                    run["error"] = error
                else:
                    assert len(found) == len(tensors), (name, kind, found)
                    order = [places[tensor] for tensor, _ in found]
                    for _, becomes in found:
                        if becomes and becomes not in letters:
                            letters[becomes] = string.ascii_letters[len(letters)]
                    run["types"] = "".join(letters[becomes] if becomes else "." for _, becomes in found)
                if needs:
                    run["needs_importance"] = True
                runs.append(run)
            said = {"general.architecture": architecture, **said}
            known[name] = {"entries": said, "tensors": [[n, s, "F32"] for n, s in tensors], "order": order, "runs": runs}
            failed = [run["error"] for run in runs if "error" in run]
            print(name, len(tensors), len(runs), "runs", f"{len(failed)} errors", failed[:1])
    os.makedirs(OUT, exist_ok=True)
    lines = [f' "letters": {json.dumps({letter: kind for kind, letter in letters.items()})},\n "models": {{']
    for name, of in known.items():
        parts = ",\n".join(f'   {json.dumps(key)}: {json.dumps(of[key], separators=(",", ":"))}' for key in ["entries", "tensors", "order"])
        runs = ",\n".join(f"    {json.dumps(run)}" for run in of["runs"])
        lines.append(f'  {json.dumps(name)}: {{\n{parts},\n   "runs": [\n{runs}\n   ]\n  }}' + ("," if name != list(known)[-1] else ""))
    with open(os.path.join(OUT, "choices.json"), "w") as out:
        out.write("{\n" + "\n".join(lines) + "\n }\n}\n")


main()
