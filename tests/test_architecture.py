"""The pure line, and that no user text can become Python source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "kadmit"
PURE = (
    "cel", "api", "kinds", "patch", "matching", "access", "policy", "validation", "admission", "presentation", "resources",
)  # fmt: skip
FORBIDDEN = {
    "aiohttp",
    "apsw",
    "asyncio",
    "grpc",
    "http",
    "logging",
    "os",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "time",
    "uuid",
}


def _modules(*packages: str) -> list[Path]:
    return sorted(p for package in packages for p in (SOURCE / package).rglob("*.py"))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


@pytest.mark.parametrize("path", _modules(*PURE), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_pure_module_imports_nothing_that_acts(path: Path) -> None:
    imported = {name.split(".")[0] for name in _imports(ast.parse(path.read_text()))}
    assert not imported & FORBIDDEN


def test_only_the_cel_compiler_makes_python_source() -> None:
    makers = set()
    for path in _modules("."):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval", "compile"):
                makers.add(str(path.relative_to(SOURCE)))
    assert makers == {"cel/compiler.py"}


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(p.relative_to(SOURCE)) for p in _modules(".") if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []
