"""Whether a custom resource conforms to its schema, and if not, what Kubernetes says about it.

A schema is compiled once into Rules. `fits` answers the ordinary case quickly; only when it says no does `judge` walk the
value again, as Kubernetes' validator does, to find the messages. Both read the same rules, and a property test holds them
together.

What is odd about the messages is Kubernetes': alternatives (anyOf, oneOf) tell the failures of the one that came furthest, by
counting checks that passed; what a number, a combination or a format says is sometimes located nowhere.

Ratcheting: on an update, a part that did not change may stay as wrong as it was.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from kadmit.api import fields, gojson
from kadmit.api.fields import FieldError
from kadmit.cel import re2
from kadmit.cel.values import CelError
from kadmit.kinds import formats
from kadmit.kinds.number_rules import FORMATS, NumberRules, invalid, is_whole, located, unlocated
from kadmit.patch import equality, gotext

Json: TypeAlias = Any

_UNCORRELATED: Json = object()  # there is no old value for this part
_JSON_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_DATA_FORMATS = {int: "int64", float: "float64"}
_KEY_TYPES = frozenset({str, int, float, bool})


class _Verdict:
    """What came of a check: findings, told once each, and how many checks passed."""

    __slots__ = ("count", "findings")

    def __init__(self, *findings: FieldError, count: int = 0) -> None:
        self.findings = list(findings)
        self.count = count

    def add(self, findings: Iterable[FieldError]) -> None:
        for finding in findings:
            if finding not in self.findings:
                self.findings.append(finding)

    def merge(self, other: "_Verdict") -> None:
        self.add(other.findings)
        self.count += other.count


class Rules:
    """One schema, compiled."""

    __slots__ = (
        "additional",
        "all_of",
        "any_of",
        "closed",
        "enum",
        "format",
        "items",
        "keys",
        "list_type",
        "max_items",
        "max_length",
        "max_properties",
        "min_items",
        "min_length",
        "min_properties",
        "not_",
        "nullable",
        "numbers",
        "one_of",
        "pattern",
        "properties",
        "required",
        "text_format",
        "types",
        "unique",
    )

    def __init__(self, raw: Mapping[str, Json]) -> None:
        declared = raw.get("type")
        self.types: tuple[str, ...] = (declared,) if declared else ()
        if raw.get("x-kubernetes-int-or-string"):
            self.types = ("integer", "string")
        self.nullable = bool(raw.get("nullable"))
        self.format = _kept_format(raw.get("format") or "", self.types)
        self.text_format = formats.normalised(self.format) if self.format else None
        self.enum: list[Json] | None = raw.get("enum") or None
        self.max_length: int | None = raw.get("maxLength")
        self.min_length: int | None = raw.get("minLength")
        self.pattern: str | None = raw.get("pattern") or None
        self.numbers = NumberRules(raw, self.types, self.format)
        self.max_items: int | None = raw.get("maxItems")
        self.min_items: int | None = raw.get("minItems")
        self.unique = bool(raw.get("uniqueItems"))
        self.max_properties: int | None = raw.get("maxProperties")
        self.min_properties: int | None = raw.get("minProperties")
        self.required: tuple[str, ...] = tuple(raw.get("required") or ())
        self.list_type: str = raw.get("x-kubernetes-list-type") or ""
        self.keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys") or ())
        self._compile_parts(raw)

    def _compile_parts(self, raw: Mapping[str, Json]) -> None:
        self.properties = {name: Rules(part) for name, part in sorted((raw.get("properties") or {}).items())}
        more = raw.get("additionalProperties")
        self.additional = Rules(more) if isinstance(more, Mapping) else None
        self.closed = more is False
        items = raw.get("items")
        self.items = Rules(items) if isinstance(items, Mapping) else None
        self.all_of = [Rules(part) for part in raw.get("allOf") or ()]
        self.any_of = [Rules(part) for part in raw.get("anyOf") or ()]
        self.one_of = [Rules(part) for part in raw.get("oneOf") or ()]
        self.not_ = Rules(raw["not"]) if raw.get("not") is not None else None

    # --- The quick answer

    def fits(self, value: Json) -> bool:
        """Whether judge() would find nothing."""
        if value is None:
            return (self.nullable or not self.types) and self.enum is None
        if (self.types or self.format) and self._type_finding(value, "") is not None:
            return False
        if self.enum is not None and not self._enum_holds(value):
            return False
        return self._combinations_hold(value) and self._parts_fit(value)

    def _combinations_hold(self, value: Json) -> bool:
        return (
            all(part.fits(value) for part in self.all_of)
            and (not self.any_of or any(part.fits(value) for part in self.any_of))
            and (not self.one_of or sum(part.fits(value) for part in self.one_of) == 1)
            and (self.not_ is None or not self.not_.fits(value))
        )

    def _parts_fit(self, value: Json) -> bool:
        kind = value.__class__
        if kind is dict:
            return self._fits_object(value)
        if kind is list:
            return self._fits_list(value)
        if kind is str:
            return next(self._text_findings(value, ""), None) is None
        return kind is bool or next(self.numbers.findings(value, ""), None) is None

    def _fits_object(self, value: dict[str, Json]) -> bool:
        if next(self._size_findings(value, ""), None) is not None:
            return False
        properties, additional = self.properties, self.additional
        for key, member in value.items():
            part = properties.get(key) or additional
            if part is not None and not part.fits(member):
                return False
        return all(name in value for name in self.required)

    def _fits_list(self, value: list[Json]) -> bool:
        items = self.items
        if items is not None and not all(items.fits(item) for item in value):
            return False
        return next(self._length_findings(value, ""), None) is None

    # --- The exact answer

    def judge(self, value: Json, path: str = "", old: Json = _UNCORRELATED) -> _Verdict:
        if value is None:
            return self._judge_null(path)
        verdict = _Verdict()
        if self.types or self.format:
            wrong_type = self._type_finding(value, path)
            verdict.merge(_Verdict(count=1) if wrong_type is None else _Verdict(wrong_type))
            verdict.count += 1
        verdict.merge(self._judge_combinations(value, path))
        verdict.count += 1
        self._judge_kind(verdict, value, path, old)
        return verdict

    def _judge_null(self, path: str) -> _Verdict:
        verdict = _Verdict(count=1)
        if self.types and not self.nullable:
            verdict = _Verdict(_wrong_type(path, ",".join(self.types), "null"))
        if self.enum is not None:
            verdict.add([self._enum_finding(None, path)])
        return verdict

    def _judge_kind(self, verdict: _Verdict, value: Json, path: str, old: Json) -> None:
        """NB: the order of checks is the order of messages; the enum stands between lists and objects."""
        kind = value.__class__
        if kind is str:
            verdict.add(self._text_findings(value, path))
            verdict.count += 1 + (self.text_format is not None)
        elif kind is int or kind is float:
            verdict.merge(_Verdict(*dict.fromkeys(self.numbers.findings(value, path)), count=1))
            verdict.count += 1
        elif kind is list:
            self._judge_list(verdict, value, path, old)
        if self.enum is not None and not self._enum_holds(value):
            verdict.add([self._enum_finding(value, path)])
        verdict.count += 1
        if kind is dict:
            self._judge_object(verdict, value, path, old)
            verdict.count += 1
        verdict.count += 1

    def _judge_list(self, verdict: _Verdict, value: list[Json], path: str, old: Json) -> None:
        if self.items is not None:
            for index, item in enumerate(value):
                verdict.merge(self.items.judge_part(item, f"{path}[{index}]", self._old_item(item, old)))
        verdict.add(self._length_findings(value, path))
        verdict.count += 2

    def _judge_object(self, verdict: _Verdict, value: dict[str, Json], path: str, old: Json) -> None:
        verdict.add(self._size_findings(value, path))
        if self.additional is not None:
            for key in sorted(value.keys() - self.properties.keys()):
                verdict.merge(self.additional.judge_part(value[key], f"{path}.{key}", _old_member(key, old)))
        for name, part in self.properties.items():
            if name in value:
                at = f"{path}.{name}" if path else name
                before = _UNCORRELATED if not path and name in ("kind", "apiVersion") else _old_member(name, old)
                verdict.merge(part.judge_part(value[name], at, before))
        verdict.add(fields.required(located(f"{path}.{name}")) for name in self.required if name not in value)

    def judge_part(self, value: Json, path: str, old: Json) -> _Verdict:
        """A part of an object or list. On updates, what did not change is let through."""
        verdict = self.judge(value, path, old)
        if verdict.findings and old is not _UNCORRELATED and self._unchanged(value, old):
            return _Verdict(count=verdict.count)
        return verdict

    # --- Combinations

    def _judge_combinations(self, value: Json, path: str) -> _Verdict:
        """NB: nothing beneath a combination is let through for being unchanged."""
        verdict = _Verdict()
        if self.any_of:
            self._judge_any_of(verdict, [part.judge(value, path) for part in self.any_of], path)
        if self.one_of:
            self._judge_one_of(verdict, [part.judge(value, path) for part in self.one_of], path)
        if self.all_of:
            self._judge_all_of(verdict, [part.judge(value, path) for part in self.all_of], path)
        if self.not_ is not None and not self.not_.judge(value, path).findings:
            verdict.add([unlocated(f"{gotext.quote(path)} must not validate the schema (not)")])
        verdict.count += 1
        return verdict

    def _judge_any_of(self, verdict: _Verdict, found: list[_Verdict], path: str) -> None:
        success = next((one for one in found if not one.findings), None)
        if success is None:
            verdict.add([unlocated(f"{gotext.quote(path)} must validate at least one schema (anyOf)")])
        verdict.merge(success or max(found, key=lambda one: one.count))

    def _judge_one_of(self, verdict: _Verdict, found: list[_Verdict], path: str) -> None:
        successes = [one for one in found if not one.findings]
        if len(successes) == 1:
            verdict.merge(successes[0])
            return
        told = f"Found {len(successes)} valid alternatives" if successes else "Found none valid"
        verdict.add([unlocated(f"{gotext.quote(path)} must validate one and only one schema (oneOf). {told}")])
        if not successes:
            verdict.merge(max(found, key=lambda one: one.count))

    def _judge_all_of(self, verdict: _Verdict, found: list[_Verdict], path: str) -> None:
        for one in found:
            verdict.merge(one)
        failed = sum(bool(one.findings) for one in found)
        if failed:
            told = ". None validated" if failed == len(found) else ""
            verdict.add([unlocated(f"{gotext.quote(path)} must validate all the schemas (allOf){told}")])

    # --- Single checks

    def _type_finding(self, value: Json, path: str) -> FieldError | None:
        kind = value.__class__
        given = _JSON_TYPES[kind]
        types = self.types
        if given in types and kind is not list:
            return None
        whole = kind is float and "integer" in types and is_whole(value)
        fits = given in types or whole or (given == "integer" and "number" in types)
        if self.format:
            textual = kind is str or kind is list
            if not textual and not fits and _DATA_FORMATS.get(kind, "") != self.format:
                return _wrong_type(path, self.format, _DATA_FORMATS.get(kind, ""))
            # NB: with a format, a list passes for a text here.
            if textual and "number" not in types and "integer" not in types:
                return None
        return None if fits else _wrong_type(path, ",".join(types), given)

    def _text_findings(self, value: str, path: str) -> Iterator[FieldError]:
        first = next(self._length_and_pattern(value, path), None)
        if first is not None:
            yield first
        if self.text_format is not None and not formats.is_valid(self.text_format, value):
            yield _wrong_type(path, self.format, value)

    def _length_and_pattern(self, value: str, path: str) -> Iterator[FieldError]:
        if self.max_length is not None and len(value) > self.max_length:
            yield fields.too_long(located(path), self.max_length)
        if self.min_length is not None and len(value) < self.min_length:
            yield invalid(path, value, f"should be at least {self.min_length} chars long")
        if self.pattern is not None:
            pattern = re2.compile_pattern(self.pattern)
            if isinstance(pattern, CelError):
                yield invalid(path, value, f"should match '{self.pattern}, but pattern is invalid: {pattern.message}'")
            elif not pattern.search(value):
                yield invalid(path, value, f"should match '{self.pattern}'")

    def _length_findings(self, value: list[Json], path: str) -> Iterator[FieldError]:
        size = len(value)
        if self.min_items is not None and size < self.min_items:
            yield invalid(path, size, f"should have at least {self.min_items} items")
        if self.max_items is not None and size > self.max_items:
            yield fields.too_many(located(path), size, self.max_items)
        if self.unique and len({_identity(item) for item in value}) < size:
            yield invalid(path, "", "shouldn't contain duplicates")

    def _size_findings(self, value: dict[str, Json], path: str) -> Iterator[FieldError]:
        size = len(value)
        if self.min_properties is not None and size < self.min_properties:
            yield invalid(path, size, f"should have at least {self.min_properties} properties")
        if self.max_properties is not None and size > self.max_properties:
            yield fields.too_many(located(path), size, self.max_properties)
        if self.closed:
            for key in sorted(value.keys() - self.properties.keys()):
                yield fields.invalid(located(path), key, f"{path}.{key} in body is a forbidden property")

    def _enum_holds(self, value: Json) -> bool:
        assert self.enum is not None
        return any(_same_in_enum(value, allowed) for allowed in self.enum)

    def _enum_finding(self, value: Json, path: str) -> FieldError:
        allowed = (one if isinstance(one, str) else gojson.marshal(one) for one in self.enum or ())
        return fields.not_supported(located(path), ordered(value), allowed)

    # --- Old and new

    def _old_item(self, item: Json, old: Json) -> Json:
        """The item that this one was. Only lists that are maps can tell."""
        wanted = self._key_of(item) if self.list_type == "map" and isinstance(old, list) else None
        if wanted is None:
            return _UNCORRELATED
        return next((before for before in old if equality.same(self._key_of(before), wanted)), _UNCORRELATED)

    def _key_of(self, item: Json) -> list[Json] | None:
        if not isinstance(item, dict) or not all(item.get(key).__class__ in _KEY_TYPES for key in self.keys):
            return None
        return [item[key] for key in self.keys]

    def _unchanged(self, new: Json, old: Json) -> bool:
        if isinstance(new, list) and isinstance(old, list) and self.list_type == "map" and self.items is not None:
            return len(new) == len(old) and all(self._item_unchanged(item, old) for item in new)
        if isinstance(new, dict) and isinstance(old, dict):
            return new.keys() == old.keys() and all(self._member_unchanged(key, new[key], old[key]) for key in new)
        return equality.same(new, old)

    def _item_unchanged(self, item: Json, old: list[Json]) -> bool:
        assert self.items is not None
        before = self._old_item(item, old)
        return before is not _UNCORRELATED and self.items._unchanged(item, before)

    def _member_unchanged(self, key: str, new: Json, old: Json) -> bool:
        part = self.properties.get(key) or self.additional
        return part is not None and part._unchanged(new, old)


def validate(rules: Rules, value: Json, old: Json = None) -> list[FieldError]:
    """What is wrong with the value. old: what it replaces, if it replaces something."""
    if rules.fits(value):
        return []
    return rules.judge_part(value, "", _UNCORRELATED if old is None else old).findings


def _kept_format(name: str, types: tuple[str, ...]) -> str:
    """The format, if it is one that Kubernetes checks for this type."""
    only = types[0] if len(types) == 1 else ""
    if only in ("", "string"):
        return name if formats.normalised(name) else ""
    return name if name in FORMATS.get(only, ()) else ""


def _wrong_type(path: str, wanted: str, given: str) -> FieldError:
    return fields.type_invalid(located(path), given, f"{path} in body must be of type {wanted}: {gotext.quote(given)}")


def ordered(value: Json) -> Json:
    """The value with the keys of its objects sorted, as Go writes maps."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value


def _old_member(key: str, old: Json) -> Json:
    return old[key] if isinstance(old, dict) and key in old else _UNCORRELATED


def _same_in_enum(value: Json, allowed: Json) -> bool:
    """NB: Kubernetes converts the value to the type of the allowed one: 1.5 passes for 1, and 65 for "A"."""
    kind, wanted = value.__class__, allowed.__class__
    if kind is wanted:
        return equality.same(value, allowed)
    if kind is float and wanted is int:
        return math.isfinite(value) and int(value) == allowed
    if kind is int and wanted is float:
        return bool(float(value) == allowed)
    return bool(kind is int and wanted is str and 0 <= value < 0x110000 and chr(value) == allowed)


def _identity(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
