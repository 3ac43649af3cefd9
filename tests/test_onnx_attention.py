"""Every Attention node test that the onnx package ships, through headspan.attention.

Packages up to 1.22 ship the tests as files, later ones make them when asked. Attributes and inputs are ONNX's; what
the operator names differently, or puts elsewhere, is translated here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.test
import pytest
from numpy.typing import NDArray

import headspan

Array = NDArray[Any]
DATA = Path(onnx.backend.test.__file__).parent / "data/node"
VERSION = tuple(int(part) for part in onnx.__version__.split(".")[:2])
# Before 1.22 the operator added masks before the soft cap, and numbered the stages of its scores accordingly.
CAP_AFTER_MASK = VERSION < (1, 22)


@dataclass
class Case:
    name: str
    node: onnx.NodeProto
    inputs: list[Array]
    outputs: list[Array]


def from_files() -> Iterator[Case]:
    for folder in sorted(DATA.glob("test_attention_*")):
        model = onnx.load(folder / "model.onnx")
        nodes = [node for node in model.graph.node if node.op_type == "Attention"]
        if not nodes:
            continue
        (node,) = nodes

        def tensors(kind: str, folder: Path = folder) -> list[Array]:
            files = sorted(folder.glob(f"test_data_set_0/{kind}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
            return [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files]

        yield Case(folder.name, node, tensors("input"), tensors("output"))


def from_generators() -> Iterator[Case]:
    from onnx.backend.test.case.node import collect_testcases

    np.random.seed(0)  # noqa: NPY002 - the generators draw from the global stream
    with warnings.catch_warnings():
        # Importing one operator's generators runs those of all others, some of which overflow on purpose.
        warnings.simplefilter("ignore")
        cases = collect_testcases("Attention")
    for case in cases:
        assert case.model is not None and case.data_sets is not None
        node = case.model.graph.node[0]
        if len(case.model.graph.node) == 1 and node.op_type == "Attention" and node.domain == "":
            inputs, outputs = case.data_sets[0]
            yield Case(case.name, node, list(inputs), list(outputs))


CASES = list(from_files()) or list(from_generators())
STAGES = {0: "scaled", 1: "capped", 2: "masked", 3: "weights"}


def named(names: Any, arrays: list[Array]) -> dict[int, Array]:
    """Positions of the operator's inputs or outputs that are there, with their arrays."""
    present = [position for position, name in enumerate(names) if name]
    assert len(present) == len(arrays)
    return dict(zip(present, arrays, strict=True))


def padded(mask: Array, n: int) -> Array:
    """The operator lets a mask end early: the keys after it are hidden."""
    missing = n - mask.shape[-1]
    if mask.shape[-1] == 1 or missing == 0:
        return mask
    return np.pad(
        mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=False if mask.dtype == bool else -np.inf
    )


def keywords(case: Case) -> dict[str, Any]:
    """Arguments of headspan.attention."""
    attribute = {one.name: onnx.helper.get_attribute_value(one) for one in case.node.attribute}
    given = named(case.node.input, case.inputs)
    query, key, value = (given[position] for position in range(3))
    words: dict[str, Any] = {
        "query": query, "key": key, "value": value,
        "causal": bool(attribute.pop("is_causal", 0)),
        "scale": attribute.pop("scale", None),
        "soft_cap": attribute.pop("softcap", None),
        "cap_after_mask": CAP_AFTER_MASK,
        "n_heads": attribute.pop("q_num_heads", None),
        "n_kv_heads": attribute.pop("kv_num_heads", None),
        "window": (attribute.pop("left_window_size", -1), attribute.pop("right_window_size", -1)),
    }  # fmt: skip
    if query.ndim == 4:
        words["n_heads"] = words["n_kv_heads"] = None
    if 4 in given:
        words |= {"past_key": given[4], "past_value": given[5]}
    if 6 in given:
        words["n_keys"] = given[6]
        if VERSION >= (1, 23):
            words["query_offset"] = given[6] - query.shape[-2]
    if 3 in given:
        n = key.shape[-2] + (given[4].shape[-2] if 4 in given else 0)
        words["mask"] = padded(given[3], n)
    if 3 in dict(enumerate(case.node.output)):
        mode = int(attribute.pop("qk_matmul_output_mode", 0))
        words["return_scores"] = STAGES[{1: 2, 2: 1}.get(mode, mode) if CAP_AFTER_MASK else mode]
    attribute.pop("qk_matmul_output_mode", None)
    attribute.pop("softmax_precision", None)
    assert not attribute, f"untranslated attributes: {attribute}"
    return words


def tolerance(case: Case) -> float:
    """What the operator's own computation in the type of its inputs allows."""
    half = {np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}
    return half.get(case.inputs[0].dtype, 2e-6)


def test_the_package_ships_what_is_to_be_passed() -> None:
    assert len(CASES) >= 60
    words = [keywords(case) for case in CASES]
    assert any(w["n_heads"] for w in words) and any("past_key" in w for w in words)
    assert any(w["causal"] for w in words) and any(w.get("return_scores") == "masked" for w in words)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_attention(case: Case) -> None:
    found = headspan.attention(**keywords(case))
    expected = named(case.node.output, case.outputs)
    parts = [found.output, found.present_key, found.present_value, found.scores]
    for position, wanted in expected.items():
        part = parts[position]
        if position in (1, 2) and part is None:
            part = case.inputs[position]
        assert part is not None
        error = tolerance(case)
        np.testing.assert_allclose(part.astype(np.float64), wanted.astype(np.float64), rtol=error, atol=error)
