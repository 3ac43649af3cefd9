"""Run by hand where torch and transformers are installed: do these libraries read families.py as it was meant?

Every made-up checkpoint is loaded by `from_pretrained` and run on a single token. Its attention then sees the queries
and keys (rotary embedding is the identity at position 0) and hands on the values; each head must point where the
truth, norms folded, says. Prints one line per family and exits 1 on a disagreement.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from oracle import audit, families

EXTRA: dict[str, Any] = {
    "vocab_size": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "intermediate_size": 16,
    "ffn_dim": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "d_ff": 16, "n_inner": 16,
    "max_position_embeddings": 16,
    "n_positions": 16, "num_local_experts": 2, "num_experts_per_tok": 1, "num_mel_bins": 4, "max_source_positions": 1,
    "word_embed_proj_dim": 48, "embedding_size": 48, "image_size": 8, "patch_size": 8,
}  # fmt: skip
PER_FAMILY: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global"], 2]]},
    "falcon_7b": {"bias": False},
    "bloom": {"hidden_dropout": 0.0},
    "falcon_rw": {"bias": True},
    "qwen3": {"layer_types": ["full_attention"] * 2},
    "t5": {"decoder_start_token_id": 0, "feed_forward_proj": "relu"},
    "stablelm": {"use_qkv_bias": False},
}
SKIPPED = {
    "internlm2": "no such model in the library",
    "nanogpt": "not of this library",
    "falcon_7b_aliases": "remote code of the first release",
    "mpt_gqa": "not of this library",
    "vit_timm": "not of this library",
    "torch_encoder": "not of this library",
    "torch_unequal": "not of this library",
    "gemma3_nested": "as gemma3",
    "gemma3_defaults": "as gemma3",
    "clip": "two towers: checked through vit_hf and opt",
    "gpt2_prefixed": "as gpt2",
    "vit_hf": "more than one token",
}
Model = Any


class Operands:
    """Everything multiplied inside attention while it is entered."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray[Any, Any]] = []
        self.saved: list[tuple[Any, str, Callable[..., Any]]] = []

    def __enter__(self) -> Operands:
        places: list[tuple[Any, str]] = [(torch.nn.functional, "scaled_dot_product_attention")]
        places += [(torch, name) for name in ("matmul", "bmm", "baddbmm")]
        places += [(torch.Tensor, name) for name in ("matmul", "__matmul__", "baddbmm")]
        for place, name in places:
            original = getattr(place, name)
            self.saved.append((place, name, original))
            setattr(place, name, self.wrap(original))
        return self

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            for x in (*args, *kwargs.values()):
                if isinstance(x, torch.Tensor) and x.ndim >= 3:
                    self.seen.append(x.detach().double().numpy())
            return original(*args, **kwargs)

        return call

    def __exit__(self, *_: object) -> None:
        for place, name, original in self.saved:
            setattr(place, name, original)


def same_directions(found: audit.Array, expected: audit.Array) -> bool:
    """Each row a positive multiple of its twin."""
    if found.size != expected.size:
        return False
    a, b = found.reshape(expected.shape), expected
    cosine = np.sum(a * b, axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) + 1e-300)
    return bool(np.all(cosine > 1 - 1e-5))


def was_seen(operands: list[audit.Array], expected: audit.Array, group: int) -> bool:
    wanted = (expected, np.repeat(expected, group, axis=0))
    return any(same_directions(x, w) for x in operands for w in wanted)


def normalise(x: audit.Array, norm: audit.Norm | None) -> audit.Array:
    if norm is None:
        return x
    centred = x - x.mean() if norm.kind == "layer" else x
    out: audit.Array = centred / np.sqrt(np.mean(centred**2) + 1e-12)
    return out


def module_of(model: Model, tensor: str) -> Any:
    """The module owning a tensor, whatever prefix the library strips."""
    path = tensor.rpartition(".")[0]
    modules = dict(model.named_modules())
    parts = path.split(".")
    for start in range(len(parts)):
        if (name := ".".join(parts[start:])) in modules:
            return modules[name]
    raise KeyError(tensor)


def check_layer(model: Model, truth: families.Truth, out: families.Checkpoint, run: Callable[[], Any]) -> str:
    inputs: dict[str, audit.Array] = {}

    def keep(role: str) -> Callable[..., None]:
        def hook(_module: Any, args: Any, kwargs: Any) -> None:
            value = args[0] if args else next(iter(kwargs.values()))
            inputs.setdefault(role, value.detach().double().numpy().reshape(-1))

        return hook

    at = truth.tensor[: truth.tensor.index(str(truth.layer)) + len(str(truth.layer)) + 1]
    names = [n for n in out.tensors if n.startswith(at)]
    is_cross = truth.attention == "cross"
    own = [
        n
        for n in names
        if any(word in n for word in ("EncDec", "encoder_attn", "block.0.layer.1.", "block.1.layer.1.")) == is_cross
    ]
    norms = [n for n in own if np.array_equal(out.tensors[n], stored_gain(truth.weights.norm, out))]
    output = next(n for n in own if n.endswith(OUTPUTS))
    handles = [module_of(model, output).register_forward_pre_hook(keep("output"), with_kwargs=True)]
    source = norms[0] if truth.weights.norm is not None else truth.tensor
    handles.append(module_of(model, source).register_forward_pre_hook(keep("input"), with_kwargs=True))
    if is_cross:
        memory = truth.weights.memory_norm
        place = next(
            (n for n in out.tensors if "encoder.final_layer_norm" in n or n.endswith("encoder.layer_norm.weight")), ""
        )
        if memory is not None:
            handles.append(module_of(model, place).register_forward_pre_hook(keep("memory"), with_kwargs=True))
        else:
            key = truth.tensor.replace("q_proj", "k_proj")
            handles.append(module_of(model, key).register_forward_pre_hook(keep("memory"), with_kwargs=True))
    with Operands() as operands, torch.no_grad():
        run()
    for handle in handles:
        handle.remove()
    weights = audit.fold(truth.weights)
    x = normalise(inputs["input"], truth.weights.norm)
    y = normalise(inputs["memory"], truth.weights.memory_norm) if is_cross else x
    wrong = []
    if not was_seen(operands.seen, audit.gained(weights.query, weights.query_gain) @ x, 1):
        wrong.append("query")
    if not was_seen(operands.seen, audit.gained(weights.key, weights.key_gain) @ y, weights.group):
        wrong.append("key")
    if not same_directions(inputs["output"], np.repeat(weights.value @ y, weights.group, axis=0)):
        wrong.append("value")
    return " ".join(wrong)


OUTPUTS = ("o_proj.weight", "c_proj.weight", "out_proj.weight", "dense.weight", ".wo.weight", "Wo.weight", ".o.weight",
           "out_lin.weight")  # fmt: skip


def stored_gain(norm: audit.Norm | None, out: families.Checkpoint) -> audit.Array:
    if norm is None:
        return np.empty(0)
    return norm.gain - (1.0 if out.family.startswith("gemma") else 0.0)


def load(out: families.Checkpoint, folder: Path) -> Model:
    assert out.config is not None
    out.tensors = {n: v * 0 if n.endswith("bias") and v.ndim == 1 else v for n, v in out.tensors.items()}
    out.tensors = {
        n: v for n, v in out.tensors.items() if "up_proj" not in n and "experts" not in n and "gate" not in n
    }
    out.config = {**EXTRA, **out.config, **PER_FAMILY.get(out.family, {})}
    out.write(folder)
    kind = {"t5": "T5ForConditionalGeneration", "bart": "BartModel", "whisper": "WhisperModel"}.get(
        out.family, "AutoModel"
    )
    model, info = getattr(transformers, kind).from_pretrained(
        folder, output_loading_info=True, ignore_mismatched_sizes=True, dtype=torch.float32
    )
    lost = [n for n in info["unexpected_keys"] if "mask" not in n and not n.endswith(("attn.bias", "attention.bias"))]
    if lost:
        print(f"{out.family}: not wanted by the library: {lost[:4]}")
    return model.eval()


def runner(model: Model, family: str) -> Callable[[], Any]:
    ids = torch.tensor([[3]])
    if family == "whisper":
        return lambda: model(input_features=torch.randn(1, 4, 2), decoder_input_ids=ids)
    if model.config.is_encoder_decoder:
        return lambda: model(input_ids=ids, decoder_input_ids=ids)
    return lambda: model(input_ids=ids)


def check(family: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        out = families.make(family)
        model = load(out, Path(folder))
        run = runner(model, family)
        verdicts = [check_layer(model, replace(truth), out, run) for truth in out.truths]
        bad = [f"{t.attention} {t.layer}: {v}" for t, v in zip(out.truths, verdicts, strict=True) if v]
    print(f"{family}: {'; '.join(bad) or 'agrees'}")
    return not bad


def main() -> int:
    transformers.logging.set_verbosity_error()
    wanted = sys.argv[1:] or [name for name in families.BUILDERS if name not in SKIPPED]
    good = True
    for family in wanted:
        try:
            good &= check(family)
        except Exception as error:  # noqa: BLE001 - the next family is still of interest
            good = False
            print(f"{family}: {type(error).__name__}: {str(error)[:300]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
