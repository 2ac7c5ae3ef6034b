"""Makes the helpers of this folder importable and its fixtures known."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conftest_workflow import finished  # noqa: F401
