"""What a case of a Kadmit suite expects, and how an outcome is held against it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kadmit.authoring.admission import OF_CALLS
from kadmit.authoring.manifests import Json
from kadmit.authoring.suite import partial
from kadmit.authoring.suite.outcome import Fault, Outcome
from kadmit.authoring.suite.texts import Text
from kadmit.patch import jsonpatch
from kadmit.patch.errors import PatchError

_MAX_MISMATCHES = 20  # of one partial object; more would bury the first


class Denial(Struct, frozen=True):
    """What is expected of a refusal. Without any of these it must come from a policy or a webhook, whatever it says."""

    code: int = 0
    reason: str = ""
    message: Text | None = None
    by: str = ""


class Texts(Struct, frozen=True):
    """Texts in order, all of them; or some that must be among them."""

    texts: tuple[Text, ...] = ()
    all: bool = True


class Annotations(Struct, frozen=True):
    """Audit annotations by key, all of them; or some that must be among them."""

    texts: Mapping[str, Text]
    all: bool = True


class Call(Struct, frozen=True):
    """A webhook that is called, and a part of what it is sent."""

    name: str
    sent: Json | None = None


class Expected(Struct, frozen=True):
    """Everything that is given must hold; what is not given may be anything. Without a denial the request is admitted."""

    denied: Denial | None = None
    object: Json | None = None
    partial: Json | None = None
    patch: Sequence[Any] | None = None
    unchanged: bool = False
    warnings: Texts | None = None
    annotations: Annotations | None = None
    called: tuple[Call, ...] | None = None

    @property
    def compares(self) -> bool:
        return self.unchanged or self.patch is not None

    @property
    def follows(self) -> bool:
        return False

    def faults(self, outcome: Outcome) -> list[Fault]:
        return [*self._of_decision(outcome), *self._of_object(outcome), *self._of_words(outcome), *self._of_calls(outcome)]

    # ------------------------------------------------------------ admitted or denied

    def _of_decision(self, outcome: Outcome) -> Iterator[Fault]:
        status = outcome.admission.status
        if self.denied is None:
            if status is not None:
                yield Fault("admitted", f"expected to be admitted, was denied ({status.code} {status.reason}): {status.message}")
            return
        if status is None:
            yield Fault("denied", "expected to be denied, was admitted")
            return
        denied, by = self.denied, outcome.refused_by
        if denied == Denial() and not by:
            yield Fault("denied", f"was refused by no policy or webhook, but as a bad request ({status.code}): {status.message}")
        if denied.by and denied.by != by:
            yield Fault("denied.by", f'expected "{denied.by}", was refused by {f"{by!r}" if by else "no policy or webhook"}')
        if denied.code and denied.code != status.code:
            yield Fault("denied.code", f"expected {denied.code}, found {status.code}: {status.message}")
        if denied.reason and denied.reason != status.reason:
            yield Fault("denied.reason", f"expected {denied.reason}, found {status.reason or 'none'}: {status.message}")
        if denied.message is not None and not denied.message.holds(status.message):
            yield _of_text("denied.message", denied.message, status.message)

    # ------------------------------------------------------------ the object

    def _of_object(self, outcome: Outcome) -> Iterator[Fault]:
        found, before = outcome.admission.object, outcome.admission.before
        if not outcome.admission.allowed or found is None:
            return  # NB: a refusal was told already; what is deleted is not expected to be anything
        if self.partial is not None:
            listed = list(partial.mismatches(self.partial, found, outcome.shape))
            yield from (Fault("partial", text) for text in listed[:_MAX_MISMATCHES])
            if len(listed) > _MAX_MISMATCHES:
                yield Fault("partial", f"and {len(listed) - _MAX_MISMATCHES} more")
        if self.object is not None:
            yield from compared("object", outcome.settled(self.object), found)
        if self.unchanged and before is not None and before != found:
            yield Fault("unchanged", "expected to stay as it was sent", difference(before, found, "sent", "admitted"))
        if self.patch is not None and before is not None:
            yield from self._of_patch(self.patch, before, found)

    def _of_patch(self, patch: Sequence[Any], before: Json, found: Json) -> Iterator[Fault]:
        """NB: several patches can say the same; so what counts is what comes of it."""
        try:
            wanted = jsonpatch.decode(list(patch)).apply(before)
        except PatchError as e:
            yield Fault("patch", f"cannot be applied to the object as sent: {e}")
            return
        assert isinstance(wanted, dict)
        yield from compared("patch", wanted, found)

    # ------------------------------------------------------------ words

    def _of_words(self, outcome: Outcome) -> Iterator[Fault]:
        if self.warnings is not None:
            yield from _of_warnings(self.warnings, outcome.admission.warnings)
        if self.annotations is not None:
            yield from _of_annotations(self.annotations, outcome.admission.annotations)

    # ------------------------------------------------------------ webhooks

    def _of_calls(self, outcome: Outcome) -> Iterator[Fault]:
        if self.called is None:
            return
        wanted, found = [c.name for c in self.called], [c.name for c in outcome.called]
        if wanted != found:
            yield Fault("webhooks", f"expected {_listed(wanted)} to be called, found {_listed(found)}")
            return
        for i, (call, called) in enumerate(zip(self.called, outcome.called, strict=True)):
            for text in partial.mismatches(call.sent or {}, called.request, None):
                yield Fault(f"webhooks[{i}].sent", f"{call.name}: {text}")


def compared(what: str, wanted: Json, found: Json) -> Iterator[Fault]:
    if wanted != found:
        yield Fault(what, "is not the object that was admitted", difference(wanted, found, "expected", "found"))


def difference(one: Json, other: Json, first: str, second: str) -> list[str]:
    """Two values as YAML, line by line; none where they are the same."""
    import difflib

    return list(difflib.unified_diff(_lines(one), _lines(other), first, second, lineterm=""))


def _lines(value: Json) -> list[str]:
    from kadmit.presentation import yamltext

    return yamltext.dump(value).decode().splitlines()


def _of_text(what: str, wanted: Text, found: str) -> Fault:
    return Fault(what, "is another text", [f"-{wanted}", f'+"{found}"'])


def _of_warnings(wanted: Texts, found: Sequence[str]) -> Iterator[Fault]:
    if wanted.all and len(wanted.texts) != len(found):
        yield Fault("warnings", f"expected {len(wanted.texts)}, found {len(found)}: {_listed(found)}")
    elif wanted.all:
        pairs = enumerate(zip(wanted.texts, found, strict=True))
        yield from (_of_text(f"warnings[{i}]", text, other) for i, (text, other) in pairs if not text.holds(other))
    else:
        missing = [text for text in wanted.texts if not any(map(text.holds, found))]
        yield from (Fault("warnings", f"expected one that is or {text}, found {_listed(found)}") for text in missing)


def _of_annotations(wanted: Annotations, found: Mapping[str, str]) -> Iterator[Fault]:
    for key, text in wanted.texts.items():
        if key not in found:
            yield Fault("auditAnnotations", f"expected {key}: {text}, found nothing under this key")
        elif not text.holds(found[key]):
            yield _of_text(f"auditAnnotations[{key}]", text, found[key])
    others = [key for key in found if key not in wanted.texts and not key.startswith(OF_CALLS)]
    if wanted.all and others:
        yield Fault("auditAnnotations", f"expected no others, found {_listed(others)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) if names else "none"
