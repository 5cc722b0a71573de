"""Every example runs, and says something."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example):
    ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() and not ran.stderr


def test_the_front_page_says_what_its_code_prints():
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[-0.1665] after 60 queries"
    # Rust's says the same.
    assert page.count(f"{ran.stdout.strip()}\n") == 2
