"""Stories as one HTML file to be shared: no scripts, nothing from elsewhere, and every text escaped."""

from collections.abc import Iterator, Sequence
from html import escape

from kadmit.authoring.story.tree import BAD, CHANGE, DIFF, PLAIN, TITLE, WARN, Line
from kadmit.authoring.visible import visible

# NB: should an escape ever be forgotten, the browser still runs nothing and fetches nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --change: #0969da; --warn: #9a6700; --quiet: #6e7781;
  --line: #d0d7de; --code: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; --change: #58a6ff; --warn: #d29922;
  --quiet: #8b949e; --line: #30363d; --code: #161b22 } }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1 { font-size: 1.2rem } section { margin-bottom: 3rem }
details, .leaf { margin: .1rem 0 .1rem .3rem; padding-left: .9rem; border-left: 1px solid var(--line) }
summary { cursor: pointer } summary, .leaf { overflow-wrap: anywhere; white-space: pre-wrap }
pre { background: var(--code); padding: .5rem .8rem; overflow-x: auto; margin: .2rem 0; font-size: 12px }
.title { font-weight: 600 } .good { color: var(--good) } .bad { color: var(--bad); font-weight: 600 }
.change { color: var(--change) } .warn { color: var(--warn) } .quiet, .place { color: var(--quiet) }
.place { font-size: 12px } .added { color: var(--good) } .removed { color: var(--bad) }
"""
_OPEN = (BAD, CHANGE, WARN, TITLE)
_MARKS = {"+": "added", "-": "removed", "@": "change"}


def page(stories: Sequence[Line]) -> str:
    """All stories, one under the other."""
    return "\n".join(_page(stories)) + "\n"


def _page(stories: Sequence[Line]) -> Iterator[str]:
    title = stories[0].text if len(stories) == 1 else f"{len(stories)} requests"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_escaped(title)}</title><style>{_STYLE}</style></head><body>"
    for story in stories:
        yield f"<section><h1>{_escaped(story.text)}</h1>"
        for line in story.below:
            yield from _lines(line)
        yield "</section>"
    yield "</body></html>"


def _escaped(text: str) -> str:
    return escape(visible(text), quote=True)


def _lines(line: Line) -> Iterator[str]:
    if line.block:
        yield f"<pre>{_diff(line.text) if line.block == DIFF else _escaped(line.text.rstrip())}</pre>"
    elif line.below:
        yield f"<details{' open' if line.tone in _OPEN else ''}><summary>{_shown(line)}</summary>"
        for child in line.below:
            yield from _lines(child)
        yield "</details>"
    else:
        yield f'<div class="leaf">{_shown(line)}</div>'


def _shown(line: Line) -> str:
    sign = f"{line.sign} " if line.sign else ""
    place = f' <span class="place">{_escaped(line.place)}</span>' if line.place else ""
    return f'<span class="{line.tone or PLAIN}">{_escaped(sign + line.text)}</span>{place}'


def _diff(text: str) -> str:
    return "\n".join(f'<span class="{_MARKS.get(part[:1], "")}">{_escaped(part)}</span>' for part in text.splitlines())
