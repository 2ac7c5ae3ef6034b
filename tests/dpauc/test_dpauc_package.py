import subprocess
import sys

import leakmeter.dpauc


def test_public_names_of_the_design():
    for name in (
        "thresholds",
        "count",
        "Counts",
        "laplace_auc",
        "randomized_response_auc",
        "exact_auc",
        "debias",
        "budget",
    ):
        value = getattr(leakmeter.dpauc, name)
        assert callable(value), name
        assert name in leakmeter.dpauc.__all__


def test_every_public_name_loads():
    for name in leakmeter.dpauc.__all__:
        assert getattr(leakmeter.dpauc, name) is not None


def test_names_are_lazy_and_need_no_tensorflow():
    """In a fresh interpreter; the names must also survive an import of their own modules."""
    code = (
        "import sys, leakmeter.dpauc as d\n"
        "assert not any(m.startswith('leakmeter.dpauc.') for m in sys.modules)\n"
        "import leakmeter.dpauc.threshold_layouts, leakmeter.dpauc.counting\n"
        "assert d.thresholds(10).size == 9 and callable(d.count)\n"
        "d.laplace_auc, d.budget, d.labels_from_roc, d.load_reconstruction\n"
        "heavy = {'tensorflow', 'sklearn', 'pandas', 'polars', 'matplotlib', 'numba'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
