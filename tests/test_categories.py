"""Categories beside numbers in nadaraya_watson, smoother_scores and select_bandwidth, against whole matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import headspan
from oracle import category_weights, weighted_means
from oracle.weighted_means import close

Array = NDArray[Any]
WORDS = np.array(["north", "east", "south"])
PAIRS = [("aitchison_aitken", "wang_van_ryzin"), ("li_racine", "li_racine_ordered")]


def table(n: int, seed: int = 3) -> tuple[Array, Array, Array, Array]:
    """x [n, 2], y [n], words [n], whole numbers [n] of which 4 is missing between 3 and 9."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    words, sizes = random.choice(WORDS, n), random.choice([1, 3, 9], n)
    jump = {"north": 0.0, "east": 3.0, "south": -2.0}
    y = np.sin(2 * x[:, 0]) + np.array([jump[word] for word in words]) + 0.2 * random.normal(size=n)
    words[:3], sizes[:3] = WORDS, [1, 3, 9]
    return x, y, words, sizes


def beside(words: Array, sizes: Array) -> Array:
    columns = np.empty((len(words), 2), dtype=object)
    columns[:, 0], columns[:, 1] = words, sizes
    return columns


@pytest.mark.parametrize("kernels", PAIRS)
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "biweight"])
def test_estimates_are_those_of_the_definition(kernel: Any, kernels: Any) -> None:
    x, y, words, sizes = table(80)
    at, _, at_words, at_sizes = table(25, seed=4)
    at_words = at_words.astype("U9")
    at_words[-1] = "elsewhere"
    lambdas, values = [0.3, 0.6], np.stack([y, y**2], axis=1)
    found = headspan.nadaraya_watson(
        x, values, at, bandwidth=[0.9, 1.4], kernel=kernel, kernel_shape="product",
        categories=beside(words, sizes), at_categories=beside(at_words, at_sizes),
        category_kernel=kernels, lambda_=lambdas,
    )  # fmt: skip
    weights = np.exp(weighted_means.log_weights(kernel, "product", at, x, np.array([0.9, 1.4])))
    weights *= category_weights.column_weights(at_words, words, kernels[0], 0.3, sorted(WORDS))
    weights *= category_weights.column_weights(at_sizes, sizes, kernels[1], 0.6, [1, 3, 9])
    reached = weights.sum(axis=1) > 0
    close(found.output, category_weights.means(weights, values), rtol=1e-11, atol=1e-12)
    close(found.log_normaliser[reached], np.log(weights.sum(axis=1)[reached]), rtol=1e-11, atol=1e-11)
    close(found.n_eff[reached], (weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1))[reached], rtol=1e-10)
    assert (found.status == np.where(reached, "ok", "no neighbour")).all()
    assert found.lambda_.tolist() == lambdas


def test_scores_are_those_of_the_smoother_matrix() -> None:
    x, y, words, _ = table(60)
    weights = np.exp(weighted_means.log_weights("gaussian", "radial", x, x, np.array([0.8])))
    weights *= category_weights.column_weights(words, words, "aitchison_aitken", 0.2, sorted(WORDS))
    found = headspan.smoother_scores(x, y, bandwidth=0.8, categories=words, lambda_=0.2)
    close(found.fit, category_weights.means(weights, y), rtol=1e-11, atol=1e-12)
    assert found.loo == pytest.approx(category_weights.loo(weights, y), rel=1e-10)
    fitted = headspan.nadaraya_watson(x, y, bandwidth=0.8, categories=words, lambda_=0.2, leave_one_out=True)
    close(fitted.output, y - found.loo_residual, rtol=1e-10, atol=1e-11)


def test_the_selection_is_no_worse_than_a_grid_and_finds_the_column_that_matters() -> None:
    x, y, words, sizes = table(120)
    both = beside(words, sizes)
    found = headspan.select_bandwidth(x, y, categories=both, category_kernel="li_racine")
    assert found.lambda_[0] < 0.1 and found.irrelevant_category.tolist() == [False, True]
    numbers = np.exp(weighted_means.log_weights("gaussian", "radial", x, x, found.bandwidth))
    for lambdas in [found.lambda_, *(np.array([a, b]) for a in (0.0, 0.02, 0.3) for b in (0.0, 0.4, 1.0))]:
        weights = numbers.copy()
        for column, lam in zip(both.T, lambdas, strict=True):
            weights *= category_weights.column_weights(column, column, "li_racine", lam, sorted(set(column)))
        grid = category_weights.loo(weights, y)
        assert grid == pytest.approx(found.value, rel=1e-9) if lambdas is found.lambda_ else grid >= found.value
    assert found.minima[0].lambda_.tolist() == found.lambda_.tolist()
    fitted = headspan.nadaraya_watson(
        x, y, bandwidth="auto", categories=both, category_kernel="li_racine", lambda_="auto"
    )
    assert fitted.lambda_.tolist() == found.lambda_.tolist() and fitted.bandwidth.tolist() == found.bandwidth.tolist()


def test_the_ends_of_lambda() -> None:
    x, y, words, _ = table(60)
    free = headspan.nadaraya_watson(x, y, bandwidth=0.7).output
    close(headspan.nadaraya_watson(x, y, bandwidth=0.7, categories=words, lambda_=2 / 3).output, free, rtol=1e-12)
    apart = headspan.nadaraya_watson(x, y, bandwidth=0.7, categories=words, lambda_=0.0).output
    for word in WORDS:
        own = words == word
        close(apart[own], headspan.nadaraya_watson(x[own], y[own], bandwidth=0.7).output, rtol=1e-11)


def test_categories_alone() -> None:
    words, y, none = ["a", "a", "b"], [1.0, 3.0, 8.0], np.empty((3, 0))
    found = headspan.nadaraya_watson(
        none, y, bandwidth="auto", categories=words, at_categories=["a", "b", "c"], category_kernel="li_racine",
        lambda_=0.5,
    )  # fmt: skip
    assert found.output == pytest.approx([8 / 2.5, 10 / 2, 4])
    apart = headspan.nadaraya_watson(none, y, bandwidth="auto", categories=words, lambda_=0.0)
    assert apart.output.tolist() == [2, 2, 8]
    levels, values = list("aaabbb"), np.array([1.0, 2, 1, 7, 8, 7])
    chosen = headspan.select_bandwidth(np.empty((6, 0)), values, categories=levels)
    for lam in (chosen.lambda_[0], 1e-8, 0.1, 0.5):
        weights = category_weights.column_weights(levels, levels, "aitchison_aitken", lam, "ab")
        assert category_weights.loo(weights, values) >= chosen.value * (1 - 1e-12)
    assert chosen.lambda_[0] < 0.05


def test_levels_in_a_given_order() -> None:
    words, y = np.array(["low", "mid", "high", "mid"]), np.array([1.0, 2.0, 5.0, 3.0])
    order = ["low", "mid", "high", "higher"]
    found = headspan.nadaraya_watson(
        np.zeros(4), y, [0.0, 0.0], bandwidth=1.0, categories=words, at_categories=["low", "high"],
        category_kernel="li_racine_ordered", category_levels=[order], lambda_=0.5,
    )  # fmt: skip
    weights = category_weights.column_weights(["low", "high"], words, "li_racine_ordered", 0.5, order)
    close(found.output, category_weights.means(weights, y), rtol=1e-13)


def test_levels_are_names_and_threads_change_nothing() -> None:
    x, y, words, _ = table(90)
    renamed = np.array([{"north": 7, "east": -5, "south": 90}[word] for word in words])
    asked: dict[str, Any] = {"bandwidth": 0.7, "lambda_": 0.1}
    wanted = headspan.nadaraya_watson(x, y, categories=words, **asked).output
    assert (headspan.nadaraya_watson(x, y, categories=renamed, **asked).output == wanted).all()
    assert (headspan.nadaraya_watson(x, y, categories=words[:, None], threads=1, **asked).output == wanted).all()


X, Y, AB = np.arange(3.0), np.ones(3), ["a", "b", "a"]
TROUBLE: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "rows": (ValueError, "categories: 2 rows for 3 rows of x", {"categories": ["a", "b"]}),
    "missing": (ValueError, "column 0, row 1: the level is missing", {"categories": np.array(["a", None, "b"], object)}),
    "fractions": (TypeError, "words or integers wanted", {"categories": [0.5, 1.0, 2.0]}),
    "mixed": (TypeError, "mixes words and integers", {"categories": np.array(["a", 1, "b"], object)}),
    "kernel": (ValueError, "'epanechnikov' is none of", {"categories": AB, "category_kernel": "epanechnikov"}),
    "kernels": (ValueError, "one or 1 of them", {"categories": AB, "category_kernel": ["li_racine"] * 2}),
    "range": (ValueError, "must lie in [0, 0.5]", {"categories": AB, "lambda_": 0.6}),
    "lambdas": (ValueError, "lambda_: one or 1", {"categories": AB, "lambda_": [0.1, 0.2]}),
    "half": (ValueError, "chosen together", {"categories": AB, "lambda_": "auto"}),
    "word": (ValueError, "'all'", {"categories": AB, "lambda_": "all"}),
    "no categories": (ValueError, "there are no categories", {"lambda_": 0.1}),
    "no queries' categories": (ValueError, "wanted beside at", {"categories": AB, "at": [0.0]}),
    "queries without": (ValueError, "at_categories: there are no", {"at_categories": ["a"]}),
    "rows of queries": (
        ValueError, "at_categories: 2 rows for 1 queries", {"categories": AB, "at": [0.0], "at_categories": ["a", "b"]},
    ),
    "kinds": (TypeError, "in categories of words", {"categories": AB, "at": [0.0], "at_categories": [1]}),
    "no place": (
        ValueError, "column 0, row 0: level 'c' has no place in a < b",
        {"categories": AB, "at": [0.0], "at_categories": ["c"], "category_kernel": "wang_van_ryzin"},
    ),
    "unnamed level": (ValueError, "also has level 'b'", {"categories": AB, "category_levels": [["a"]]}),
    "named twice": (ValueError, "named twice", {"categories": AB, "category_levels": [["a", "b", "a"]]}),
}  # fmt: skip


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(name: str) -> None:
    kind, words, asked = TROUBLE[name]
    asked = {"bandwidth": 1.0, **({"lambda_": 0.1} if "categories" in asked else {}), **asked}
    with pytest.raises(kind) as caught:
        headspan.nadaraya_watson(X, Y, **asked)
    assert words in str(caught.value)


def test_one_level_cannot_choose_a_lambda() -> None:
    with pytest.raises(ValueError, match="one level only"):
        headspan.select_bandwidth(X, np.arange(3.0), categories=["a"] * 3)


ORDER = ["low", "mid", "high"]


def ordered(**asked: Any) -> Array:
    """Of four rows, 'low', 'high', 'high' and 'low', by a kernel of ordered levels alone."""
    given = {"bandwidth": 1.0, "category_kernel": "li_racine_ordered", "lambda_": 0.5, **asked}
    return headspan.nadaraya_watson(np.zeros(4), [1.0, 5.0, 6.0, 2.0], [0.0, 0.0, 0.0], **given).output


def test_levels_that_no_row_has_keep_their_place() -> None:
    words = ["low", "high", "high", "low"]
    found = ordered(categories=words, at_categories=ORDER, category_levels=[ORDER])
    far = 0.5**2
    close(found, [(3 + far * 11) / (2 + far * 2), 14 / 4, (far * 3 + 11) / (far * 2 + 2)], rtol=1e-14)
    # Of three levels lambda may go up to 2/3, where the column no longer matters.
    even = ordered(
        categories=words,
        at_categories=ORDER,
        category_levels=[ORDER],
        category_kernel="aitchison_aitken",
        lambda_=2 / 3,
    )
    close(even, np.full(3, 3.5), rtol=1e-14)


def test_the_order_that_a_dtype_states() -> None:
    words = pd.Categorical(["low", "high", "high", "low"], categories=ORDER, ordered=True)
    by_levels = ordered(categories=list(words), at_categories=ORDER, category_levels=[ORDER])
    close(ordered(categories=words, at_categories=ORDER), by_levels, rtol=0)
    close(ordered(categories=pd.Series(words), at_categories=ORDER), by_levels, rtol=0)
    close(ordered(categories=pd.DataFrame({"size": words}), at_categories=ORDER), by_levels, rtol=0)


def test_rows_of_words_and_numbers() -> None:
    rows = [("a", 10), ("b", 2), ("a", 3), ("b", 10)]
    columns = np.empty((4, 2), dtype=object)
    columns[:] = rows
    at = [("a", 2), ("b", 3), ("a", 10)]
    close(ordered(categories=rows, at_categories=at), ordered(categories=columns, at_categories=at), rtol=0)
    weights = category_weights.column_weights([2, 3, 10], [10, 2, 3, 10], "li_racine_ordered", 0.5, [2, 3, 10])
    weights = weights * category_weights.column_weights(
        ["a", "b", "a"], ["a", "b", "a", "b"], "li_racine", 0.5, ["a", "b"]
    )
    close(
        ordered(categories=rows, at_categories=at, category_kernel=["li_racine", "li_racine_ordered"]),
        category_weights.means(weights, np.array([1.0, 5.0, 6.0, 2.0])), rtol=1e-13,
    )  # fmt: skip
