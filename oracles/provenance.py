"""Who wrote a sample and who decoded it: `oracles.json` beside the folders of samples, or `oracle.json` in one."""

import json
import os


def record(folder, source, version, writer):
    """Notes it for one folder of samples; entries of other folders stay.

    `source` decoded the values, in `version`. `writer` wrote the file; where no library writes
    such a file on a CPU it says after what the file is laid out.
    """
    folder = os.path.abspath(folder)
    root, case = os.path.split(folder)
    path = os.path.join(root, "oracles.json")
    entries = json.load(open(path)) if os.path.exists(path) else {}
    entries[case] = {"source": source, "version": version, "writer": writer}
    kept = {case: entries[case] for case in sorted(entries) if os.path.isdir(os.path.join(root, case))}
    with open(path, "w") as out:
        json.dump(kept, out, indent=2)
        out.write("\n")


def record_inside(folder, source, version, writer):
    """Notes the same in the folder itself, so that two samples never share a file."""
    with open(os.path.join(folder, "oracle.json"), "w") as out:
        json.dump({"source": source, "version": version, "writer": writer}, out, indent=2)
        out.write("\n")
