"""Bayesian estimation of differential privacy: intervals for epsilon from a membership attack.

The public names below are loaded on first use, so that importing one module loads no other.
Modules are named so that none shares a name with a public function.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "comparisons": ["perfect_attack_rows", "width_rows"],
        "coverage": [
            "OperatingPoint",
            "coverage_study",
            "gaussian_epsilon",
            "gaussian_point",
            "randomized_response_point",
        ],
        "figures_data": [
            "WorkedExample",
            "example_rows",
            "rate_density",
            "region_rows",
            "settings_rows",
            "worked_example",
        ],
        "intervals": ["METHODS", "epsilon_interval"],
        "loose_quadrature": ["loose_epsilon_interval"],
        "posterior": ["epsilon_cdf", "epsilon_density"],
        "privacy_accounting": ["calibrate_noise", "dpsgd_epsilon"],
        "rates": ["rate_interval"],
        "region": [
            "epsilon_at_rates",
            "point_estimate",
            "region_boundaries",
            "region_corner",
            "region_outline",
        ],
    },
)
