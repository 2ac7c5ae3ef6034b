"""``python -m leakmeter``: the command."""

from leakmeter.cli import main

main()
