"""Train the small character-level GPT that `scripts/demo` audits.

The text is the King James Bible as Debian's package `bible-kjv` prints it (public domain):

    scripts/setup train
    bible -f gen1:1-rev22:21 > kjv.txt
    build/venv-train/bin/python examples/train_char_gpt.py kjv.txt examples/char_gpt

Names and order of the weights are those of nanoGPT: a fused c_attn [3*n_embd, n_embd] in sections Q, K, V.
Initial weights and batches are seeded, and the learning rate follows the clock, so that a run takes the time it
is given: a second run sees the same batches, and as many of them as the machine gets through.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

N_LAYER, N_HEAD, N_EMBD, BLOCK = 5, 8, 144, 128
BATCH, LEARNING_RATE, WEIGHT_DECAY, WARM_UP = 24, 2e-3, 0.1, 100


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(N_EMBD, 3 * N_EMBD, bias=False)
        self.c_proj = nn.Linear(N_EMBD, N_EMBD, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, N_HEAD, N_EMBD // N_HEAD).transpose(1, 2)
            for part in self.c_attn(x).split(N_EMBD, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.c_proj(y.transpose(1, 2).reshape(batch, length, N_EMBD))
        return out


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(N_EMBD)
        self.attn = Attention()
        self.ln_2 = nn.LayerNorm(N_EMBD)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(N_EMBD, 4 * N_EMBD, bias=False), "c_proj": nn.Linear(4 * N_EMBD, N_EMBD, bias=False)}
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        out: Tensor = x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))
        return out


class CharGPT(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocabulary, N_EMBD),
                "wpe": nn.Embedding(BLOCK, N_EMBD),
                "h": nn.ModuleList([Block() for _ in range(N_LAYER)]),
                "ln_f": nn.LayerNorm(N_EMBD),
            }
        )
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * N_LAYER) if "c_proj" in name else 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        part = self.transformer
        x = part["wte"](tokens) + part["wpe"](torch.arange(tokens.shape[1]))
        for block in part["h"]:  # type: ignore[attr-defined]
            x = block(x)
        logits: Tensor = part["ln_f"](x) @ part["wte"].weight.T
        return logits


def batch(data: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    starts = torch.randint(len(data) - BLOCK - 1, (BATCH,), generator=generator).tolist()
    rows = torch.stack([data[s : s + BLOCK + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def validation_loss(model: CharGPT, data: Tensor) -> float:
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(40):
        x, y = batch(data, generator)
        losses.append(float(F.cross_entropy(model(x).flatten(0, 1), y.flatten())))
    return sum(losses) / len(losses)


def train(text: str, seconds: float) -> tuple[CharGPT, dict[str, object]]:
    torch.manual_seed(0)
    alphabet = sorted(set(text))
    index = {c: i for i, c in enumerate(alphabet)}
    data = torch.tensor([index[c] for c in text])
    split = int(0.95 * len(data))
    model = CharGPT(len(alphabet))
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}],
        lr=LEARNING_RATE,
        betas=(0.9, 0.99),
    )
    generator = torch.Generator().manual_seed(0)
    start, step = time.monotonic(), 0
    while (elapsed := time.monotonic() - start) < seconds:
        decay = 0.5 * (1 + math.cos(math.pi * elapsed / seconds))
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / WARM_UP) * (0.05 + 0.95 * decay)
        x, y = batch(data[:split], generator)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step}: {loss.item():.3f} after {elapsed:.0f} s", flush=True)
    facts = {
        "steps": step,
        "characters": len(text),
        "validation_loss_nats_per_character": round(validation_loss(model, data[split:]), 4),
    }
    return model, {"vocabulary": len(alphabet), **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=900.0, help="training time; the schedule follows it")
    arguments = parser.parse_args()
    model, facts = train(arguments.text.read_text(encoding="ascii", errors="ignore"), arguments.seconds)
    arguments.out.mkdir(parents=True, exist_ok=True)
    weights = {name: w.detach().to(torch.bfloat16).contiguous() for name, w in model.named_parameters()}
    save_file(weights, arguments.out / "model.safetensors", metadata={"format": "pt"})
    config = {
        "n_layer": N_LAYER,
        "n_head": N_HEAD,
        "n_embd": N_EMBD,
        "block_size": BLOCK,
        "vocab_size": facts["vocabulary"],
        "bias": False,
    }
    (arguments.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
