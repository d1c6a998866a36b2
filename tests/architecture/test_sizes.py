"""Small has numbers: the tail is what tires a reader, so the tail is what is cut."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("shared", "cel", "services", "cli", "devcluster", "benchmarks", "docs", "tests")
FILE_LINES = 300
TEST_FILE_LINES = 500
FUNCTION_LINES = 40
NESTING = 3
GENERATED = ("_pb2.py", "_pb2_grpc.py")
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
"""What branches or repeats; a `with` does neither."""
HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What blocks can stand in."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files() -> Iterator[Path]:
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.name.endswith(GENERATED):
                yield path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions() -> Iterator[tuple[Path, Function]]:
    for path in files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, Function):
                yield path, node


def depth(node: ast.AST) -> int:
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function) or not isinstance(child, HOLDERS):
            continue
        elif_ = isinstance(node, ast.If) and [child] == node.orelse and isinstance(child, ast.If)
        deepest = max(deepest, depth(child) + (isinstance(child, BLOCKS) and not elif_))
    return deepest


def test_no_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in files()
        if (lines := len(path.read_text().splitlines()))
        > (TEST_FILE_LINES if path.is_relative_to(ROOT / "tests") else FILE_LINES)
    }
    assert not long


def test_no_function_is_too_long() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": length
        for path, node in functions()
        if (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    }
    assert not long


def test_nothing_is_nested_too_deep() -> None:
    deep = {
        f"{path.relative_to(ROOT)}:{node.name}": found
        for path, node in functions()
        if (found := depth(node)) > NESTING
    }
    assert not deep


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in files()
        if path.read_text().strip() and not ast.get_docstring(parsed(path))
    ]
    assert not silent
