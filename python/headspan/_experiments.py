"""Ensembles under a diversity dial, measured beside Var F = rho v + (1 - rho) v / M.

Every measured value is a Part with a standard error over the replicates. The same seed gives the same numbers on any
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from . import _arrays, _core
from ._core import AdditiveFacts, AngleFacts, ColonyFacts, ForestFacts, LatentFacts

Options = TypeVar("Options")


def simulate_angles(
    degrees: Iterable[float] | None = None,
    *,
    n_heads: int | None = None,
    head_dim: int | None = None,
    n: int | None = None,
    kernel: Literal["gaussian", "softmax"] = "gaussian",
    bandwidth: float | None = None,
    noise_variance: float | None = None,
    n_points: int | None = None,
    n_replicates: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> AngleFacts:
    """Heads of which every two have all principal angles equal to each of `degrees`, over pure noise.

    rho_predicted is the closed form at the queries themselves, rho_limit its mean over normal queries (nan for a softmax
    of bandwidth^4 <= 2, which has none). What is not given has the default of `headspan simulate heads`. Raises ValueError, naming the option, on values out of range.
    """
    if kernel == "softmax" and bandwidth is None:
        bandwidth = 2.0
    return _core.simulate_angles(
        _with(
            _core.AngleOptions(),
            degrees=_floats("degrees", _listed(degrees)),
            n_heads=n_heads,
            head_dim=head_dim,
            n=n,
            kernel=kernel,
            bandwidth=bandwidth,
            noise_variance=noise_variance,
            n_points=n_points,
            n_replicates=n_replicates,
            seed=seed,
        ),
        _arrays.thread_count(threads),
    )


def simulate_latents(
    head_dims: Iterable[int] | None = None,
    *,
    budget: int | None = None,
    scale: float | None = None,
    rate: float | None = None,
    private_noise: float | None = None,
    n: int | None = None,
    bandwidth: float | None = None,
    noise_variance: float | None = None,
    n_points: int | None = None,
    n_replicates: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> LatentFacts:
    """Heads that see the first k latents of a linear target through noise of their own, for each k of `head_dims`.

    Squared bias, variance and correlation have closed forms; best and best_predicted are the head dimensions of least
    measured and predicted error. Defaults and errors as in simulate_angles.
    """
    return _core.simulate_latents(
        _with(
            _core.LatentOptions(),
            head_dims=_integers("head_dims", _listed(head_dims)),
            budget=budget,
            scale=scale,
            rate=rate,
            private_noise=private_noise,
            n=n,
            bandwidth=bandwidth,
            noise_variance=noise_variance,
            n_points=n_points,
            n_replicates=n_replicates,
            seed=seed,
        ),
        _arrays.thread_count(threads),
    )


def simulate_additive(
    *,
    n_heads: int | None = None,
    frequency: float | None = None,
    n: int | None = None,
    bandwidth: float | None = None,
    noise_variance: float | None = None,
    n_points: int | None = None,
    n_replicates: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> AdditiveFacts:
    """A target that is a sum of functions, each seen by one head: their mean fails, their sum works.

    Defaults and errors as in simulate_angles.
    """
    return _core.simulate_additive(
        _with(
            _core.AdditiveOptions(),
            n_heads=n_heads,
            frequency=frequency,
            n=n,
            bandwidth=bandwidth,
            noise_variance=noise_variance,
            n_points=n_points,
            n_replicates=n_replicates,
            seed=seed,
        ),
        _arrays.thread_count(threads),
    )


def simulate_forest(
    mtry: Iterable[int] | None = None,
    *,
    n_inputs: int | None = None,
    n_trees: int | None = None,
    n: int | None = None,
    least_leaf: int | None = None,
    bootstrap: bool = True,
    noise_variance: float | None = None,
    n_points: int | None = None,
    n_replicates: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> ForestFacts:
    """Forests of regression trees whose splits choose among `mtry` inputs; the dial is 1 - mtry / n_inputs.

    rho_predicted is a fit to as many other replicates that never rises with the dial. Defaults and errors as in simulate_angles.
    """
    return _core.simulate_forest(
        _with(
            _core.ForestOptions(),
            mtry=_integers("mtry", _listed(mtry)),
            n_inputs=n_inputs,
            n_trees=n_trees,
            n=n,
            least_leaf=least_leaf,
            bootstrap=bootstrap,
            noise_variance=noise_variance,
            n_points=n_points,
            n_replicates=n_replicates,
            seed=seed,
        ),
        _arrays.thread_count(threads),
    )


def simulate_colony(
    exploration: Iterable[float] | None = None,
    *,
    thompson: bool = False,
    n_scouts: int | None = None,
    n_sites: int | None = None,
    n_steps: int | None = None,
    noise_sd: float | None = None,
    evaporation: float | None = None,
    sharing: float | None = None,
    quorum: float | None = None,
    n_replicates: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> ColonyFacts:
    """Scouts looking for the best site, which explore with each probability of `exploration`.

    Errors are correlated at sites that a scout has visited; estimate_correlation compares estimates, unvisited sites
    as zero. rho_predicted as in simulate_forest. Defaults and errors as in simulate_angles.
    """
    return _core.simulate_colony(
        _with(
            _core.ColonyOptions(),
            exploration=_floats("exploration", _listed(exploration)),
            thompson=thompson,
            n_scouts=n_scouts,
            n_sites=n_sites,
            n_steps=n_steps,
            noise_sd=noise_sd,
            evaporation=evaporation,
            sharing=sharing,
            quorum=quorum,
            n_replicates=n_replicates,
            seed=seed,
        ),
        _arrays.thread_count(threads),
    )


def _with(options: Options, **given: Any) -> Options:
    """`options` with what was given; the rest keeps the defaults of the library, which say what each must be."""
    for name, value in given.items():
        if value is not None:
            setattr(options, name, _like(name, value, getattr(options, name)))
    return options


def _like(name: str, value: Any, default: Any) -> Any:
    if name == "seed":
        return _arrays.seed_number(value)
    if isinstance(default, list):
        return value
    if isinstance(default, bool):
        return _arrays.flag(name, value)
    if isinstance(default, int):
        return _arrays.count(name, value)
    return _arrays.word(name, value) if isinstance(default, str) else _arrays.number(name, value)


def _listed(values: Any) -> Any:
    """Iterables that are no sequences, such as ranges and generators, as lists."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else values


def _floats(name: str, values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in _arrays.vector(name, values)]


def _integers(name: str, values: Any) -> list[int] | None:
    return None if values is None else _arrays.integers(name, values)
