"""Documentation is true: generated pages are what the code says, and every command and code block in a page is run.

A block marked `console` is a session: lines after `$ ` are commands, what follows is all that they print. A command that ends in
`<<EOF` goes on to the line `EOF`, which is how a page makes its files. All sessions of a page run in one new folder, where
`kadmit` and `scripts/kadmit` are the command, `pytest` is this Python's, and `examples` is at hand. A block marked `python` is
run as it stands, after those before it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from tools import build_docs

from kadmit.cel import environment, macros
from kadmit.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
SECONDS = 60

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(#[^)\s]*)?\)")


@dataclass(frozen=True, slots=True)
class Command:
    text: str
    output: str


def _blocks(page: Path, language: str) -> list[str]:
    return [text for marked, text in _BLOCK.findall(page.read_text()) if marked == language]


def _pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if _blocks(page, language)]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(session: str) -> Iterator[Command]:
    lines = session.splitlines()
    assert lines[0].startswith("$ "), "a session begins with a command"
    while lines:
        text = [lines.pop(0).removeprefix("$ ")]
        while lines and (text[-1].endswith("\\") or (text[0].endswith("<<EOF") and text[-1] != "EOF")):
            text.append(lines.pop(0))
        output = []
        while lines and not lines[0].startswith("$ "):
            output.append(lines.pop(0))
        yield Command("\n".join(text), "".join(f"{line}\n" for line in output))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `kadmit` and `scripts/kadmit` run this Kadmit, `pytest` has its plugin, and the examples are at hand."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, module in (("kadmit", "kadmit"), ("pytest", "pytest -p no:schemathesis")):
        script = tmp_path / "scripts" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def _output(command: Command, folder: Path) -> str:
    """What a reader sees: neither CI, for which pytest shortens nothing, nor the terminal of this run has a say."""
    env = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    env |= {"PATH": f"{folder / 'scripts'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return run.stdout


@pytest.mark.parametrize("page", _pages_with("console"), ids=_name)
def test_a_session_prints_what_the_page_shows(page: Path, folder: Path) -> None:
    for session in _blocks(page, "console"):
        for command in commands(session):
            assert _output(command, folder) == command.output, command.text


@pytest.mark.parametrize("page", _pages_with("python"), ids=_name)
def test_the_python_of_a_page_runs(page: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    for block in _blocks(page, "python"):
        exec(compile(block, _name(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = {target for target, _ in _LINK.findall(page.read_text()) if target}
    assert [t for t in sorted(targets) if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("name", build_docs.PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / name).read_text()
    assert written == build_docs.PAGES[name](), "run: python tools/build_docs.py"


def test_every_cel_function_and_macro_is_documented() -> None:
    page = (ROOT / "docs" / "cel.md").read_text()
    names = {name for name in environment.mutation().catalogue.functions if not build_docs.is_internal(name)}
    names |= {name for name, _, _ in macros.available(environment.NEWEST)}
    assert [name for name in sorted(names) if not re.search(rf"[`.]{re.escape(name)}\(", page)] == []


def test_every_cel_operator_is_documented() -> None:
    page = (ROOT / "docs" / "cel.md").read_text()
    written = {"_?_:_": "?:", "_[_]": "[i]", "_[?_]": "[?i]", "_?._": ".?f", "@in": "in", "_||_": "\\|\\|"}
    internal = {"@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert"}
    operators = {name for name in environment.mutation().catalogue.functions if build_docs.is_internal(name)} - internal
    shown = {name: written.get(name, name.replace("_", "")) for name in operators}
    assert [name for name in sorted(operators) if f"`{shown[name]}`" not in page] == []


def _commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its whole name, those of groups among them."""
    yield path, group
    context = click.Context(group, info_name="kadmit")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = f"{path} {name}".strip()
        yield from _commands(command, below) if isinstance(command, click.Group) else [(below, command)]


def _flags() -> Iterator[tuple[str, str]]:
    for name, command in _commands(main):
        yield from ((name, flag) for option in command.params for flag in option.opts if flag.startswith("-"))


@pytest.mark.parametrize(("command", "flag"), list(_flags()))
def test_every_flag_is_documented_under_its_command(command: str, flag: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    section = page.split(f"## kadmit {command}".rstrip() + "\n")[1].split("\n## ")[0]
    assert f"`{flag}" in section


def test_every_package_stands_in_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in sorted((ROOT / "src" / "kadmit").glob("*/__init__.py"))]
    assert [name for name in packages if f"| `{name}` |" not in page] == []


def test_every_benchmark_is_documented() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert [path.name for path in sorted((ROOT / "bench").glob("*.py")) if f"bench/{path.name}" not in page] == []


def test_a_session_is_taken_apart_into_commands_and_what_they_print() -> None:
    session = "$ cat > f <<EOF\n$ not a command\nEOF\n$ echo \\\n  a\na\n\nb\n$ true\n"
    assert list(commands(session)) == [
        Command("cat > f <<EOF\n$ not a command\nEOF", ""),
        Command("echo \\\n  a", "a\n\nb\n"),
        Command("true", ""),
    ]
