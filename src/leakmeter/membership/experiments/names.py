"""How the chain's numbers are named."""

#: The chain.
PAPER = "shapr"
#: Origin of all its numbers that depend on data: models trained here.
ORIGIN = "target"
#: Note of a number that has no value.
UNDEFINED = "undefined in this run: a denominator is 0 or a statistic has one value"
