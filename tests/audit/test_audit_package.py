import subprocess
import sys

import leakmeter.audit


def test_public_names_of_the_design():
    for name in ("epsilon_interval", "epsilon_cdf", "epsilon_density", "point_estimate"):
        assert callable(getattr(leakmeter.audit, name)), name
        assert name in leakmeter.audit.__all__


def test_every_public_name_loads():
    for name in leakmeter.audit.__all__:
        assert getattr(leakmeter.audit, name) is not None


def test_names_are_lazy_and_need_no_tensorflow():
    """In a fresh interpreter; the names must also survive an import of their own modules."""
    code = (
        "import sys, leakmeter.audit as a\n"
        "assert not any(m.startswith('leakmeter.audit.') for m in sys.modules)\n"
        "import leakmeter.audit.coverage, leakmeter.audit.intervals\n"
        "a.epsilon_interval, a.coverage_study, a.worked_example, a.width_rows\n"
        "heavy = {'tensorflow', 'sklearn', 'pandas', 'polars', 'matplotlib', 'numba'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
