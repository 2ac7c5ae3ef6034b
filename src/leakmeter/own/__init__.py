"""Measurements on a user's own files: scores, tallies, attack scores, features, guesses.

One module per question; each reads files through :mod:`leakmeter.own.reading`, computes with the
rooms of the four papers and returns a :class:`leakmeter.own.reports.Report`. The command
(:mod:`leakmeter.cli`) and the rules of ``workflow/rules/own.smk`` use the same functions.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "audited": ["AuditOptions", "audit_report"],
        "constrained": ["LabelingOptions", "labelings_report"],
        "reports": ["Report"],
        "risks": ["ShaprOptions", "shapr_report"],
        "scored": ["DpaucOptions", "dpauc_report"],
    },
)
