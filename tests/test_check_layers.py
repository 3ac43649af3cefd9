"""tools/check_layers: each rule is caught on a small tree that breaks it, and the tree itself is clean."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_layers"), str(root)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_this_tree_is_clean() -> None:
    code, output = check(ROOT)
    assert code == 0, output
    assert ", 0 forbidden includes" in output


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("src/subspace/x.cc", '#include "headspan/checkpoint/model.h"', "subspace may not include checkpoint"),
        ("src/checkpoint/x.cc", '#include "headspan/subspace/basis.h"', "checkpoint may not include subspace"),
        ("src/subspace/x.cc", '#include "headspan/ensemble/correlation.h"', "subspace may not include ensemble"),
        ("src/plan/x.cc", '#include "headspan/ensemble/correlation.h"', "plan may not include ensemble"),
        ("src/table/x.cc", '#include "headspan/checkpoint/model.h"', "table may not include checkpoint"),
        ("src/numeric/x.cc", '#include "headspan/subspace/basis.h"', "numeric may not include subspace"),
        ("src/ensemble/x.cc", '#include "headspan/audit/facts.h"', "ensemble may not include audit"),
        ("src/audit/x.cc", '#include "headspan/report/report.h"', "audit may not include report"),
        ("src/report/x.cc", '#include "headspan/audit/audit.h"', "report sees the facts of audit"),
        ("src/report/x.cc", '#include "cli/exit_code.h"', "cli/exit_code.h is private to cli"),
        ("src/experiments/x.cc", '#include "headspan/audit/facts.h"', "experiments may not include audit"),
        ("src/report/x.cc", '#include "headspan/experiments/heads.h"', "report sees the facts of experiments"),
        ("src/audit/x.cc", '#include "subspace/wedge.h"', "subspace/wedge.h is private to subspace"),
        ("src/audit/x_test.cc", '#include "checkpoint/config.h"', "checkpoint/config.h is private to checkpoint"),
        ("src/audit/x.cc", '#  include "headspan/attic/x.h"', "there is no room 'attic'"),
        ("src/attic/x.cc", "", "'attic' is no room"),
        ("src/audit/x.cc", '#include "../subspace/wedge.h"', "name a header from the top"),
        ("src/audit/x.cc", '#include "layer.h"', "name a header from the top"),
        ("src/audit/x.cc", "#include <headspan/audit/facts.h>", "with quotes"),
        ("src/subspace/x.cc", "#include <lapacke.h>", "hidden behind numeric"),
        ("src/audit/x.cc", "#include <CLI/CLI.hpp>", "hidden behind cli"),
        ("include/headspan/audit/x.h", "#include <fmt/format.h>", "only the standard library and Eigen"),
        ("include/headspan/audit/x.h", '#include "audit/layer.h"', "may not include a private one"),
        ("include/headspan/checkpoint/x.h", '#include "headspan/numeric/json.h"', "is not installed"),
        ("include/headspan/subspace/x.h", '#include "headspan/table/npy.h"', "subspace may not include table"),
    ],
)
def test_a_forbidden_include_is_caught(tmp_path: Path, path: str, line: str, rule: str) -> None:
    write(tmp_path, {path: f"// first line\n{line}\n"})
    code, output = check(tmp_path)
    assert code == 1
    first = output.splitlines()[0]
    assert rule in first
    assert first.startswith(f"{path}:{2 if line else 1}: ")


def test_what_the_storeys_allow_passes(tmp_path: Path) -> None:
    allowed = {
        "src/subspace/x.cc": [
            '"headspan/numeric/matrix.h"',
            '"subspace/wedge.h"',
            "<vector>",
            "<boost/math/tools.hpp>",
        ],
        "src/audit/x.cc": ['"headspan/subspace/basis.h"', '"headspan/checkpoint/model.h"', "<fmt/format.h>"],
        "src/report/x.cc": ['"headspan/audit/facts.h"', '"headspan/ensemble/correlation.h"'],
        "src/cli/x.cc": ['"headspan/audit/audit.h"', '"headspan/report/report.h"', "<CLI/CLI.hpp>"],
        "include/headspan/numeric/matrix.h": ["<Eigen/Core>", "<cstdint>"],
        "include/headspan/numeric/json.h": ["<nlohmann/json_fwd.hpp>"],
    }
    write(tmp_path, {path: "".join(f"#include {name}\n" for name in names) for path, names in allowed.items()})
    comments = '/* was\n#include "headspan/audit/facts.h"\n*/\n// #include "headspan/audit/facts.h"\n'
    write(tmp_path, {"src/table/x.cc": comments})
    assert check(tmp_path) == (0, "check_layers: 7 files, 0 forbidden includes\n")


def test_an_empty_tree_is_an_error_not_a_pass(tmp_path: Path) -> None:
    assert check(tmp_path)[0] == 2
