"""DPAUC: the AUC of a federated test set under label differential privacy.

The public names below are loaded on first use, so that importing one module loads no other.
Modules are named so that none shares a name with a public function.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "ablations": ["ablation"],
        "accounting": ["Budget", "budget", "epsilon_per_count", "label_dp_epsilon"],
        "authors": ["Reconstruction", "load_reconstruction"],
        "binning": ["equal_mass_thresholds", "optimal_partition", "private_quantiles"],
        "composition": ["composed_epsilon", "epsilon_per_evaluation", "zcdp_rho"],
        "counting": ["Counts", "assign_clients", "count"],
        "debiasing": ["Debiased", "debias"],
        "discrete_noise": ["Noise", "discrete_laplace", "polya_shares"],
        "exact": ["exact_auc", "keras_auc"],
        "histogram_release": ["NoiseError", "histogram_error", "positives_error", "rank_sum_error"],
        "leaks": ["labels_from_auc", "labels_from_roc", "score_leak"],
        "mechanisms": ["gaussian_auc", "gaussian_sigma", "laplace_auc"],
        "precision_at_k": ["TopK", "topk"],
        "private_release": [
            "METHODS",
            "PrivateAuc",
            "auc_error",
            "epsilon_for_error",
            "private_auc",
            "simulate_private_auc",
        ],
        "randomized": [
            "RandomizedResponse",
            "randomized_response",
            "randomized_response_auc",
            "randomized_response_from_counts",
        ],
        "roc": ["CurveOptions", "auc_from_counts", "roc_points"],
        "score_noise": ["score_noise_auc"],
        "threshold_layouts": ["thresholds"],
        "wide_deep": ["WideDeepConfig"],
        "wide_deep_training": ["train"],
    },
)
