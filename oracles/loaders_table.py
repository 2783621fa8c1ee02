"""The tables of docs/quantizing.md, from the results of `check_loaders.py`.

One table for each loader. Types with the same outcomes share a row.
"""

import re

FAMILIES = "llama qwen3 gemma3 mixtral qwen3_moe".split()
TITLES = {
    "transformers": "transformers 5.22.2, with compressed-tensors 0.20.0, bitsandbytes 0.50.2",
    "vllm": "vLLM 0.32.0 on a CPU",
    "mlx": "mlx-lm 0.32.2, with MLX 0.32.4 on a CPU",
    "llama.cpp": "llama.cpp (xllamacpp 2026.10.11549)",
}
# What says that vLLM's build for CPUs has no kernel, and nothing about the model.
NO_KERNEL = re.compile(r"kernel|backend|_C::|ModelConfig", re.IGNORECASE)


def cell(loader, found):
    if found is None:
        return "not tried"
    if loader == "vllm" and NO_KERNEL.search(found.get("why", "")):
        return "no kernel"
    words = {"agrees": "loads and agrees", "loads": "**loads, wrong**", "does not load": "**does not load**", "rejected": "rejected by `weigh`"}
    return words[found["outcome"]]


def rows(loader, results):
    """Types by their outcomes, in the order in which they were tried."""
    tried = [key.split() for key in results if key.split()[0] == loader]
    types = dict.fromkeys(type for _, family, type in tried if family in FAMILIES)
    grouped = {}
    for type in types:
        cells = tuple(cell(loader, results.get(f"{loader} {family} {type}")) for family in FAMILIES)
        grouped.setdefault(cells, []).append(type)
    return grouped


def largest(loader, results):
    """The largest difference of those that agree."""
    found = [found for key, found in results.items() if key.split()[0] == loader and isinstance(found, dict)]
    return max((one["difference"] for one in found if one.get("outcome") == "agrees"), default=0.0)


def of(results):
    lines = []
    for loader, title in TITLES.items():
        found = rows(loader, results)
        if found:
            lines += [f"**{title}**", "", "| type | " + " | ".join(FAMILIES) + " |", "|---" * (len(FAMILIES) + 1) + "|"]
            lines += [f"| {', '.join(f'`{type}`' for type in types)} | {' | '.join(cells)} |" for cells, types in found.items()]
            lines += ["", f"Largest difference of those that agree: {largest(loader, results):.1%}.", ""]
    return "\n".join(lines)
