"""headspan beside an independent framework: a grid of scaled_dot_product_attention, and its tensors as arguments.

Run by `scripts/test torch`, whose environment has torch and not what the other tests need.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import headspan

# Scores reach 12 in the grid: rounding them to float32 moves a weight by 12 roundoffs.
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}


def tensors(dtype: Any, batch: int, heads: int, kv_heads: int, m: int, n: int, d: int, value_dim: int) -> list[Any]:
    generator = torch.Generator().manual_seed(m * 1000 + n)
    shapes = (batch, heads, m, d), (batch, kv_heads, n, d), (batch, kv_heads, n, value_dim)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


SIZES = [
    (1, 1, 1, 1, 1, 1, 1),
    (2, 4, 4, 17, 17, 16, 16),
    (2, 8, 2, 33, 65, 64, 40),
    (1, 6, 3, 128, 129, 80, 80),
    (1, 4, 1, 300, 513, 32, 128),
]


def in_double(mask: Any) -> Any:
    return mask.double() if mask is not None and mask.is_floating_point() else mask


def with_causal(mask: Any, size: Any) -> Any:
    """torch takes a mask or is_causal, not both."""
    if mask is None:
        return None
    visible = torch.ones(size[3], size[4], dtype=torch.bool).tril()
    return mask & visible if mask.dtype == torch.bool else in_double(mask).masked_fill(~visible, -torch.inf)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("masked", "causal", "scale"), list(itertools.product(["no", "bool", "float"], [False, True], [None, 0.3]))
)
def test_grid(dtype: Any, size: Any, masked: str, causal: bool, scale: float | None) -> None:
    q, k, v = tensors(dtype, *size)
    mask: Any = None
    if masked == "bool":
        mask = torch.rand(size[3], size[4]) < 0.8
        mask[:, 0] = True
    elif masked == "float":
        mask = torch.randn(size[0], 1, size[3], size[4]).to(dtype)
    wanted = scaled_dot_product_attention(
        q.double(), k.double(), v.double(), attn_mask=with_causal(mask, size) if causal else in_double(mask),
        is_causal=causal and mask is None, scale=scale, enable_gqa=True,
    )  # fmt: skip
    found = headspan.attention(q, k, v, mask=mask, causal=causal, scale=scale)
    np.testing.assert_allclose(found.output, wanted.numpy(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_tensors(dtype: Any) -> None:
    q, k, v = tensors(dtype, 2, 4, 2, 9, 11, 16, 16)
    found = headspan.attention(q, k, v)
    assert found.output.dtype == np.float32
    wanted = scaled_dot_product_attention(q.float(), k.float(), v.float(), enable_gqa=True)
    np.testing.assert_allclose(found.output, wanted.numpy(), rtol=3e-6, atol=3e-6)


def test_strided_tensors() -> None:
    q, k, v = (t.transpose(1, 2) for t in tensors(torch.float32, 2, 9, 9, 4, 4, 8, 8))
    wanted = scaled_dot_product_attention(q, k, v)
    np.testing.assert_allclose(headspan.attention(q, k, v).output, wanted.numpy(), rtol=3e-6, atol=3e-6)
    half = [t.bfloat16() for t in (q, k, v)]
    wanted = scaled_dot_product_attention(*(t.float() for t in half))
    np.testing.assert_allclose(headspan.attention(*half).output, wanted.numpy(), rtol=3e-6, atol=3e-6)


def test_a_tensor_with_gradient_is_refused_by_name() -> None:
    q, k, v = tensors(torch.float32, 1, 1, 1, 2, 2, 2, 2)
    with pytest.raises(TypeError, match=r"query: .*detached"):
        headspan.attention(q.requires_grad_(), k, v)


def test_regression_of_tensors() -> None:
    x = torch.linspace(0, 1, 20, dtype=torch.float64)
    found = headspan.nadaraya_watson(x, torch.sin(x), bandwidth=0.1)
    w = torch.softmax(-0.5 * ((x[:, None] - x) / 0.1) ** 2, -1)
    np.testing.assert_allclose(found.output, (w @ torch.sin(x)).numpy(), rtol=1e-13)


def test_gradient_free_covariance_matches_autograd() -> None:
    """The derivative of a head's output with respect to the values is its weights."""
    q, k, v = tensors(torch.float64, 1, 3, 3, 2, 7, 4, 1)
    v.requires_grad_()
    output = scaled_dot_product_attention(q, k, v)
    rows = [
        torch.autograd.grad(output[0, h, i, 0], v, retain_graph=True)[0][0, h, :, 0] for h in range(3) for i in range(2)
    ]
    w = torch.stack(rows).reshape(3, 2, 7).numpy()
    found = headspan.weight_covariance(q, k)
    np.testing.assert_allclose(found[0], np.einsum("hmn,lmn->mhl", w, w), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.parametrize("shape", ["radial", "product"])
def test_derivatives_of_the_leave_one_out_error(kernel: Any, shape: Any) -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    y = torch.sin(x).sum(1)
    frames = [torch.randn(k, 3, generator=generator, dtype=torch.float64, requires_grad=True) for k in (2, 1)]
    log_widths = torch.tensor([0.1, -0.3], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([0.7, 0.5], dtype=torch.float64, requires_grad=True)
    fits = []
    for frame, log_width in zip(frames, log_widths, strict=True):
        difference = (x[:, None] - x) @ frame.T / log_width.exp()
        # The point itself is left out; its corner of the laplace kernel must not reach the derivative.
        difference = difference + torch.eye(40)[:, :, None]
        if kernel == "gaussian":
            logs = -0.5 * (difference**2).sum(-1)
        else:
            logs = -difference.norm(dim=-1) if shape == "radial" else -difference.abs().sum(-1)
        fits.append(torch.softmax(logs.masked_fill(torch.eye(40, dtype=torch.bool), -torch.inf), -1) @ y)
    error = ((y - weights @ torch.stack(fits)) ** 2).mean()
    expected = [slope.numpy() for slope in torch.autograd.grad(error, [*frames, log_widths, weights])]
    found = headspan.ensemble_loo(
        x, y, [frame.detach() for frame in frames],
        bandwidth=log_widths.detach().exp(), weights=weights.detach(), kernel=kernel, kernel_shape=shape,
    )  # fmt: skip
    assert found.loo == pytest.approx(error.item(), rel=1e-12)
    for one, slope in zip(found.by_projection, expected[:-2], strict=True):
        np.testing.assert_allclose(one, slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.by_log_bandwidth, expected[-2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.by_weight, expected[-1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("heads", "k", "d"), [(2, 1, 3), (4, 3, 7), (6, 4, 9), (3, 2, 16)])
def test_gradient_of_the_diversity_penalty(heads: int, k: int, d: int) -> None:
    generator = torch.Generator().manual_seed(heads)
    weights = torch.randn(heads, k, d, generator=generator, dtype=torch.float64, requires_grad=True)
    bases = [torch.linalg.qr(w.T)[0] for w in weights]
    pairs = [(u.T @ v).square().sum() / k for u, v in itertools.combinations(bases, 2)]
    penalty = torch.stack(pairs).mean()
    found = headspan.diversity_penalty(weights.detach())
    assert found.value == pytest.approx(penalty.item(), rel=1e-12)
    expected = torch.autograd.grad(penalty, weights)[0].numpy()
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-9, atol=1e-13)
