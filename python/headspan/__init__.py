"""headspan: attention heads as Nadaraya-Watson estimators.

Estimates and attention with their effective sample sizes, exact covariances between heads, smoothing scores and
bandwidths, the decomposition of an ensemble's error into bias, variance and covariance, weights of its members, frames
that make heads diverse, and simulated ensembles. Functions take numpy arrays or any DLPack array in CPU memory, run
without the interpreter lock, can be interrupted with Ctrl-C, and give the same bits for any number of threads.

MultiHeadNWRegressor and MultiHeadNWClassifier, for tables, are scikit-learn estimators: they need the extra
`headspan[sklearn]`, which nothing else here does.
"""

from typing import TYPE_CHECKING, Any

from ._attention import Attention, attention, weight_covariance
from ._bandwidth import BandwidthMinimum, BandwidthSelection, SmootherScores, select_bandwidth, smoother_scores
from ._claims import claim_ids, verify
from ._core import (
    KERNELS,
    AdditiveFacts,
    Ambiguity,
    AngleFacts,
    Claim,
    ColonyFacts,
    Comparison,
    Decomposition,
    Doubt,
    Exchangeability,
    FamilyFit,
    FittedWeights,
    ForestFacts,
    LatentFacts,
    LinkedMoments,
    Part,
    PredictionFacts,
    Shrunk,
    Weighting,
)
from ._decomposition import (
    ambiguity,
    decompose,
    decompose_replicates,
    leave_one_out_covariance,
    linked_moments,
    neighbour_noise_variance,
    residual_noise_variance,
)
from ._experiments import simulate_additive, simulate_angles, simulate_colony, simulate_forest, simulate_latents
from ._frames import (
    DiverseFrames,
    DiversityPenalty,
    diverse_frames,
    diversity_penalty,
    equal_angle_frames,
    least_mean_overlap,
    random_frames,
    tight_frame_exists,
)
from ._heads import HeadsEstimate, estimate_heads
from ._plan import (
    AttentionCost,
    DataPlan,
    MeasuredPair,
    Plan,
    PlanPair,
    RealPair,
    Slope,
    attention_costs,
    plan,
    plan_from_data,
)
from ._regression import EnsembleLoo, Estimate, ensemble_loo, nadaraya_watson
from ._representation import show_results
from ._weights import (
    FAMILIES,
    decompose_predictions,
    error_second_moments,
    exchangeability,
    exchangeability_test,
    family_weights,
    fit_family,
    ledoit_wolf,
    monotone_weights,
    optimal_weights,
    risk,
    simplex_weights,
    structure_loss,
)

if TYPE_CHECKING:
    from ._estimator import MultiHeadNWClassifier as MultiHeadNWClassifier
    from ._estimator import MultiHeadNWRegressor as MultiHeadNWRegressor

__version__ = "0.1.0"

__all__ = [
    "FAMILIES",
    "KERNELS",
    "AdditiveFacts",
    "Ambiguity",
    "AngleFacts",
    "Attention",
    "AttentionCost",
    "BandwidthMinimum",
    "BandwidthSelection",
    "Claim",
    "ColonyFacts",
    "Comparison",
    "DataPlan",
    "Decomposition",
    "DiverseFrames",
    "DiversityPenalty",
    "Doubt",
    "EnsembleLoo",
    "Estimate",
    "Exchangeability",
    "FamilyFit",
    "FittedWeights",
    "ForestFacts",
    "HeadsEstimate",
    "LatentFacts",
    "LinkedMoments",
    "MeasuredPair",
    "Part",
    "Plan",
    "PlanPair",
    "PredictionFacts",
    "RealPair",
    "Shrunk",
    "Slope",
    "SmootherScores",
    "Weighting",
    "__version__",
    "ambiguity",
    "attention",
    "attention_costs",
    "claim_ids",
    "decompose",
    "decompose_predictions",
    "decompose_replicates",
    "diverse_frames",
    "diversity_penalty",
    "ensemble_loo",
    "equal_angle_frames",
    "error_second_moments",
    "estimate_heads",
    "exchangeability",
    "exchangeability_test",
    "family_weights",
    "fit_family",
    "least_mean_overlap",
    "leave_one_out_covariance",
    "ledoit_wolf",
    "linked_moments",
    "monotone_weights",
    "nadaraya_watson",
    "neighbour_noise_variance",
    "optimal_weights",
    "plan",
    "plan_from_data",
    "random_frames",
    "residual_noise_variance",
    "risk",
    "select_bandwidth",
    "simplex_weights",
    "simulate_additive",
    "simulate_angles",
    "simulate_colony",
    "simulate_forest",
    "simulate_latents",
    "smoother_scores",
    "structure_loss",
    "tight_frame_exists",
    "verify",
    "weight_covariance",
]

show_results()

_ESTIMATORS = ("MultiHeadNWClassifier", "MultiHeadNWRegressor")


def __getattr__(name: str) -> Any:
    """The estimators, imported when they are first asked for."""
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'headspan' has no attribute {name!r}")
    try:
        from . import _estimator
    except ModuleNotFoundError as error:
        raise ImportError(
            f"headspan.{name} needs scikit-learn, and {error.name} is not installed: pip install 'headspan[sklearn]'"
        ) from error
    return getattr(_estimator, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ESTIMATORS})
