"""What is written where, when, and with which exit code."""

from __future__ import annotations

import csv
import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracle import audit, command, families


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same(text: str, value: Any) -> bool:
    return text == "" if value is None else float(text) == pytest.approx(value, rel=1e-12, abs=1e-300)


def test_document(model: Path, check_schema: Callable[[Any], None]) -> None:
    document = command.audit(model)
    check_schema(document)
    assert document["kind"] == "audit" and document["headspan_version"]
    assert document["options"]["fold_norm"] == "auto"
    assert document["model"]["layout"] and "safetensors" in document["model"]["format"]
    assert [row["status"] for row in document["layers"]] == ["ok", "ok"]
    assert document["summary"]["complete"] is True and len(document["summary"]["reading"]) == 2


def test_the_schema_has_teeth(model: Path, check_schema: Callable[[Any], None]) -> None:
    """A wrong document must fail, or validating proves nothing."""

    def break_hdi(d: Any) -> None:
        d["layers"][0]["diversity"]["score"]["hdi"] = "0.9"

    def break_pair(d: Any) -> None:
        d["layers"][0]["pairs"][0]["direction"] = "sideways"

    def break_status(d: Any) -> None:
        d["layers"][0]["status"] = "fine"

    def drop_baseline(d: Any) -> None:
        del d["layers"][0]["diversity"]["head"]["baseline"]

    def drop_origin(d: Any) -> None:
        del d["model"]["origin"]

    for damage in (break_hdi, break_pair, break_status, drop_baseline, drop_origin):
        document = command.audit(model)
        damage(document)
        with pytest.raises(AssertionError):
            check_schema(document)


def test_matrices_only_when_asked(model: Path) -> None:
    plain = json.loads(command.run("audit", model, "--json", "-").out)
    full = command.audit(model)
    for a, b in zip(plain["layers"], full["layers"], strict=True):
        for source in audit.SOURCES:
            assert a["diversity"][source]["matrix"] is None and b["diversity"][source]["matrix"]
            a["diversity"][source]["matrix"] = b["diversity"][source]["matrix"] = None
    assert plain == full


def test_every_source_in_order(model: Path) -> None:
    for row in command.audit(model)["layers"]:
        assert list(row["diversity"]) == list(audit.SOURCES)


def test_file_equals_standard_output(model: Path, tmp_path: Path) -> None:
    command.run("audit", model, "--json", tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == command.run("audit", model, "--json", "-").out


def test_threads_do_not_change_a_byte(tmp_path: Path) -> None:
    for family in ("llama", "bart", "falcon_40b"):
        folder = families.make(family, "BF16").write(tmp_path / family)
        texts = {
            command.run("audit", folder, "--json", "-", "--matrices", "--all-angles", "--threads", n).out
            for n in (1, 2, 3, 0)
        }
        assert len(texts) == 1 and texts != {""}


def test_repeatable(model: Path) -> None:
    runs = {command.run("audit", model, "--json", "-", "--seed", 7).out for _ in range(3)}
    assert len(runs) == 1


def test_seed_moves_sampled_baselines_only(model: Path) -> None:
    a, b = command.audit(model, "--seed", 1)["layers"][0], command.audit(model, "--seed", 2)["layers"][0]
    for source in audit.SOURCES:
        assert a["diversity"][source]["hdi"] == b["diversity"][source]["hdi"]
    assert a["diversity"]["query_subspace"] == b["diversity"]["query_subspace"]
    assert a["diversity"]["kernel"]["baseline_sd"] != b["diversity"]["kernel"]["baseline_sd"]


def test_csv(tmp_path: Path) -> None:
    folder = families.make("t5").write(tmp_path / "model")
    document = command.audit(folder)
    command.run("audit", folder, "--csv", tmp_path / "a.csv")
    rows = rows_of(tmp_path / "a.csv")
    assert len(rows) == len(document["layers"]) * len(audit.SOURCES)
    wanted = [(row, source) for row in document["layers"] for source in audit.SOURCES]
    for line, (row, source) in zip(rows, wanted, strict=True):
        assert (int(line["layer"]), line["stack"], line["attention"]) == (row["layer"], row["stack"], row["attention"])
        assert line["source"] == source
        for name in ("hdi", "baseline", "baseline_sd", "z", "bound", "headroom", "n_eff_1", "n_eff_2", "n_eff_inf"):
            assert same(line[name], row["diversity"][source][name]), (source, name)


def test_pairs_csv(model: Path, tmp_path: Path) -> None:
    document = command.audit(model)
    command.run("audit", model, "--pairs-csv", tmp_path / "p.csv")
    rows = rows_of(tmp_path / "p.csv")
    pairs = [(row, pair) for row in document["layers"] for pair in row["pairs"]]
    assert len(rows) == len(pairs)
    for line, (row, pair) in zip(rows, pairs, strict=True):
        assert int(line["layer"]) == row["layer"] and line["source"] == pair["source"]
        assert (int(line["a"]), int(line["b"])) == (pair["a"], pair["b"])
        for name in ("overlap", "z", "p", "q"):
            assert same(line[name], pair[name]), name
        assert line["direction"] == pair["direction"]


def test_missing_values_are_empty_in_csv(tmp_path: Path) -> None:
    made = families.make("falcon_7b")
    command.run("audit", made.write(tmp_path / "m"), "--csv", tmp_path / "a.csv")
    keys = [line for line in rows_of(tmp_path / "a.csv") if line["source"] == "key_subspace"]
    assert len(keys) == 2 and all(line["hdi"] == line["z"] == line["bound"] == "" for line in keys)


def test_table(model: Path) -> None:
    """A line per layer, then pairs, then the reading; plain text away from a terminal."""
    result = command.run("audit", model)
    document = command.audit(model)
    assert result.code == 0 and "\x1b" not in result.text
    for row in document["layers"]:
        assert f"{row['diversity']['query_subspace']['hdi']:.3f}" in result.out
        assert f"{row['diversity']['score']['hdi']:.3f}" in result.out
    for sentence in document["summary"]["reading"]:
        assert " ".join(sentence.split()) in " ".join(result.out.split())


def test_progress_goes_to_standard_error(model: Path) -> None:
    quiet = command.run("audit", model, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_explain(model: Path) -> None:
    result = command.run("audit", model, "--explain", "1.4")
    assert result.code == 0
    head = command.audit(model)["layers"][1]["heads"][4]
    assert f"{head['qk_norm']:.3g}"[:4] in result.out and "4" in result.out
    assert result.out != command.run("audit", model, "--explain", "1.3").out


def test_explain_names_the_stack(tmp_path: Path) -> None:
    folder = families.make("t5").write(tmp_path / "m")
    row = next(r for r in command.audit(folder)["layers"] if r["attention"] == "cross")
    name = f"{row['stack']}.cross.{row['layer']}.0"
    assert command.run("audit", folder, "--explain", name).code == 0


@pytest.mark.parametrize("name", ["9.0", "0.6", "0", "x", "0.-1", "", "0.0.0.0", "decoder.self.0.99"])
def test_explain_of_no_head(model: Path, name: str) -> None:
    result = command.run("audit", model, "--explain", name)
    assert result.code == (0 if name == "" and result.out else 2), result.text


# --- thresholds and exit codes ----------------------------------------------------------------------------------------


def test_min_hdi(model: Path) -> None:
    values = [row["diversity"]["query_subspace"]["hdi"] for row in command.audit(model)["layers"]]
    low, high = sorted(values)
    for limit, code in ((low - 1e-6, 0), ((low + high) / 2, 1), (high + 1e-6, 1)):
        result = command.run("audit", model, "--min-hdi", limit, "--json", model / "t.json")
        assert result.code == code, limit
        threshold = json.loads((model / "t.json").read_text())["thresholds"][0]
        offenders = [str(i) for i, v in enumerate(values) if v < limit]
        assert threshold["offenders"] == offenders and threshold["crossed"] == bool(offenders)
        for label in offenders:
            assert label in result.err


def test_max_redundant(checkpoints: Path) -> None:
    file = checkpoints / "stories260K.safetensors"
    for source in ("query_subspace", "score", "key_subspace"):
        document = command.audit(file)
        n = sum(row["diversity"][source]["n_aligned"] for row in document["layers"])
        assert command.run("audit", file, "--max-redundant", n, "--source", source).code == 0
        if n > 0:
            assert command.run("audit", file, "--max-redundant", n - 1, "--source", source).code == 1


def test_partly_done_beats_a_threshold(tmp_path: Path) -> None:
    made = families.make("llama")
    made.tensors["model.layers.0.self_attn.q_proj.weight"] *= 0.0
    folder = made.write(tmp_path / "m")
    assert command.run("audit", folder, "--min-hdi", 2).code == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-option"], ["--alpha", "0"], ["--alpha", "2"], ["--alpha", "x"], ["--bandwidth", "-1"],
        ["--bandwidth", "nan"], ["--heads", "0"], ["--heads", "-3"], ["--heads", "1.5"], ["--fold-norm", "maybe"],
        ["--source", "magic"], ["--threads", "-1"], ["--pairs", "-1"], ["--layout", "magic"], ["--min-hdi", "nan"],
        ["--max-redundant", "-1"], ["--json", "-", "--csv", "-"], ["--json"], ["--matrices"], ["second-model"],
    ],
)  # fmt: skip
def test_wrong_usage(model: Path, arguments: list[str]) -> None:
    result = command.run("audit", model, *arguments)
    assert result.code == 2 and result.err.strip(), result.text


def test_no_model_is_wrong_usage() -> None:
    assert command.run("audit").code == 2
    assert command.run().code == 2
    assert command.run("no-such-command").code == 2


def test_help_and_version() -> None:
    for arguments in (["--help"], ["audit", "--help"], ["--version"]):
        result = command.run(*arguments)
        assert result.code == 0 and result.out.strip() and result.err == ""


@pytest.mark.parametrize("option", ["--json", "--csv", "--pairs-csv"])
def test_output_that_cannot_be_written(model: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "absent" / "x", tmp_path / "folder", Path("/dev/full")):
        result = command.run("audit", model, option, place)
        assert result.code == 5 and str(place) in result.err, result.text


def test_full_standard_output(model: Path) -> None:
    for extra in ([], ["--json", "-"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [command.BINARY, "audit", model, *extra], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 5 and done.stderr


def test_reader_that_goes_away(model: Path) -> None:
    """`headspan ... | head -0`: no message about a broken pipe, no crash."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            [command.BINARY, "audit", model, "--json", "-"], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode in (0, 128 + 13)


def test_output_must_not_replace_the_input(model: Path) -> None:
    before = (model / "model.safetensors").read_bytes()
    for place in (model / "model.safetensors", model / "config.json", model / ".." / "model" / "model.safetensors"):
        assert command.run("audit", model, "--json", place).code == 2
    link = model / "link.json"
    link.symlink_to("model.safetensors")
    assert command.run("audit", model, "--json", link).code == 2
    assert (model / "model.safetensors").read_bytes() == before


def test_old_output_is_replaced_whole(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("x" * 10_000_000)
    assert command.run("audit", model, "--json", target).code == 0
    json.loads(target.read_text())
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("a.json")] == ["a.json"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o400


def test_input_is_only_read(model: Path) -> None:
    before = {p: p.read_bytes() for p in model.iterdir()}
    for p in before:
        p.chmod(0o444)
    assert command.run("audit", model).code == 0
    assert {p: p.read_bytes() for p in model.iterdir()} == before
