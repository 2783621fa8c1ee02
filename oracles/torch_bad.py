"""Files by torch that are right, and would still hurt a careless reader.

    python oracles/torch_bad.py [OUT]

OUT is tests/bad unless given. They have no expectation: tests name them.
"""

import os
import sys

import torch

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "tests", "bad")


def main():
    # 2^40 elements, all of them the same four bytes.
    one = torch.tensor(0.5).reshape(1, 1)
    torch.save({"w": one.expand(1 << 20, 1 << 20)}, os.path.join(OUT, "expanded-4-tib.pth"))


if __name__ == "__main__":
    main()
