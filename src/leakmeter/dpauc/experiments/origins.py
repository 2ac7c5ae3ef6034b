"""Where scores come from: our Wide & Deep predictions, or the counts of the authors' own model.

Every experiment runs on either through one interface, so that the two stand side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from leakmeter.dpauc.authors import Reconstruction, load_reconstruction
from leakmeter.dpauc.counting import Counts, assign_clients, count
from leakmeter.dpauc.roc import auc_from_counts
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError, read_json

#: The chain, as in the column ``paper``.
PAPER = "dpauc"
#: partition as the paper names it -> name of the assignment
PARTITIONS = {"IID": "iid", "Non-IID": "non_iid"}


class Origin(ABC):
    """Scored records of one model at one or more epochs.

    Attributes
    ----------
    name : ``wide_deep`` or ``authors``.
    data : label of the data behind the scores.
    epochs : epochs there are scores for.
    m : number of evaluated records.
    scale, seed : of the run.
    """

    name: str
    data: str
    epochs: Sequence[int]
    m: int

    def __init__(self, *, scale: str, seed: int) -> None:
        self.scale, self.seed = scale, seed

    @abstractmethod
    def counts(
        self,
        epoch: int,
        n: int,
        *,
        layout: str = "authors",
        clients: int | None = None,
        partition: str = "IID",
    ) -> Counts:
        """Counts at ``n`` nominal thresholds, for each of ``clients`` or pooled."""

    @abstractmethod
    def records(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores (M,) and labels (M,)."""

    @abstractmethod
    def source_std(self, epoch: int, n: int, layout: str = "authors") -> float:
        """Uncertainty of the noise-free AUC that lies in the source itself."""

    def noise_free(self, epoch: int, n: int, layout: str = "authors") -> float:
        """Thresholded AUC without noise, with the authors' curve."""
        return auc_from_counts(self.counts(epoch, n, layout=layout))

    def seed_for(self, stage: str, **axes: Any) -> int:
        """Seed of a stage; origins do not share random numbers."""
        return self.recorder().seed_for(stage, **axes)

    def recorder(self, paper: str = PAPER) -> Recorder:
        """An empty recorder of what is measured on this origin."""
        return Recorder(paper, self.scale, self.seed, origin=self.name, data=self.data, m=self.m)


class WideDeepOrigin(Origin):
    """Predictions of our model on the configured click logs.

    Parameters
    ----------
    predictions : Parquet files with ``score`` and ``label``, one per epoch, in order of epochs.
    data : label of the click logs.
    """

    name = "wide_deep"

    def __init__(
        self, predictions: Sequence[str | Path], *, data: str, scale: str, seed: int
    ) -> None:
        super().__init__(scale=scale, seed=seed)
        self.data = data
        self._predictions = [Path(path) for path in predictions]
        self.epochs = range(len(self._predictions))
        self.m = pq.read_metadata(self._predictions[0]).num_rows

    @cache  # noqa: B019  an origin lives as long as its script
    def records(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        table = pq.read_table(self._predictions[epoch], columns=["score", "label"])
        return table["score"].to_numpy(), table["label"].to_numpy()

    @cache  # noqa: B019
    def _owners(self, epoch: int, clients: int, partition: str) -> np.ndarray:
        return assign_clients(
            self.records(epoch)[0],
            clients=clients,
            assignment=PARTITIONS[partition],
            seed=self.seed_for("assignment", epoch=epoch, clients=clients),
        )

    @cache  # noqa: B019
    def counts(self, epoch, n, *, layout="authors", clients=None, partition="IID") -> Counts:
        owners = None if clients is None else self._owners(epoch, clients, partition)
        scores, labels = self.records(epoch)
        return count(scores, labels, thresholds(n, layout), owners, n_clients=clients)

    def source_std(self, epoch: int, n: int, layout: str = "authors") -> float:
        return 0.0  # the records are what they are


class AuthorsOrigin(Origin):
    """The authors' epoch-0 model, as far as their released ROC figure determines its counts.

    Counts are pooled over clients: the noise's law depends on nothing else, so the partition only
    changes the random numbers.
    """

    name, data, epochs = "authors", "authors", (0,)

    def __init__(self, reconstruction: Reconstruction, *, scale: str, seed: int) -> None:
        super().__init__(scale=scale, seed=seed)
        self.reconstruction = reconstruction
        self.m = reconstruction.positives + reconstruction.negatives

    @cache  # noqa: B019
    def records(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        return self.reconstruction.pseudo_scores(self.seed_for("pseudo_scores", epoch=epoch))

    @cache  # noqa: B019
    def counts(self, epoch, n, *, layout="authors", clients=None, partition="IID") -> Counts:
        return self.reconstruction.counts_at(thresholds(n, layout))

    @cache  # noqa: B019
    def source_std(self, epoch: int, n: int, layout: str = "authors") -> float:
        seed = self.seed_for("source", n=n, layout=layout)
        return self.reconstruction.source_sd(thresholds(n, layout), seed=seed).sd


def load_origin(
    name: str, scores: Sequence[str | Path], meta: str | Path | None, *, scale: str, seed: int
) -> Origin:
    """The origin of a name from the files it is made of.

    Parameters
    ----------
    name : ``wide_deep`` (``scores``: predictions per epoch, ``meta``: preprocessing's meta.json
        with the data label) or ``authors`` (``scores``: the reconstruction's CSV).
    """
    if name == "authors":
        return AuthorsOrigin(load_reconstruction(scores[0]), scale=scale, seed=seed)
    if name != "wide_deep":
        raise UserError(f"origin is {name!r}; expected wide_deep or authors")
    return WideDeepOrigin(scores, data=read_json(meta)["data"], scale=scale, seed=seed)
