"""Layouts are data: those built in can be printed, changed and handed back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oracle import audit, command, compare, families


def printed() -> str:
    result = command.run("audit", "--list-layouts", "--json", "-")
    assert result.code == 0
    return result.out


def test_list_for_people() -> None:
    result = command.run("audit", "--list-layouts")
    assert result.code == 0
    for word in ("llama", "gpt2", "gpt_neox", "t5", "S3", "I3", "IG"):
        assert word.lower() in result.out.lower(), word


@pytest.mark.parametrize("family", ["llama", "gpt2", "falcon_40b", "codegen", "whisper", "t5", "gemma3", "albert"])
def test_round_trip(tmp_path: Path, family: str) -> None:
    """The printed layouts, read back, find the same heads."""
    (tmp_path / "layouts.json").write_text(printed())
    folder = families.make(family).write(tmp_path / "model")
    built_in, own = command.audit(folder), command.audit(folder, "--layout-file", tmp_path / "layouts.json")
    assert own["layers"] == built_in["layers"]


def test_printing_what_was_read_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "layouts.json").write_text(printed())
    twice = json.loads(
        command.run("audit", "--list-layouts", "--layout-file", tmp_path / "layouts.json", "--json", "-").out
    )
    once = json.loads(printed())
    names = [row["name"] for row in layouts_in(once)]
    assert [row["name"] for row in layouts_in(twice)][: len(names)] == names
    assert layouts_in(twice)[: len(names)] == layouts_in(once)


def layouts_in(document: object) -> list[dict[str, object]]:
    rows = document if isinstance(document, list) else dict(document)["layouts"]  # type: ignore[call-overload]
    return list(rows)


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    """Llama's row under other names reads a model that no built-in row knows."""
    text = printed()
    document = json.loads(text)
    row = next(r for r in layouts_in(document) if "llama" in r["model_types"])  # type: ignore[operator]
    changed = json.dumps(row)
    for old, new in (("self_attn.", "mixer."), ("q_proj", "to_query"), ("k_proj", "to_key"), ("v_proj", "to_value"),
                     ("o_proj", "to_out"), ("input_layernorm", "pre"), ("layers.", "towers.")):  # fmt: skip
        changed = changed.replace(old, new)
    own = json.loads(changed)
    own["name"], own["model_types"] = "mine", ["mine"]
    (tmp_path / "mine.json").write_text(
        json.dumps([own] if isinstance(document, list) else {**document, "layouts": [own]})
    )
    made = families.Checkpoint("llama")
    names = families.Names("mixer.to_query.weight", "mixer.to_key.weight", "mixer.to_value.weight",
                           "mixer.to_out.weight", norm="pre.weight")  # fmt: skip
    families.llama_like.llama_like(made, "mine", families.GQA, names, "model.towers.{}.")
    folder = made.write(tmp_path / "model")
    assert command.run("audit", folder).code == 3
    result = command.audit(folder, "--layout-file", tmp_path / "mine.json")
    assert result["model"]["layout"] == "mine"
    for truth in made.truths:
        compare.assert_layer(command.row_of(result, truth.tensor), audit.fold(truth.weights))


@pytest.mark.parametrize("text", ["", "{", "3", '[{"name": 1}]', '[{"name": "x", "unknown": 1}]', '[{"name": "x"}]'])
def test_unusable_layout_file(tmp_path: Path, model: Path, text: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    result = command.run("audit", model, "--layout-file", tmp_path / "mine.json")
    assert result.code == 3 and "mine.json" in result.err, result.text


def test_forced_layout(tmp_path: Path) -> None:
    """The same bytes under three orders of a fused matrix: the user's word counts, and is recorded."""
    made = families.make("gpt_neox")
    folder = made.write(tmp_path / "model")
    document = command.audit(folder, "--layout", "gpt_neox")
    compare.assert_layer(command.row_of(document, made.truths[0].tensor), audit.fold(made.truths[0].weights))
    assert document["model"]["layout"] == "gpt_neox"
