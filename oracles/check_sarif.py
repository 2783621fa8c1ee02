"""Validates what `weigh inspect --sarif` writes against the JSON schema of SARIF 2.1.0.

    python oracles/check_sarif.py WEIGH SCHEMA [PLACE..]

SCHEMA is sarif-schema-2.1.0.json, as published by OASIS (oasis-tcs/sarif-spec). PLACE is what is
inspected, tests/files/pth, tests/files/safetensors and tests/carried if nothing is given. sarif-tools
reads each report too, and must count as many results.

Needs jsonschema 4.26 and sarif-tools 3.0.5.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
from sarif import loader

ROOT = pathlib.Path(__file__).resolve().parent.parent
USUAL = ["tests/files/pth", "tests/files/safetensors", "tests/carried", "samples", "nowhere"]


def main(weigh, schema, *places):
    schema = json.loads(pathlib.Path(schema).read_text())
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    failed = False
    for place in places or USUAL:
        for flags in [["-r"], []]:
            words = [weigh, "inspect", "--sarif", *flags, place]
            done = subprocess.run(words, capture_output=True, cwd=ROOT)
            report = json.loads(done.stdout)
            errors = list(validator.iter_errors(report))
            with tempfile.NamedTemporaryFile(suffix=".sarif") as file:
                file.write(done.stdout)
                file.flush()
                read = loader.load_sarif_file(file.name).get_result_count()
            results = len(report["runs"][0]["results"])
            failed |= bool(errors) or read != results or done.returncode not in (0, 1, 2)
            print(f"{' '.join([*flags, place]):32} {results:5} results, read {read:5}, {len(errors)} errors")
            for error in errors[:5]:
                print("   ", error.json_path, error.message[:200])
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
