"""Experiments that need two of the papers' chains; ours, not the papers'.

- the Bayesian estimator of the audit chain on the mechanisms of the DPAUC chain;
- the attacks of the labelings chain on AUCs that the DPAUC chain releases;
- SHAPr scores of the membership chain against audits of single records.

This is the only room that may import the chains' rooms. The public names below are loaded on first
use, so that importing one module loads no other.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "auc_releases": ["ExactRelease", "HistogramRelease", "LaplaceRelease", "ResponseRelease"],
        "label_attacks": ["attack_labels", "bayes_bound", "rank_posterior"],
        "label_games": [
            "LabelGame",
            "evenly_spaced_game",
            "play_histogram",
            "play_laplace",
            "play_response",
        ],
        "loss_laws": ["LossLaw", "histogram_law", "laplace_law", "response_law"],
        "mechanism_audits": ["audit", "audit_histogram", "audit_laplace", "audit_response"],
        "record_risks": ["attack_decisions", "epsilons", "rank_correlation", "record_tallies"],
    },
)
