"""The class names that llama.cpp's converter knows and `weigh` does not, with the reasons.

    python oracles/missing_classes.py LLAMA_CPP WEIGH

Writes `crates/weighbridge-families/src/families/missing.tsv`: a line a class, its GGUF architecture, the reason. Reasons are
written here by hand. Fails if a class has none.
"""

import json
import os
import subprocess
import sys

LLAMA_CPP, WEIGH = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "../crates/weighbridge-families/src/families/missing.tsv")
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]

# By class name, or by GGUF architecture.
REASONS = {
    "BitNetForCausalLM": "not built yet: scales follow from the mean of each weight",
    "BitnetForCausalLM": "not built yet: scales follow from the mean of each weight",
    "Lfm25AudioTokenizer": "a decoder of sound tokens, not a language model",
    "NemotronHPuzzleForCausalLM": "not built yet: blocks of different widths, and no class in transformers",
    "UltravoxModel": "it has no language model of its own; `--mmproj=only` converts its projector",
    "CogVLMForCausalLM": "the converter leaves out the vision experts of its language model; `--mmproj=only` converts its projector",
    "MuseGlimmerForConditionalGeneration": "not built yet: constants in the norms of each layer",
    "bailingmoe3": "not built yet: decay rates of its linear attention are stored as logarithms",
    "deepseek4": "not built yet: types are chosen for each tensor",
    "qwen4exp": "not built yet: newer than the transformers release of the tests",
    "dflash": "a draft model: it has the embedding and the head of the model that it drafts for",
    "graniteswitch": "not built yet: its file has zeros in a place that no weight has",
    "hrm_text": "not built yet: newer than the transformers release of the tests",
    "hy_v4": "not built yet: newer than the transformers release of the tests",
    "kimi-k3": "not built yet: the converter multiplies weights by each other",
    "lfm2": "not built yet: a module of its own stands beside the weights",
    "llama": "a draft model (EAGLE 3): its file needs the directory of the model that it drafts for",
    "maple": "not built yet: newer than the transformers release of the tests",
    "minimax-01": "not built yet: no class in transformers, and a chat template of the converter's own",
    "plamo": "the converter accepts one size of attention only",
    "pockettts": "makes speech: the repository has no config.json",
    "qwen3tts": "makes speech: a second checkpoint in a subfolder",
    "bailingmoe2": "not built yet: the converter subtracts the mean of each bias of its experts",
    "spark2_5": "not built yet: newer than the transformers release of the tests",
    "MiniMaxM3VLForConditionalGeneration": "registered in the converter, and missing from its list of names",
}


def registered():
    """Class names by their kind, with their architectures: of language models, and of projectors (`clip`)."""
    import gguf
    from conversion import load_all_models
    from conversion.base import ModelBase, ModelType

    load_all_models()
    kinds = dict(families=ModelType.TEXT, projectors=ModelType.MMPROJ)
    classes = {key: ModelBase._model_classes[kind] for key, kind in kinds.items()}
    return {key: {name: gguf.MODEL_ARCH_NAMES[one.model_arch] for name, one in own.items()} for key, own in classes.items()}


def known():
    report = json.loads(subprocess.run([WEIGH, "families", "--json"], check=True, capture_output=True).stdout)
    return {kind: {name for one in report[kind] for name in one["classes"]} for kind in ("families", "projectors")}


def main():
    rows, bare = {}, []
    have = known()
    for kind, classes in registered().items():
        for name, architecture in sorted(classes.items()):
            if name in have[kind] or name in rows:
                continue
            # Names with a module in front are spelled so by one repository.
            reason = REASONS.get(name.split(".")[-1]) or REASONS.get(architecture)
            if reason:
                rows[name] = f"{name}\t{architecture}\t{reason}\n"
            else:
                bare.append(f"{kind}: {name} ({architecture})")
    print(f"{len(rows)} classes are missing; known: { {kind: len(names) for kind, names in have.items()} }")
    if bare:
        sys.exit("without a reason:\n" + "\n".join(bare))
    with open(OUT, "w", encoding="utf-8") as file:
        file.writelines(rows[name] for name in sorted(rows))


if __name__ == "__main__":
    main()
