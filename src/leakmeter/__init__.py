"""leakmeter: what models and their metrics leak, measured and compared with four published papers.

One room per paper (`dpauc`, `audit`, `membership`, `labelings`); `datasets`, `reporting` and
`runtime` serve all of them. Importing the package, or any module that trains nothing, never
imports TensorFlow.
"""

__version__ = "0.1.0"
