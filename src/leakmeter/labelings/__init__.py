"""What the AUC of known guesses says about hidden labels: count, enumerate, attack.

After "How Does Knowledge of the AUC Constrain the Set of Possible Ground-truth Labelings?"
(Whitehill, arXiv 1709.02418; AAAI 2019).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "attacks": [
            "AttackResult",
            "attack_rows",
            "compatible_set",
            "curve_rows",
            "pair_attack",
            "posterior_attack",
            "prune_by_pairs",
            "prune_by_rankings",
            "run_attacks",
            "swap_attack",
            "weighing_attack",
        ],
        "aucs": ["AucInterval", "auc_cells", "parse_auc", "rounded_auc"],
        "conjectures": [
            "conjecture_rows",
            "conjecture_summary",
            "misranked_range_rows",
            "reduced_fractions",
        ],
        "counting": ["coefficients", "count", "count_for_auc", "growth_rows", "rows_for_auc"],
        "enumeration": ["enumerate_blocks", "enumerate_labelings"],
        "genuine": ["genuine_names", "genuine_scores"],
        "guesses": ["exact_auc"],
        "leaderboards": ["rounding_rows"],
        "leftswaps": [
            "figure1_rows",
            "figure2_rows",
            "left_swap",
            "misranked_pairs",
            "parse_pairs",
        ],
        "oracles": ["Oracle", "RoundingTooCoarse"],
        "posteriors": [
            "LabelPosterior",
            "improvement_row",
            "label_posterior",
            "posterior",
            "posterior_rows",
        ],
        "reference": ["counting_cost_rows", "recurrence_cost_rows", "recurrence_count"],
        "sampling": ["sample_labelings"],
    },
)
