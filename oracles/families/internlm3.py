"""InternLM 3."""

import family_layouts as layouts
import gguf_vocabularies as vocabularies
import torch
from family_blocks import Family, Repository
from family_tokenizers import META, decoder, settings

CONFIG = dict(
    architectures=["InternLM3ForCausalLM"], model_type="internlm3", attention_dropout=0.0, bias=False, bos_token_id=1, eos_token_id=2, head_dim=4,
    hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=24, max_position_embeddings=64, num_attention_heads=4,
    num_hidden_layers=2, num_key_value_heads=2, pad_token_id=2, qkv_bias=False, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=50000000,
    tie_word_embeddings=False,
)  # fmt: skip


def internlm3(chat):
    def write(folder):
        found = vocabularies.pieces(META, vocabularies.WORDS[:6])
        vocabularies.sentencepiece_model(folder, found)
        said = settings("InternLM3Tokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>")
        if chat:
            more = [(0, "<unk>"), (1, "<s>"), (2, "</s>"), (len(found), "<|im_start|>"), (len(found) + 1, "<|im_end|>"), (len(found) + 2, "tool", False)]
            said.update(added_tokens_decoder=decoder(*more), add_prefix_space=False, chat_template=vocabularies.CHAT)
        vocabularies.write_json(folder, "tokenizer_config.json", said, indent=2)
        return dict(bos_token_id=1, eos_token_id=2, pad_token_id=2)

    return write


def shapes(tokens, count=2, head=4, bias=False):
    def of(name, _):
        found = layouts.attention(name, 4, 2, head) | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)
        projections = {key: shape for key, shape in found.items() if ".self_attn." in key}
        return found | ({key.replace(".weight", ".bias"): shape[:1] for key, shape in projections.items()} if bias else {})

    return layouts.trunk(tokens) | layouts.layers(count, of)


FAMILY = Family(
    None,
    to_gguf={
        "internlm3": Repository({}, internlm3(True), None, types=["f32", "bf16"], spare=4, laid_out=layouts.laid_out(CONFIG, shapes)),
        "internlm3-wide": Repository(
            {}, internlm3(False), None, types=["f16"],
            laid_out=layouts.laid_out(
                dict(CONFIG, num_hidden_layers=1, head_dim=8, bias=True, qkv_bias=True), lambda tokens: shapes(tokens, 1, 8, True), torch.float16
            ),
        ),
    },
    configs={
        "internlm3-8b": dict(
            CONFIG, head_dim=128, hidden_size=4096, intermediate_size=10240, max_position_embeddings=32768, num_attention_heads=32,
            num_hidden_layers=48, num_key_value_heads=2, vocab_size=128512, rope_scaling=dict(factor=6.0, rope_type="dynamic"),
        ),
    },
    warned={"internlm3-8b": ["rope_scaling.rope_type"]},
)  # fmt: skip
