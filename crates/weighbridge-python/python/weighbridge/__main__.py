"""The command `weigh`: `python -m weighbridge`, and the console scripts."""

from __future__ import annotations

import signal
import sys

from ._weighbridge import cli


def main() -> None:
    """Runs the command and ends the process with its exit code."""
    # The command looks after Ctrl-C itself; Python's handler would only note it. Who started it deaf to
    # Ctrl-C, as a shell does in the background, wants it so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(cli(["weigh", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
