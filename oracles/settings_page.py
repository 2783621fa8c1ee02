"""Writes docs/settings.md, the list of settings of each family, from the results in `settings`.

    python oracles/settings_page.py
"""

import csv
import glob
import os

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "settings.md")
HEAD = """# Settings of GGUF files

`weigh convert` accounts for every key of `config.json` when it writes a GGUF file. [Converting](converting.md#a-gguf-file-for-llamacpp) explains the warnings. This page lists what each setting does, by family. `oracles/check_settings.py` varies one setting at a time in tiny models. It runs the repository in transformers {transformers} and the GGUF file in llama.cpp (xllamacpp {llama}), and compares their log-probabilities.

{rows} models of {families} families were run: {agree} files agree with transformers, {differ} differ with a warning, {fail} do not load and are rejected. {wrong}

- **carried**: the file agrees with transformers
- **warning**: the file runs, and its output differs
- **rejected**: llama.cpp does not load the file, or no file can say it

Values are those that were tried, next to the family's usual ones.
"""


def wording(rows):
    by_key = {}
    for row in rows:
        by_key.setdefault(row["key"], []).append(row["value"])
    said = []
    for key, values in by_key.items():
        values = [value for value in values if value]
        said.append(f"{key} ({' / '.join(values)})" if values else key)
    return "; ".join(said) or "none"


def pinned(name):
    with open(os.path.join(HERE, "requirements-settings.txt"), encoding="utf-8") as file:
        lines = file.read().split()
    with open(os.path.join(HERE, "requirements-names.txt"), encoding="utf-8") as file:
        lines += file.read().split()
    return next(line.split("==")[1] for line in lines if line.startswith(name + "=="))


def main():
    rows = []
    for path in sorted(glob.glob(os.path.join(HERE, "settings", "*.tsv"))):
        with open(path, encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file, delimiter="\t")
    families = list(dict.fromkeys(row["family"] for row in rows))
    varied = [row for row in rows if row["key"] != "baseline"]
    of = lambda *results: [row for row in varied if row["result"] in results]
    wrong = [row for row in rows if row["verdict"] != "right"]
    listed = "; ".join(f"{row['family']} {row['key']} {row['value']} ({row['verdict']})" for row in wrong)
    exceptions = f"Exceptions: {listed}." if wrong else "There are no exceptions."
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(
            HEAD.format(
                transformers=pinned("transformers"), llama=pinned("xllamacpp"), rows=len(rows), families=len(families),
                agree=len(of("agrees")), differ=len(of("differs")), fail=len(of("does not load", "refused")),
                wrong=exceptions,
            )
        )
        for family in families:
            own = [row for row in varied if row["family"] == family]
            page.write(f"\n**{family}**\n\n| | settings |\n|---|---|\n")
            for label, results in [
                ("carried", ("agrees",)), ("warning", ("differs",)), ("rejected", ("does not load", "refused")),
            ]:
                page.write(f"| {label} | {wording([row for row in own if row['result'] in results])} |\n")


if __name__ == "__main__":
    main()
