"""The records a game is played with: candidates for challenges, a base, and held-out records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.audit.image_features import (
    VEHICLES,
    PrincipalComponents,
    raw_features,
    read_batch,
)
from leakmeter.audit.text_features import LatentSemantics, distinct_phrases, read_phrases
from leakmeter.datasets.resolve import Resolution
from leakmeter.runtime import UserError, atomic_path, generator

#: Batches of CIFAR-10 in the order they are used.
_TRAIN_BATCHES = ("train_1", "train_2", "train_3", "train_4", "train_5")


@dataclass(frozen=True)
class Pool:
    """Features and labels, private and held out.

    Attributes
    ----------
    inputs : (n, ...) float32 features (or token ids, int32); candidates first, then the base.
    labels : (n,) int64.
    candidates : how many of the first records may become challenge points.
    test_inputs, test_labels : held-out records, for accuracy.
    classes : number of classes.
    about : what a reader must know: ``data`` (label), ``note``, ``public``.
    """

    inputs: np.ndarray
    labels: np.ndarray
    candidates: int
    test_inputs: np.ndarray
    test_labels: np.ndarray
    classes: int
    about: dict[str, Any]

    @property
    def base(self) -> np.ndarray:
        """Indices of the records that may be in every training set."""
        return np.arange(self.candidates, len(self.labels))

    @property
    def majority(self) -> float:
        """Accuracy of the best constant answer: what is known without a private record."""
        return float(np.bincount(self.test_labels).max() / len(self.test_labels))

    def save(self, path: str | Path) -> None:
        """Write to an .npz file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as handle:
            np.savez(
                handle,
                inputs=self.inputs,
                labels=self.labels,
                test_inputs=self.test_inputs,
                test_labels=self.test_labels,
                numbers=np.array([self.candidates, self.classes]),
                about=np.frombuffer(json.dumps(self.about, sort_keys=True).encode(), np.uint8),
            )

    @classmethod
    def load(cls, path: str | Path) -> Pool:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            candidates, classes = (int(v) for v in stored["numbers"])
            return cls(
                inputs=stored["inputs"],
                labels=stored["labels"],
                candidates=candidates,
                test_inputs=stored["test_inputs"],
                test_labels=stored["test_labels"],
                classes=classes,
                about=json.loads(stored["about"].tobytes().decode()),
            )


def cifar10_pool(resolution: Resolution, settings: dict[str, Any], *, seed: int) -> Pool:
    """Vehicles against animals on features of public images (without their labels).

    The projection is fitted on the first ``public`` test images; the others measure accuracy. With
    ``features`` "pixels" the images themselves, standardised by the authors' constants, and the ten
    classes are used (paper scale).
    """
    wanted = settings["candidates"] + settings["base"]
    images, labels, test_images, test_labels = _cifar10_images(resolution, wanted, settings, seed)
    if settings["features"] == "pixels":
        inputs, held_out = (_standardised(i) for i in (images, test_images))
        classes, about = 10, "all ten classes, standardised pixels"
    else:
        public = test_images[: settings["public"]]
        project = PrincipalComponents.fit(
            raw_features(public), settings["dimensions"], settings["length"]
        )
        test_images, test_labels = test_images[len(public) :], test_labels[len(public) :]
        inputs, held_out = (project(raw_features(i)) for i in (images, test_images))
        labels, test_labels = (np.isin(y, VEHICLES).astype(np.int64) for y in (labels, test_labels))
        classes = 2
        about = f"vehicles against animals; projection of {len(public)} public images, no labels"
    return Pool(
        inputs,
        labels,
        settings["candidates"],
        held_out,
        test_labels,
        classes,
        {"data": resolution.label, "note": about, "source": resolution.note},
    )


def _cifar10_images(resolution, wanted, settings, seed):
    """The first ``wanted`` private images and all test images, genuine or generated."""
    if not resolution.files:
        from leakmeter.datasets.standins.cifar10 import generate

        held_out = settings["public"] + settings["standin_test"]
        images, labels = generate(wanted + held_out, seed=seed)
        return images[:wanted], labels[:wanted], images[wanted:], labels[wanted:]
    batches, rows = [], 0
    for key in _TRAIN_BATCHES:
        if key in resolution.files and rows < wanted:
            with resolution.open(key) as handle:
                batches.append(read_batch(handle, key))
            rows += len(batches[-1][1])
    _enough("CIFAR-10 training images", rows, wanted)
    with resolution.open("test") as handle:
        test_images, test_labels = read_batch(handle, "test")
    images, labels = (np.concatenate(parts)[:wanted] for parts in zip(*batches, strict=True))
    return images, labels, test_images, test_labels


def _standardised(images: np.ndarray) -> np.ndarray:
    """Pixels minus mean over deviation, by channel (constants of the authors' configuration)."""
    mean = np.array([0.49139968, 0.48215841, 0.44653091], np.float32)
    deviation = np.array([0.24703223, 0.24348513, 0.26158784], np.float32)
    return (images.astype(np.float32) / 255 - mean) / deviation


def sst2_pool(resolution: Resolution, settings: dict[str, Any], *, seed: int) -> Pool:
    """Sentiment of phrases on features of public phrases (without their labels).

    Phrases are shuffled; the first ``public`` distinct ones of at least ``words`` words fit the
    analysis, the next ones are private. With ``features`` "tokens" the phrases become token ids of
    RoBERTa's vocabulary (paper scale, needs KerasHub).
    """
    phrases, labels, test_phrases, test_labels = _sst2_phrases(resolution, settings, seed)
    kept = distinct_phrases(phrases, words=settings["words"])
    kept = generator(seed, "audit_sst2_order").permutation(kept)
    sizes = [settings["public"], settings["candidates"] + settings["base"]]
    _enough("distinct SST-2 phrases", len(kept), sum(sizes))
    public, private = np.split(kept[: sum(sizes)], [sizes[0]])
    private_phrases = [phrases[i] for i in private]
    if settings["features"] == "tokens":
        from leakmeter.audit.paper_models import roberta_tokens

        inputs, held_out = (roberta_tokens(p) for p in (private_phrases, test_phrases))
        about = "token ids of RoBERTa-base"
    else:
        project = LatentSemantics.fit(
            [phrases[i] for i in public], settings["dimensions"], settings["length"], seed
        )
        inputs, held_out = project(private_phrases), project(test_phrases)
        about = f"latent semantics of {len(public)} public phrases, no labels"
    return Pool(
        inputs,
        labels[private],
        settings["candidates"],
        held_out,
        test_labels,
        2,
        {"data": resolution.label, "note": about, "source": resolution.note},
    )


def _sst2_phrases(resolution, settings, seed):
    if not resolution.files:
        from leakmeter.datasets.standins.sst2 import generate

        # twice as many as are needed: short and repeated phrases are left out
        wanted = 2 * sum(settings[k] for k in ("public", "candidates", "base"))
        phrases, labels = generate(wanted + settings["standin_test"], seed=seed)
        return phrases[:wanted], labels[:wanted], phrases[wanted:], labels[wanted:]
    with resolution.open("train") as handle:
        phrases, labels = read_phrases(handle, "train")
    with resolution.open("dev") as handle:
        test_phrases, test_labels = read_phrases(handle, "dev")
    return phrases, labels, test_phrases, test_labels


def _enough(what: str, got: int, wanted: int) -> None:
    if got < wanted:
        raise UserError(f"{got} {what}; the configuration (audit.games) asks for {wanted}")


#: Data set -> function (resolution, settings, seed) -> Pool.
POOLS = {"cifar10": cifar10_pool, "sst2": sst2_pool}
