"""A story drawn in a terminal, in colours. Loads rich, so only who draws imports this."""

import sys
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from kadmit.authoring.story.tree import BAD, CHANGE, CODE, DIFF, GOOD, PLAIN, QUIET, TITLE, WARN, Line
from kadmit.authoring.visible import visible

_STYLES = {GOOD: "green", BAD: "bold red", CHANGE: "cyan", WARN: "yellow", QUIET: "dim", PLAIN: "", TITLE: "bold"}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_PLAIN_WIDTH = 160  # where nobody knows how wide a line may be


def draw(stories: Sequence[Line], *, coloured: bool, out: IO[str] | None = None) -> None:
    """NB: texts are Text, never markup: what is in an object stays in it."""
    stream = out if out is not None else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    console = Console(file=stream, force_terminal=coloured, no_color=not coloured, width=width, highlight=False, emoji=False)
    for story in stories:
        drawn = Tree(_text(story), guide_style="dim")
        _grow(drawn, story)
        console.print(drawn)


def _grow(tree: Tree, line: Line) -> None:
    for child in line.below:
        _grow(tree.add(_text(child)), child)


def _text(line: Line) -> Text:
    shown = visible(line.text)
    if line.block == DIFF:
        lines = shown.splitlines()
        return Text("\n").join(Text(part, _DIFF.get(part[:1], "")) for part in lines)
    style = "italic" if line.block == CODE else _STYLES[line.tone]
    made = Text(f"{line.sign} {shown}" if line.sign else shown.rstrip(), style, overflow="fold")
    return made.append(f"  {visible(line.place)}", "dim") if line.place else made
