"""Membership-privacy risk: K-NN Shapley scores (SHAPr), the attacks and metrics they are held to.

The public names below are loaded on first use, so that importing one module loads no other.
Modules are named so that none shares a name with a public function.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "attack_roc": ["Roc", "TprAtFpr", "roc", "tpr_at_fpr"],
        "effectiveness": ["Effectiveness", "balanced_attack_accuracy", "score_effectiveness"],
        "entropy_attack": [
            "EntropyAttack",
            "fit_entropy_attack",
            "fixed_entropy_attack",
            "modified_entropy",
        ],
        "lira_attack": ["lira", "lira_leave_one_out", "scaled_confidence", "shadow_models"],
        "shapley": [
            "KnnDiagnostics",
            "knn_diagnostics",
            "knn_shapley",
            "knn_shapley_blocks",
            "knn_shapley_by_group",
        ],
        "sprs_scores": ["SprsHistograms", "fit_sprs", "sprs"],
        "threshold_search": ["Threshold", "best_threshold"],
    },
)
