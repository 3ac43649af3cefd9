"""What every test needs: the program, the real checkpoints, one small model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from oracle import command, families

# The package as scripts/build leaves it, unless another is on the path.
sys.path.append(str(command.REPOSITORY / "build/release/python"))


def pytest_sessionstart() -> None:
    if not command.BINARY.is_file():
        pytest.exit(f"no program at {command.BINARY}: build it with scripts/build, or set HEADSPAN_BIN", returncode=3)


@pytest.fixture(scope="session")
def checkpoints() -> Path:
    """The folder of real checkpoints, which lies beside the repository."""
    if not command.CHECKPOINTS.is_dir():
        pytest.skip(f"the real checkpoints are not here: no {command.CHECKPOINTS}")
    return command.CHECKPOINTS


@pytest.fixture(scope="session")
def tables() -> Path:
    """The folder of real tables, which lies beside the repository."""
    if not command.TABLES.is_dir():
        pytest.skip(f"the real tables are not here: no {command.TABLES}")
    return command.TABLES


def checker_of(path: Path) -> Callable[[dict[str, Any]], None]:
    schema = json.loads(path.read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)

    def check(document: dict[str, Any]) -> None:
        errors = [f"{list(e.absolute_path)}: {e.message[:300]}" for e in validator.iter_errors(document)]
        assert not errors, errors[:5]

    return check


@pytest.fixture(scope="session")
def check_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/audit.schema.json."""
    return checker_of(command.SCHEMA)


@pytest.fixture(scope="session")
def check_nw_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/nw.schema.json."""
    return checker_of(command.NW_SCHEMA)


@pytest.fixture(scope="session")
def check_plan_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/plan.schema.json."""
    return checker_of(command.PLAN_SCHEMA)


@pytest.fixture(scope="session")
def check_simulate_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/simulate.schema.json."""
    return checker_of(command.SIMULATE_SCHEMA)


@pytest.fixture(scope="session")
def check_decompose_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/decompose.schema.json."""
    return checker_of(command.DECOMPOSE_SCHEMA)


@pytest.fixture(scope="session")
def check_plan_data_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/plan_data.schema.json."""
    return checker_of(command.PLAN_DATA_SCHEMA)


@pytest.fixture(scope="session")
def check_plan_model_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/plan_model.schema.json."""
    return checker_of(command.PLAN_MODEL_SCHEMA)


@pytest.fixture(scope="session")
def check_verify_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/verify.schema.json."""
    return checker_of(command.VERIFY_SCHEMA)


@pytest.fixture(scope="session")
def check_regression_schema() -> Callable[[dict[str, Any]], None]:
    """Asserts that a document keeps to docs/regression.schema.json."""
    return checker_of(command.REGRESSION_SCHEMA)


@pytest.fixture
def llama(tmp_path: Path) -> families.Checkpoint:
    """A small grouped-query model, not yet written."""
    return families.make("llama")


@pytest.fixture
def model(tmp_path: Path, llama: families.Checkpoint) -> Path:
    """The folder of that model."""
    return llama.write(tmp_path / "model")
