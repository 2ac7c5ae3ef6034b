"""Names of games in tables and figures."""

from __future__ import annotations


def game_order(name: str) -> tuple[int, bool, str]:
    """Sort key: m = 1, its variants, then the heuristic by m."""
    first, _, variant = name.partition("-")
    return int(first.removeprefix("m")), bool(variant), variant


def game_title(name: str) -> str:
    """A game's name as text.

    >>> game_title("m10"), game_title("m1-replicate1")
    ('m = 10', 'm = 1, replicate 1')
    """
    first, _, variant = name.partition("-")
    variant = variant.replace("replicate", "replicate ")
    variant = {"single": "one pair", "distinct": "N pairs"}.get(variant, variant)
    return f"m = {first.removeprefix('m')}" + (f", {variant}" if variant else "")
