"""The packages of src/ do not know the verification."""

from __future__ import annotations

import ast
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / 'src'


def imported_names(text: str) -> set[str]:
    """Top-level names of all modules that are imported anywhere in a file."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module).split('.')[0])
    return names


def test_the_product_does_not_import_the_verification() -> None:
    files = [file for file in SRC.glob('*/pkm_*/**/*.py') if 'build' not in file.parts]
    assert len({file.relative_to(SRC).parts[0] for file in files}) == 4 and len(files) > 200
    assert [str(file) for file in files if 'verification' in imported_names(file.read_text(encoding='utf-8'))] == []
    assert imported_names('def f():\n    from verification.check import Check') == {'verification'}
