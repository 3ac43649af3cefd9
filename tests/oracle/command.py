"""Running the command line and reading what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("HEADSPAN_BIN", REPOSITORY / "build/release/bin/headspan"))
SCHEMA = REPOSITORY / "docs/audit.schema.json"
NW_SCHEMA = REPOSITORY / "docs/nw.schema.json"
DECOMPOSE_SCHEMA = REPOSITORY / "docs/decompose.schema.json"
PLAN_SCHEMA = REPOSITORY / "docs/plan.schema.json"
PLAN_DATA_SCHEMA = REPOSITORY / "docs/plan_data.schema.json"
PLAN_MODEL_SCHEMA = REPOSITORY / "docs/plan_model.schema.json"
REGRESSION_SCHEMA = REPOSITORY / "docs/regression.schema.json"
SIMULATE_SCHEMA = REPOSITORY / "docs/simulate.schema.json"
VERIFY_SCHEMA = REPOSITORY / "docs/verify.schema.json"
CHECKPOINTS = REPOSITORY.parent / "shared/checkpoints"
TABLES = REPOSITORY.parent / "shared/data"

# The program meets the machine as it is, without what the oracle sets for itself.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

Document = dict[str, Any]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def run(*arguments: object, timeout: float = 120.0, **others: Any) -> Result:
    """`headspan ARGUMENTS`."""
    done = subprocess.run(
        [str(BINARY), *(str(a) for a in arguments)],
        capture_output=True,
        timeout=timeout,
        check=False,
        env=ENVIRONMENT,
        **others,
    )
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def audit(model: object, *arguments: object, codes: Sequence[int] = (0,)) -> Document:
    """The JSON document of `headspan audit MODEL`, matrices included."""
    result = run("audit", model, "--json", "-", "--matrices", *arguments)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def nw(data: object, *arguments: object, codes: Sequence[int] = (0,), **others: Any) -> Document:
    """The JSON document of `headspan nw DATA`."""
    result = run("nw", data, "--json", "-", *arguments, **others)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def regression(name: str, *arguments: object, codes: Sequence[int] = (0,), **others: Any) -> Document:
    """The JSON document of `headspan fit`, `predict`, `evaluate` or `inspect`."""
    result = run(name, *arguments, "--json", "-", **others)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def plan(*arguments: object, codes: Sequence[int] = (0,)) -> Document:
    """The JSON document of `headspan plan`."""
    result = run("plan", "--json", "-", *arguments)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def simulate(*arguments: object, codes: Sequence[int] = (0,)) -> Document:
    """The JSON document of `headspan simulate`."""
    result = run("simulate", *arguments, "--json", "-")
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def decompose(predictions: object, *arguments: object, codes: Sequence[int] = (0,), **others: Any) -> Document:
    """The JSON document of `headspan decompose PREDICTIONS`."""
    result = run("decompose", predictions, "--json", "-", *arguments, **others)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def verify(*arguments: object, codes: Sequence[int] = (0,)) -> Document:
    """The JSON document of `headspan verify`."""
    result = run("verify", "--json", "-", *arguments, timeout=600.0)
    assert result.code in codes, f"exit code {result.code}: {result.err}"
    document: Document = json.loads(result.out)
    return document


def row_of(document: Document, tensor: str, attention: str = "self") -> Document:
    """The layer that was read from `tensor`."""
    found = [r for r in document["layers"] if tensor in r["tensors"].values() and r["attention"] == attention]
    assert len(found) == 1, f"{len(found)} rows read {tensor}"
    row: Document = found[0]
    return row


def start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(BINARY), *(str(a) for a in arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )


def has_open(pid: int, file: Path) -> bool:
    folder = Path(f"/proc/{pid}/fd")
    try:
        links = [os.readlink(entry) for entry in folder.iterdir()]
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False
    return str(file) in links or str(file) in maps


def interrupted(arguments: Sequence[object], file: Path, act: Callable[[int], None], settle: float = 0.0) -> Result:
    """Runs until `file` is open, stops the process, acts, lets it go on and waits for its end."""
    process = start(*arguments)
    deadline = time.monotonic() + 20.0
    while not has_open(process.pid, file):
        assert process.poll() is None, f"ended before {file} was seen open"
        assert time.monotonic() < deadline
        time.sleep(0.0005)
    time.sleep(settle)
    os.kill(process.pid, signal.SIGSTOP)
    while ") T " not in Path(f"/proc/{process.pid}/stat").read_text():
        assert process.poll() is None, "ended before it could be stopped"
        time.sleep(0.0005)
    act(process.pid)
    os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=60.0)
    return Result(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


# A process begins with the resident set of the one that forks it, so the fork is left to a small one.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak_kilobytes(*arguments: object) -> tuple[int, int]:
    """Exit code and peak resident set of one run."""
    words = [sys.executable, "-S", "-c", MEASURE, str(BINARY), *(str(a) for a in arguments)]
    done = subprocess.run(words, capture_output=True, check=True, env=ENVIRONMENT)
    code, peak = done.stdout.split()[-2:]
    return int(code), int(peak)
