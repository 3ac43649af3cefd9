"""headspan: attention heads as Nadaraya-Watson estimators.

Estimates and attention with their effective sample sizes, exact covariances between heads, smoothing scores and
bandwidths, the decomposition of an ensemble's error into bias, variance and covariance, frames that make heads diverse,
and simulated ensembles. Functions take numpy arrays or any DLPack array in CPU memory, run without the interpreter lock,
can be interrupted with Ctrl-C, and give the same bits for any number of threads.
"""

from ._attention import Attention, attention, weight_covariance
from ._core import (
    KERNELS,
    AdditiveFacts,
    Ambiguity,
    AngleFacts,
    ColonyFacts,
    Decomposition,
    ForestFacts,
    LatentFacts,
    LinkedMoments,
    Part,
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
from ._experiments import simulate_additive, simulate_colony, simulate_forest, simulate_heads, simulate_latents
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
    "AdditiveFacts",
    "Ambiguity",
    "AngleFacts",
    "Attention",
    "BandwidthMinimum",
    "BandwidthSelection",
    "ColonyFacts",
    "Decomposition",
    "DiverseFrames",
    "DiversityPenalty",
    "EnsembleLoo",
    "Estimate",
    "ForestFacts",
    "HeadsEstimate",
    "LatentFacts",
    "LinkedMoments",
    "Part",
    "SmootherScores",
    "__version__",
    "ambiguity",
    "attention",
    "decompose",
    "decompose_replicates",
    "diverse_frames",
    "diversity_penalty",
    "ensemble_loo",
    "equal_angle_frames",
    "estimate_heads",
    "least_mean_overlap",
    "leave_one_out_covariance",
    "linked_moments",
    "nadaraya_watson",
    "neighbour_noise_variance",
    "random_frames",
    "residual_noise_variance",
    "select_bandwidth",
    "simulate_additive",
    "simulate_colony",
    "simulate_forest",
    "simulate_heads",
    "simulate_latents",
    "smoother_scores",
    "tight_frame_exists",
    "weight_covariance",
]
