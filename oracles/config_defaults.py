"""What transformers' classes take where a config says nothing, of everything that their models read.

    python oracles/config_defaults.py tests/files/defaults [MODEL_TYPE ..]

For each family that has a way back (those of the list below, and the `back` of the entries in `families`): the keys of its config that the source of its models reads, and the
values of a config that states nothing but a hidden size and heads. What follows from those two, what only
matters in training, and heads for other tasks are left out. A repository made of a GGUF file has to state
each of these keys, or its report has to name it with this value.
"""

import importlib
import inspect
import json
import os
import re
import sys

import families

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FAMILIES = """llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text phi3 gpt_oss
deepseek_v2 deepseek_v3 glm4 glm4_moe granite olmo2 olmo3 smollm3 cohere cohere2 starcoder2 stablelm nemotron
gpt2 arcee""".split()
FAMILIES += [family.back for family in families.FAMILIES.values() if family.back]

# Of no influence on what a model computes from a text.
WITHOUT = re.compile(
    "to_dict|get_text_config|_attn_implementation|.*dropout(_prob|_rate)?|.*_pdrop|chunk_size_feed_forward|router_(aux_loss_coef|jitter_noise)"
    "|output_router_logits|.*initializer_(range|factor|cutoff_factor)|deterministic_flash_attn|sparse_pred.*|use_cache|summary_.*|num_labels|problem_type|image_token_id"
    "|mm_tokens_per_image|text_config|vision_config|pad_token_id"
    "|output_attentions|output_hidden_states|return_dict|dtype"
)
READ = r'config\.(\w+)|getattr\((?:self\.)?config, "(\w+)"'


def defaults(name):
    kind = CONFIG_MAPPING[name]
    source = inspect.getsource(importlib.import_module(kind.__module__.replace("configuration", "modeling")))
    keys = {a or b for a, b in re.findall(READ, source)} - set(kind.attribute_map)
    keys |= {kind.attribute_map[key] for key in keys & set(kind.attribute_map)}
    sizes = {kind.attribute_map.get(key, key): value for key, value in (("hidden_size", 96), ("num_attention_heads", 3))}
    config = kind(**sizes)
    found = {}
    for key in sorted(keys):
        value = getattr(config, key, ...)
        is_derived = key in sizes or (key == "head_dim" and value in (32, None))
        if value is not ... and not callable(value) and not WITHOUT.fullmatch(key) and not is_derived:
            found[key] = value
    return found


def main():
    for name in sys.argv[2:] or FAMILIES:
        with open(os.path.join(sys.argv[1], f"{name}.json"), "w") as out:
            json.dump(defaults(name), out, indent=1)
            out.write("\n")


main()
