"""The command `weigh`: `python -m weighbridge`, and the console scripts."""

from __future__ import annotations

import signal
import sys

from ._weighbridge import cli


def main() -> None:
    """Runs the command and exits with its exit code."""
    # The command handles Ctrl-C itself; Python's handler would only set a flag. A shell starts
    # background jobs with SIGINT ignored, which stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(cli(["weigh", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
