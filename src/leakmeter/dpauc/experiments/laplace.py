"""Tables 4 and 5: DPAUC_Lap over clients, partitions, thresholds and budgets; noise-free values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.dpauc.experiments.origins import PARTITIONS, Origin
from leakmeter.dpauc.mechanisms import laplace_auc
from leakmeter.reporting.recording import Recorder

#: What the paper holds fixed: thresholds of Table 4, clients and partition of Table 5.
TABLE4_THRESHOLDS = 100
TABLE5_CLIENTS = 10
TABLE5_PARTITION = "IID"
#: Nominal thresholds of the released noise-free files, measured beside the configured ones.
NOISE_FREE_THRESHOLDS = (100, 200, 400)


def laplace_draws(
    origin: Origin,
    *,
    epoch: int,
    thresholds: int,
    clients: int,
    partition: str,
    epsilon_per_count: float,
    repeats: int,
    stage: str = "laplace",
):
    """AUCs (repeats,) of one cell; a cell has the same draws in whichever table it stands."""
    return laplace_auc(
        origin.counts(epoch, thresholds, clients=clients, partition=partition),
        clients=clients,
        epsilon_per_count=epsilon_per_count,
        repeats=repeats,
        seed=origin.seed_for(
            stage,
            epoch=epoch,
            thresholds=thresholds,
            clients=clients,
            partition=partition,
            epsilon_per_count=epsilon_per_count,
        ),
    )


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows and draws of Tables 4 and 5 and of the noise-free values."""
    record = origin.recorder()
    for epoch in origin.epochs:
        for n in sorted({*settings["thresholds"], *NOISE_FREE_THRESHOLDS}):
            axes = {"epoch": epoch, "layout": "authors", "thresholds": n}
            std = origin.source_std(epoch, n)
            record.add("noise_free", axes, "auc", origin.noise_free(epoch, n), source_std=std)
        for item, axes, cell in _cells(epoch, settings):
            values = laplace_draws(origin, epoch=epoch, repeats=settings["repeats"], **cell)
            std = origin.source_std(epoch, cell["thresholds"])
            record.add(item, axes, "auc", values, source_std=std)
            if origin.name == "authors":
                reference = laplace_draws(
                    origin,
                    epoch=epoch,
                    repeats=settings["reference_repeats"],
                    stage="laplace_reference",
                    **cell,
                )
                record.draw(item, axes, "auc_reference", reference)
        for clients in settings["clients"]:
            largest = _pooled_difference(origin, epoch, clients)
            record.add("pooling", {"epoch": epoch, "K": clients}, "pooled_difference", largest)
    return record


def _pooled_difference(origin: Origin, epoch: int, clients: int) -> int:
    """Largest difference between the pooled counts of the two partitions: 0, by construction.

    The server's view is these counts plus noise whose law knows nothing of the partition.
    """
    one, other = (
        origin.counts(epoch, TABLE4_THRESHOLDS, clients=clients, partition=partition).pooled()
        for partition in PARTITIONS
    )
    return int(abs(one.stacked() - other.stacked()).max())


def _cells(epoch: int, settings: Mapping[str, Any]):
    """(item, axes, settings of the release) for every cell of Tables 4 and 5."""
    for epsilon in settings["epsilons"]:
        for partition in PARTITIONS:
            for clients in settings["clients"]:
                axes = {"epoch": epoch, "partition": partition, "K": clients, "epsilon": epsilon}
                yield "table4", axes, _release(TABLE4_THRESHOLDS, clients, partition, epsilon)
        for n in settings["thresholds"]:
            axes = {"epoch": epoch, "thresholds": n, "epsilon": epsilon}
            yield "table5", axes, _release(n, TABLE5_CLIENTS, TABLE5_PARTITION, epsilon)


def _release(n: int, clients: int, partition: str, epsilon: float) -> dict[str, Any]:
    # the paper's budget: epsilon = 4 |Theta| eps' with the nominal number of thresholds
    return {
        "thresholds": n,
        "clients": clients,
        "partition": partition,
        "epsilon_per_count": epsilon / (4 * n),
    }
