"""Reads public contracts with `weaver-contracts` and writes what its types hold.

A line in is {"kind": CONTRACT, "json": OBJECT}; the line out is the same, and lists under
"unknown" the fields for which the Python type has no place.
"""

import dataclasses
import datetime
import json
import sys
import typing

from weaver_contracts import core

NESTED = {"items": core.SelectableItem, "choice_cards": core.ChoiceCard}
# Where the JSON schema of a contract allows null. Elsewhere a field without a value is left out.
NULLABLE = {
    "RoutingDecision": {"selected_item_id", "selected_card_id"},
    "CapabilityToken": {"expires_at"},
    "PolicyDecision": {"token_id"},
    "Frame": {"structured_data"},
    "Handle": {"expires_at", "byte_size"},
    "TraceEvent": {
        "capability_id",
        "principal",
        "decision_id",
        "frame_id",
        "handle_id",
        "error_message",
    },
}


def is_date(kind):
    return datetime.datetime in (kind, *typing.get_args(kind))


def load(cls, value, path, unknown):
    kinds = typing.get_type_hints(cls)
    names = {field.name for field in dataclasses.fields(cls)}
    known = {}
    for name, item in value.items():
        here = f"{path}{name}"
        if name not in names:
            unknown.append(here)
            continue
        if is_date(kinds[name]) and item is not None:
            item = datetime.datetime.fromisoformat(item)
        elif name in NESTED:
            item = [load(NESTED[name], part, f"{here}.", unknown) for part in item]
        known[name] = item
    return cls(**known)


def dump(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [dump(item) for item in value]
    if not dataclasses.is_dataclass(value):
        return value
    nullable = NULLABLE.get(type(value).__name__, set())
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    kept = {name: item for name, item in fields.items() if item is not None or name in nullable}
    return {name: dump(item) for name, item in kept.items()}


def main():
    for line in sys.stdin:
        read = json.loads(line)
        unknown = []
        contract = load(getattr(core, read["kind"]), read["json"], "", unknown)
        written = {"kind": read["kind"], "json": dump(contract), "unknown": unknown}
        print(json.dumps(written, ensure_ascii=False))


main()
