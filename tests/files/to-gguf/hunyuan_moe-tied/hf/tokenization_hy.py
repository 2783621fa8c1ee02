import base64

from transformers import PreTrainedTokenizer

SPECIAL = ["<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"]


class HYTokenizer(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "hy.tiktoken"}

    def __init__(self, vocab_file, **more):
        lines = open(vocab_file, "rb").read().splitlines()
        self.mergeable_ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in lines}
        first = len(self.mergeable_ranks)
        self.special_tokens = {token: first + place for place, token in enumerate(SPECIAL + [f"<|extra_{i}|>" for i in range(3)])}
        super().__init__(**more)

    @property
    def vocab_size(self):
        return len(self.mergeable_ranks) + len(self.special_tokens)

    def get_vocab(self):
        return dict(self.special_tokens)

    def _tokenize(self, text, **more):
        return []

    def _convert_token_to_id(self, token):
        return self.special_tokens.get(token, 0)

    def _convert_id_to_token(self, id):
        return "<|endoftext|>"
