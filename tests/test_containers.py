"""Files that are not what their names promise: refused with what is wrong and where, never misread."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import audit, command, compare, families, safetensors_file

Q = "model.layers.0.self_attn.q_proj.weight"
Header = dict[str, Any]


def parts(raw: bytes) -> tuple[Header, bytes]:
    (length,) = struct.unpack("<Q", raw[:8])
    header: Header = json.loads(raw[8 : 8 + length])
    return header, raw[8 + length :]


def put(folder: Path, raw: bytes) -> Path:
    (folder / "model.safetensors").write_bytes(raw)
    return folder


def refuse(folder: Path, raw: bytes, *words: str) -> command.Result:
    """Exit code 3, nothing on standard output, the path and every word in the message."""
    result = command.run("audit", put(folder, raw))
    assert result.code == 3, f"exit code {result.code}: {result.text[:400]}"
    assert result.out == "" and str(folder) in result.err
    for word in words:
        assert re.search(word, result.err, re.IGNORECASE), f"{word!r} is not in: {result.err}"
    return result


WRONG_FILES = {
    "git-lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123\n", "LFS"),
    "html": (b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>", "HTML"),
    "html without doctype": (b"<html><body>Not found</body></html>", "HTML"),
    "zip": (b"PK\x03\x04" + b"\x00" * 60, "zip|torch|pickle"),
    "pickle": (b"\x80\x02}q\x00(X\x05\x00\x00\x00modelq\x01" + b"\x00" * 40, "pickle|torch"),
    "gguf": (b"GGUF\x03\x00\x00\x00" + b"\x00" * 60, "GGUF"),
    "empty": (b"", "empty|truncated|8"),
    "seven bytes": (b"\x00" * 7, "truncated|8"),
    "json": (b'{"error": "Repository not found"}', "JSON"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_file(model: Path, name: str) -> None:
    raw, word = WRONG_FILES[name]
    refuse(model, raw, word)


def test_header_above_the_limit(model: Path) -> None:
    """100,000,001 bytes of header, all there; refused without being read."""
    with (model / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 100_000_001) + b"{")
        file.truncate(8 + 100_000_001 + 64)
    result = command.run("audit", model, timeout=5.0)
    assert result.code == 3 and re.search("100[, ]?000[, ]?00", result.err), result.err


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**63, 2**64 - 1, 2**64 - 8])
def test_false_header_length(model: Path, llama: families.Checkpoint, length: int) -> None:
    refuse(model, struct.pack("<Q", length) + llama.image()[8:])


BAD_HEADERS = {
    "not json": b"{'a': 1}   ",
    "cut": b'{"a": {"dtype": "F32"',
    "array": b"[1, 2, 3]   ",
    "text before": b'  {"__metadata__": {}}',
    "text after": b'{"__metadata__": {}} x',
    "nul padding": b'{"__metadata__": {}}\x00\x00',
    "bad utf-8": b'{"\xff\xfe": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}',
    "lone surrogate": b'{"\\ud800": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}',
    "deep": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "number": b'{"a": 1}',
    "no dtype": b'{"a": {"shape": [0], "data_offsets": [0, 0]}}',
    "no shape": b'{"a": {"dtype": "F32", "data_offsets": [0, 0]}}',
    "no offsets": b'{"a": {"dtype": "F32", "shape": [0]}}',
    "three offsets": b'{"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0, 0]}}',
    "negative shape": b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}}',
    "fraction in shape": b'{"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}}',
    "text in shape": b'{"a": {"dtype": "F32", "shape": ["1"], "data_offsets": [0, 4]}}',
    "unknown dtype": b'{"a": {"dtype": "F31", "shape": [0], "data_offsets": [0, 0]}}',
    "metadata number": b'{"__metadata__": {"a": 1}}',
    "metadata list": b'{"__metadata__": []}',
    "huge shape": b'{"a": {"dtype": "F32", "shape": [99999999999999999999], "data_offsets": [0, 4]}}',
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_bad_header(model: Path, name: str) -> None:
    refuse(model, safetensors_file.frame(BAD_HEADERS[name], b"\x00" * 4))


def edited(llama: families.Checkpoint, edit: Callable[[Header], None]) -> bytes:
    header, body = parts(llama.image())
    edit(header)
    return safetensors_file.frame(json.dumps(header), body)


def set_offsets(name: str, change: Callable[[int, int], list[int]]) -> Callable[[Header], None]:
    def edit(header: Header) -> None:
        header[name]["data_offsets"] = change(*header[name]["data_offsets"])

    return edit


BAD_OFFSETS: dict[str, Callable[[int, int], list[int]]] = {
    "overlapping": lambda a, b: [a - 4, b - 4],
    "gapped": lambda a, b: [a + 4, b + 4],
    "reversed": lambda a, b: [b, a],
    "past the end": lambda a, b: [a + 2**40, b + 2**40],
    "overflowing": lambda a, b: [2**64 - (b - a), 2**64 - 1],
    "wrapping to the right size": lambda a, b: [2**64 - (b - a) // 2, (b - a) // 2],
    "more than 64 bits": lambda a, b: [2**70, 2**70 + b - a],
    "negative": lambda a, b: [a - b, 0],
    "too long": lambda a, b: [a, b + 4],
    "too short": lambda a, b: [a, b - 4],
}


@pytest.mark.parametrize("name", BAD_OFFSETS)
def test_bad_offsets(model: Path, llama: families.Checkpoint, name: str) -> None:
    result = refuse(model, edited(llama, set_offsets(Q, BAD_OFFSETS[name])))
    assert "model." in result.err  # a tensor is named


@pytest.mark.parametrize("shape", [[48, 47], [48], [48, 48, 2], [2**40, 2**40], [2**62, 4], [2**63 - 1, 2**63 - 1], []])
def test_size_against_shape(model: Path, llama: families.Checkpoint, shape: list[int]) -> None:
    def edit(header: Header) -> None:
        header[Q]["shape"] = shape

    refuse(model, edited(llama, edit), "q_proj")


def test_same_bytes_under_two_names(model: Path, llama: families.Checkpoint) -> None:
    def edit(header: Header) -> None:
        header["alias"] = dict(header[Q])

    refuse(model, edited(llama, edit))


def test_duplicate_names(model: Path) -> None:
    entry = '{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
    refuse(model, safetensors_file.frame(f'{{"a": {entry}, "a": {entry}}}', b"\x00" * 4), "duplicate|twice")


def test_duplicate_fields(model: Path) -> None:
    entry = '{"dtype": "F32", "shape": [1], "shape": [1], "data_offsets": [0, 4]}'
    refuse(model, safetensors_file.frame(f'{{"a": {entry}}}', b"\x00" * 4), "duplicate|twice")


@pytest.mark.parametrize("cut", [1, 3, 1000])
def test_truncated(model: Path, llama: families.Checkpoint, cut: int) -> None:
    refuse(model, llama.image()[:-cut])


def test_trailing_bytes(model: Path, llama: families.Checkpoint) -> None:
    refuse(model, llama.image() + b"\x00")


def test_metadata_only(model: Path) -> None:
    refuse(model, safetensors_file.image({}, metadata={"format": "pt"}), "attention|no tensor")


def test_no_tensors(model: Path) -> None:
    refuse(model, safetensors_file.frame("{}", b""), "attention|no tensor")


def assert_whole(document: command.Document, made: families.Checkpoint) -> None:
    for truth in made.truths:
        compare.assert_layer(command.row_of(document, truth.tensor), audit.fold(truth.weights))


def test_zero_length_and_rank_0_are_legal(model: Path, llama: families.Checkpoint) -> None:
    odd = {
        "step": np.array(7.0),
        "empty": np.zeros((0, 5)),
        "model.layers.0.self_attn.rotary_emb.inv_freq": np.zeros(4),
    }
    put(model, safetensors_file.image({**odd, **llama.tensors}, metadata={"format": "pt", "é": "ü"}))
    assert_whole(command.audit(model), llama)


@pytest.mark.parametrize("shape", [(0, 48), (48, 0), ()])
def test_query_of_no_elements(model: Path, llama: families.Checkpoint, shape: tuple[int, ...]) -> None:
    llama.tensors[Q] = np.zeros(shape)
    document = command.audit(put(model, llama.image()), codes=(4,))
    bad, good = document["layers"]
    assert bad["status"] == "refused" and bad["reason"]
    compare.assert_layer(good, audit.fold(llama.truths[1].weights))


def test_padded_header_and_any_order(model: Path, llama: families.Checkpoint) -> None:
    """Space padding, and a header whose names are not in the order of the data."""
    header, body = parts(llama.image())
    reordered = dict(sorted(header.items(), reverse=True))
    put(model, safetensors_file.frame(json.dumps(reordered) + " " * 13, body))
    assert_whole(command.audit(model), llama)


def test_name_with_control_characters_is_printed_safely(model: Path, llama: families.Checkpoint) -> None:
    """A tensor name must not reach the terminal as an escape sequence."""
    llama.tensors["\x1b[2Jevil.weight"] = np.zeros(2)
    document = command.run("audit", put(model, llama.image()))
    assert "\x1b" not in document.text


# --- shards ----------------------------------------------------------------------------------------------------------

INDEX = "model.safetensors.index.json"


def shard(
    made: families.Checkpoint, folder: Path, names: tuple[str, str] = ("a.safetensors", "b.safetensors")
) -> Header:
    """Two shards and their index."""
    made.write(folder)
    (folder / "model.safetensors").unlink()
    keys = sorted(made.tensors)
    split = [keys[::2], keys[1::2]]
    weight_map = {}
    for name, part in zip(names, split, strict=True):
        (folder / name).write_bytes(safetensors_file.image({k: made.tensors[k] for k in part}, made.dtype))
        weight_map.update(dict.fromkeys(part, name))
    index: Header = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / INDEX).write_text(json.dumps(index))
    return index


@pytest.mark.parametrize(
    "names",
    [("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"), ("q.safetensors", "ü x.safetensors")],
)
def test_shards(tmp_path: Path, llama: families.Checkpoint, names: tuple[str, str]) -> None:
    shard(llama, tmp_path, names)
    for path in (tmp_path, tmp_path / INDEX):
        document = command.audit(path)
        assert "2 shards" in document["model"]["format"]
        assert_whole(document, llama)


def test_missing_shard(tmp_path: Path, llama: families.Checkpoint) -> None:
    shard(llama, tmp_path)
    (tmp_path / "b.safetensors").unlink()
    result = command.run("audit", tmp_path)
    assert result.code == 3 and "b.safetensors" in result.err


def test_stale_index(tmp_path: Path, llama: families.Checkpoint) -> None:
    """The index promises a tensor that its shard does not have."""
    index = shard(llama, tmp_path)
    index["weight_map"]["model.layers.5.self_attn.q_proj.weight"] = "a.safetensors"
    (tmp_path / INDEX).write_text(json.dumps(index))
    result = command.run("audit", tmp_path)
    assert result.code == 3 and "model.layers.5.self_attn.q_proj.weight" in result.err


def test_tensor_in_another_shard_than_the_index_says(tmp_path: Path, llama: families.Checkpoint) -> None:
    index = shard(llama, tmp_path)
    index["weight_map"][Q] = "a.safetensors" if index["weight_map"][Q] == "b.safetensors" else "b.safetensors"
    (tmp_path / INDEX).write_text(json.dumps(index))
    result = command.run("audit", tmp_path)
    assert result.code == 3 and Q in result.err


def test_tensor_outside_the_index_is_noted(tmp_path: Path, llama: families.Checkpoint) -> None:
    """Present in a shard, not in the index: told, and no reason to stop."""
    llama.tensors["extra.weight"] = np.zeros(3)
    index = shard(llama, tmp_path)
    del index["weight_map"]["extra.weight"]
    (tmp_path / INDEX).write_text(json.dumps(index))
    document = command.audit(tmp_path)
    assert sum("extra.weight" in note for note in document["model"]["notes"]) == 1, document["model"]["notes"]
    assert_whole(document, llama)


def test_one_tensor_in_two_shards(tmp_path: Path, llama: families.Checkpoint) -> None:
    """Which of the two is meant cannot be known, unless the index says."""
    shard(llama, tmp_path)
    both = {Q: llama.tensors[Q], **{k: v for k, v in llama.tensors.items() if k in sorted(llama.tensors)[::2]}}
    (tmp_path / "a.safetensors").write_bytes(safetensors_file.image(both))
    result = command.run("audit", tmp_path, "--json", "-")
    assert result.code in (0, 3)
    if result.code == 0:
        assert any(Q in note for note in json.loads(result.out)["model"]["notes"])


@pytest.mark.parametrize(
    "place", ["../outside.safetensors", "/etc/outside.safetensors", "sub/../../outside.safetensors"]
)
def test_index_that_leads_outside(tmp_path: Path, llama: families.Checkpoint, place: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    index = shard(llama, folder)
    (folder / "b.safetensors").rename(tmp_path / "outside.safetensors")
    index["weight_map"] = {k: place if v == "b.safetensors" else v for k, v in index["weight_map"].items()}
    (folder / INDEX).write_text(json.dumps(index))
    result = command.run("audit", folder)
    assert result.code == 3 and "outside.safetensors" in result.err


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 1}}', '{"weight_map": {}}',
     '{"weight_map": {"a": "a.safetensors", "a": "b.safetensors"}}', '{"weight_map": {"a": ""}}'],
)  # fmt: skip
def test_bad_index(tmp_path: Path, llama: families.Checkpoint, text: str) -> None:
    shard(llama, tmp_path)
    (tmp_path / INDEX).write_text(text)
    result = command.run("audit", tmp_path)
    assert result.code == 3 and INDEX in result.err, result.text


def test_bad_shard_is_named(tmp_path: Path, llama: families.Checkpoint) -> None:
    shard(llama, tmp_path)
    (tmp_path / "b.safetensors").write_bytes(WRONG_FILES["git-lfs"][0])
    result = command.run("audit", tmp_path)
    assert result.code == 3 and "b.safetensors" in result.err and "LFS" in result.err


def test_other_formats_beside_it_do_not_matter(tmp_path: Path, llama: families.Checkpoint) -> None:
    shard(llama, tmp_path)
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"x": "pytorch_model.bin"}}')
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    assert_whole(command.audit(tmp_path), llama)


# --- paths -----------------------------------------------------------------------------------------------------------


def test_paths_that_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    for path in ("absent.safetensors", "empty", "notes.txt"):
        result = command.run("audit", tmp_path / path)
        assert result.code == 3 and path in result.err, (path, result.text)


def test_several_files_in_a_folder_are_not_guessed(tmp_path: Path, llama: families.Checkpoint) -> None:
    llama.write(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "one.safetensors")
    (tmp_path / "two.safetensors").write_bytes(llama.image())
    result = command.run("audit", tmp_path)
    assert result.code == 3 and "one.safetensors" in result.err and "two.safetensors" in result.err, result.text
