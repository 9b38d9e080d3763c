"""Recorded cases that do not pass yet, each with its reason. These lists may only shrink."""

SERVED: dict[str, str] = {}

IN_PROCESS: dict[str, str] = {}
