"""The README's Python example prints what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from oracle import command


def test_the_python_example() -> None:
    text = (command.REPOSITORY / "README.md").read_text()
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert found is not None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", found[1]], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == found[2]
