"""headspan: attention heads as Nadaraya-Watson estimators.

Estimates and attention with their effective sample sizes, exact covariances between heads, smoothing scores and
bandwidths, and the decomposition of an ensemble's error into bias, variance and covariance. Functions take numpy
arrays or any DLPack array in CPU memory, run without the interpreter lock, can be interrupted with Ctrl-C, and give
the same bits for any number of threads.
"""

from ._attention import Attention, attention, weight_covariance
from ._core import KERNELS, Ambiguity, Decomposition, LinkedMoments, Part
from ._decomposition import (
    ambiguity,
    decompose,
    decompose_replicates,
    leave_one_out_covariance,
    linked_moments,
    neighbour_noise_variance,
    residual_noise_variance,
)
from ._heads import HeadsEstimate, estimate_heads
from ._regression import (
    BandwidthMinimum,
    BandwidthSelection,
    EnsembleLoo,
    Estimate,
    SmootherScores,
    ensemble_loo,
    nadaraya_watson,
    select_bandwidth,
    smoother_scores,
)

__version__ = "0.1.0"

__all__ = [
    "KERNELS",
    "Ambiguity",
    "Attention",
    "BandwidthMinimum",
    "BandwidthSelection",
    "Decomposition",
    "EnsembleLoo",
    "Estimate",
    "HeadsEstimate",
    "LinkedMoments",
    "Part",
    "SmootherScores",
    "__version__",
    "ambiguity",
    "attention",
    "decompose",
    "decompose_replicates",
    "ensemble_loo",
    "estimate_heads",
    "leave_one_out_covariance",
    "linked_moments",
    "nadaraya_watson",
    "neighbour_noise_variance",
    "residual_noise_variance",
    "select_bandwidth",
    "smoother_scores",
    "weight_covariance",
]
