"""Hunyuan's dense models."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, change, config, say
from family_tokenizers import settings
from gguf_vocabularies import CHAT, DEEPSEEK_V3, byte_level, split
from settings_rows import ACT, EPS, KV, NOTHING, TIED, Cases, each, theta


def hunyuan(folder):
    tokens = ["<|startoftext|>", "<|endoftext|>", "<|eos|>", "<|pad|>"]
    said = settings("PreTrainedTokenizerFast", bos_token=tokens[0], eos_token=tokens[2], pad_token=tokens[3], chat_template=CHAT)
    ids = vocabularies.byte_level_bpe(folder, [*map(split, DEEPSEEK_V3), byte_level()], tokens, said)
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=[ids[tokens[2]], ids[tokens[1]]], pad_token_id=ids[tokens[3]], eod_token_id=ids[tokens[1]])


SIZES = dict(head_dim=4)
# Published configs state the factors of other kinds of scaling too.
STRETCHED = dict(rope_type="dynamic", alpha=1000.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=1.0, rope_theta=10000.0)
SAID = dict(use_qk_norm=True, use_cla=False, use_mla=False, norm_type="rms", num_experts=1, attention_head_dim=4, use_rotary_pos_emb=True)


def one_end(folder):
    """The token that ends texts is the one of documents, and the only one."""
    change(folder, lambda config: dict(config, eos_token_id=config["eod_token_id"]))


FAMILY = Family(
    "HunYuanDenseV1",
    to_gguf={
        "hunyuan_dense": Repository(
            dict(SIZES, num_hidden_layers=2, max_position_embeddings=32768, rope_parameters=STRETCHED, tie_word_embeddings=True), hunyuan,
            "hunyuan-dense", steps=[say(**SAID)],
        ),
        "hunyuan_dense-plain": Repository(
            dict(SIZES, head_dim=8, tie_word_embeddings=False, num_key_value_heads=4), hunyuan, "hunyuan-dense", dtype="float16", types=["f32"],
            steps=[one_end],
        ),
    },
    configs={
        "hunyuan-4b-instruct": config(
            "HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", 3072, 8192, 36, 32, 8, 120818, 262144,
            add_classification_head=False, attention_bias=False, attention_dropout=0.1, cla_share_factor=2, class_num=0, dense_list=[3072, 0],
            eod_token_id=120020, head_dim=128, hidden_act="silu", im_end_id=5, im_newline_id=11, im_start_id=4, mask_init_id=12, mlp_bias=False,
            norm_type="rms", num_experts=1, org_vocab_size=120818, pad_id=120002, pool_type="last", rms_norm_eps=1e-5,
            rope_scaling=dict(alpha=1000.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=1.0, type="dynamic"),
            rope_theta=10000.0, sep_token_id=120007, text_end_id=7, text_start_id=6, tie_word_embeddings=True, use_cla=False, use_qk_norm=True,
            use_rotary_pos_emb=True,
        ),
        "hunyuan-dense-bare": dict(architectures=["HunYuanDenseV1ForCausalLM"], model_type="hunyuan_v1_dense"),
    },
    settings={
        "hunyuan_dense": Cases(
            "hunyuan_dense",
            dict(head_dim=16, num_key_value_heads=2),
            [*each("attention_bias", True), *theta(500.0), *TIED, *ACT, *EPS, *KV, *NOTHING],
            steps=[],
        ),
    },
    back="hunyuan_v1_dense",
)  # fmt: skip
