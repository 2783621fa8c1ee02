"""Generates python/weighbridge/_reports.py, the typed dictionaries of the reports, from the JSON
schemas of the command. A test checks that the file is up to date.

    python tools/reports_from_schema.py [--check]
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[2] / "docs" / "schema"
TARGET = HERE.parent / "python" / "weighbridge" / "_reports.py"
REPORTS = {
    "inspect.json": "InspectReport",
    "convert.json": "ConvertReport",
    "verify.json": "VerifyReport",
    "diff.json": "DiffReport",
    "stats.json": "StatsReport",
    "hash.json": "HashReport",
    "show.json": "ShowReport",
    "families.json": "FamiliesReport",
}
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Singular names of lists that do not end in a plural s.
SINGULAR = {"dropped": "Dropped", "skipped": "Skipped", "tied": "Tied", "mismatched": "Mismatch"}


class Writer:
    """Turns schemas into classes, each after its dependencies."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.made: dict[str, str] = {}
        self.open_refs: list[tuple[str, str]] = []

    def load(self, file: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((SCHEMAS / file).read_text())
        return found

    def resolve(self, file: str, ref: str) -> tuple[str, str, dict[str, Any]]:
        other, _, path = ref.partition("#")
        file = other or file
        schema = self.load(file)
        name = path.rsplit("/", 1)[-1]
        return file, name, schema["$defs"][name]

    def type_of(self, file: str, schema: dict[str, Any], name: str) -> str:
        if "$ref" in schema and "properties" in schema:
            return self.object(file, self.merged(file, schema), name)
        if "$ref" in schema:
            file, found, target = self.resolve(file, schema["$ref"])
            if "properties" in target:
                return self.type_of(file, target, camel(Path(file).stem, found))
            if (file, found) in self.open_refs:
                # Only a class can hold itself: nested arrays have no name of their own.
                return "Any"
            self.open_refs.append((file, found))
            kind = self.type_of(file, target, camel(Path(file).stem, found))
            self.open_refs.pop()
            return kind
        if "enum" in schema:
            return f"Literal[{', '.join(literal(one) for one in schema['enum'])}]"
        if "anyOf" in schema:
            kinds = [self.type_of(file, one, name) for one in schema["anyOf"]]
            return " | ".join(dict.fromkeys(kinds))
        if "const" in schema:
            return type(schema["const"]).__name__
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        types = [self.simple(file, kind, schema, name) for kind in kinds]
        return " | ".join(dict.fromkeys(types)) or "Any"

    def simple(self, file: str, kind: str, schema: dict[str, Any], name: str) -> str:
        if kind == "array":
            return f"list[{self.type_of(file, schema.get('items', {}), name)}]"
        if kind != "object":
            return SIMPLE[kind]
        if "properties" in schema:
            return self.object(file, schema, name)
        return f"dict[str, {self.type_of(file, schema.get('additionalProperties', {}), name)}]"

    def object(self, file: str, schema: dict[str, Any], name: str) -> str:
        key = json.dumps(schema, sort_keys=True)
        if self.made.get(name) == key:
            return name
        while name in self.made:
            name += "_"
        self.made[name] = key
        required = schema.get("required", [])
        fields: dict[str, tuple[str, str]] = {}
        for field, about in schema["properties"].items():
            kind = self.type_of(file, about, class_name(name.removesuffix("Report"), field, about))
            if field not in required:
                kind = f"NotRequired[{kind}]"
            fields[field] = (about.get("description", ""), kind)
        self.classes.append(class_text(name, sentence(schema), fields))
        return name

    def merged(self, file: str, schema: dict[str, Any]) -> dict[str, Any]:
        """An object that extends another one, with the fields of both."""
        _, _, base = self.resolve(file, schema["$ref"])
        properties = schema["properties"] | base["properties"]
        required = schema["required"] + base["required"]
        merged = {**schema, "properties": properties, "required": required}
        del merged["$ref"]
        return merged

    def report(self, file: str, name: str) -> None:
        schema = self.load(file)
        if "$ref" in schema:
            self.type_of(file, {"$ref": schema["$ref"]}, name)
            schema = self.merged(file, schema)
        self.object(file, schema, name)


def literal(value: Any) -> str:
    return "None" if value is None else json.dumps(value)


def camel(*words: str) -> str:
    return "".join(part.capitalize() for word in words for part in word.split("_"))


def class_name(parent: str, field: str, about: dict[str, Any]) -> str:
    is_list = about.get("type") == "array" and field.endswith("s")
    return parent + (SINGULAR.get(field) or camel(field[:-1] if is_list else field))


def class_text(name: str, about: str, fields: dict[str, tuple[str, str]]) -> str:
    if any(keyword.iskeyword(field) for field in fields):
        # A keyword can only be a quoted name, which needs the functional syntax.
        lines = [f"# {line}" for line in textwrap.wrap(about, 96)]
        lines += [f"{name} = TypedDict(", f'    "{name}",', "    {"]
        for field, (said, kind) in fields.items():
            lines += [f"    {line}" for line in comment(said)] + [f'        "{field}": "{kind}",']
        return "\n".join([*lines, "    },", ")"]) + "\n"
    lines = [f"class {name}(TypedDict):", f'    """{about}"""', ""]
    for field, (said, kind) in fields.items():
        lines += comment(said) + [f"    {field}: {kind}"]
    return "\n".join(lines) + "\n"


def sentence(schema: dict[str, Any]) -> str:
    return str(schema.get("description") or schema.get("title") or "Part of a report.")


def comment(text: str) -> list[str]:
    return [f"    #: {line}" for line in textwrap.wrap(text, 92)]


def written() -> str:
    writer = Writer()
    for file, name in REPORTS.items():
        writer.report(file, name)
    head = (
        '"""The typed reports of the verbs. Generated from docs/schema by\n'
        'tools/reports_from_schema.py; do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Any, Literal, NotRequired, TypedDict\n\n\n"
    )
    names = "".join(f'    "{name}",\n' for name in sorted(writer.made))
    return head + "\n\n".join(writer.classes) + f"\n\n__all__ = [\n{names}]\n"


def main() -> None:
    text = written()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text() == text else f"{TARGET.name} is out of date: run {Path(__file__).name}")
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
