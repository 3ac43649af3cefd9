"""The README's Python examples print what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from oracle import command


def test_the_python_examples() -> None:
    text = (command.REPOSITORY / "README.md").read_text()
    found = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert len(found) >= 2
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for example, output in found:
        done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout == output
