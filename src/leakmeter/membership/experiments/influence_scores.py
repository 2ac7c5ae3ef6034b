"""Influence functions as membership metrics: KIFS and TracIN, and what they cost.

KIFS: ``g_i^T (H + damping I)^{-1} sum_j g_j`` for training record i and the test records j, compared
with 0. It is the negative of Koh and Liang's influence of upweighting i on the summed test loss:
positive for a record that lowers this loss, which rises by about 1/n of it when i is left out of n.
Here over the last layer (of C (h + 1) parameters), whose Hessian for the softmax loss is exact and
positive semi-definite; the solve is direct and its residual is reported.

TracIN: ``sum_t lr g_i(t)^T g_j(t)`` over checkpoints, over all parameters. For fully connected
layers the inner product of two gradients is, layer by layer, the product of the inner products of
the layer's inputs and of its output errors, so no gradient is ever formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import (
    as_array,
    check_labels,
    check_matrix,
    check_number,
    require_real,
)
from leakmeter.runtime import UserError

#: Parameters of the last layer up to which its Hessian is formed (a matrix of half a gigabyte).
_LARGEST_HESSIAN = 8_000


@dataclass(frozen=True)
class Influence:
    """scores : (n_train,), high for records that lower the test loss. residual : of the solve, relative."""

    scores: np.ndarray
    residual: float


def _forward(weights: list[np.ndarray], x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Inputs of every layer (float64) and the class probabilities."""
    from scipy.special import softmax

    inputs = [x.astype(np.float64)]
    for kernel, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        inputs.append(np.tanh(inputs[-1] @ kernel + bias))
    return inputs, softmax(inputs[-1] @ weights[-2] + weights[-1], axis=1)


def _errors(
    weights: list[np.ndarray], inputs: list[np.ndarray], p: np.ndarray, y: np.ndarray
) -> list[np.ndarray]:
    """Derivatives of each record's loss by every layer's pre-activations."""
    delta = p.copy()
    delta[np.arange(len(y)), y] -= 1.0
    errors = [delta]
    for layer in range(len(inputs) - 1, 0, -1):
        delta = (delta @ weights[2 * layer].T.astype(np.float64)) * (1 - inputs[layer] ** 2)
        errors.append(delta)
    return errors[::-1]


def kifs(
    weights: list[np.ndarray],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    *,
    damping: float,
) -> Influence:
    """Influence of every training record on the summed test loss, over the last layer.

    Parameters
    ----------
    weights : ``[W1, b1, ...]``. train, test : inputs (n, d) and labels (n,).
    damping : added to the Hessian's diagonal; > 0, since the softmax's Hessian is singular.

    Raises
    ------
    UserError : damping that is not positive or too small, a last layer too large for a direct solve,
        no records, NaN or infinity in inputs or weights, labels that are not of a class.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    name = "shapr.influence.damping"
    damping = check_number(damping, name, lambda d: 0 < d < np.inf, "a finite number above 0")
    _check_weights(weights, "weights")
    (x, y), (tx, ty) = _records(weights, train, "train"), _records(weights, test, "test")
    parameters = weights[-2].size + weights[-1].size
    if parameters > _LARGEST_HESSIAN:
        raise UserError(
            f"shapr.influence.sets: the last layer has {parameters} parameters; expected at most "
            f"{_LARGEST_HESSIAN} for a direct solve (fewer classes)"
        )
    inputs, p = _forward(weights, x)
    hidden = np.column_stack([inputs[-1], np.ones(len(x))])
    errors = p.copy()
    errors[np.arange(len(y)), y] -= 1.0
    hessian = last_layer_hessian(hidden, p)
    hessian[np.diag_indices(len(hessian))] += damping
    t_inputs, t_p = _forward(weights, tx)
    t_hidden = np.column_stack([t_inputs[-1], np.ones(len(tx))])
    t_errors = t_p.copy()
    t_errors[np.arange(len(ty)), ty] -= 1.0
    gradient = (t_errors.T @ t_hidden).ravel()
    try:
        solution = cho_solve(cho_factor(hessian), gradient)
    except LinAlgError as error:
        raise UserError(
            f"{name} is {damping:g}, lost in the rounding of the Hessian; expected a larger number"
        ) from error
    residual = np.linalg.norm(hessian @ solution - gradient)
    residual /= np.linalg.norm(gradient) or 1.0
    # g_i^T s = errors_i^T S hidden_i
    scores = np.einsum("ic,ch,ih->i", errors, solution.reshape(p.shape[1], -1), hidden)
    return Influence(scores, float(residual))


def last_layer_hessian(hidden: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Mean Hessian of the cross-entropy by the last layer, (C h, C h), class-major.

    ``sum_i (diag(p_i) - p_i p_i^T) kron h_i h_i^T / n``.
    """
    n, h = hidden.shape
    classes = p.shape[1]
    weighted = (p[:, :, None] * hidden[:, None, :]).reshape(n, classes * h)
    hessian = -(weighted.T @ weighted) / n
    for c in range(classes):
        block = slice(c * h, (c + 1) * h)
        hessian[block, block] += (hidden * p[:, c, None]).T @ hidden / n
    return hessian


def tracin(
    checkpoints: list[list[np.ndarray]],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    *,
    learning_rate: float,
) -> np.ndarray:
    """(n_train,) sum over test records and checkpoints, over all parameters.

    Parameters
    ----------
    checkpoints : weights after some epochs. learning_rate : the step size at each of them.

    Raises
    ------
    UserError : no checkpoint or record, a step size that is not positive, NaN or infinity in inputs
        or weights, labels that are not of a class.
    """
    learning_rate = check_number(
        learning_rate, "learning_rate", lambda r: 0 < r < np.inf, "a finite number above 0"
    )
    if not len(checkpoints):
        raise UserError("checkpoints: none; expected the weights after at least one epoch")
    for number, weights in enumerate(checkpoints):
        _check_weights(weights, f"checkpoints[{number}]")
    (x, y), (tx, ty) = (
        _records(checkpoints[0], side, name) for side, name in ((train, "train"), (test, "test"))
    )
    total = np.zeros(len(y))
    for weights in checkpoints:
        weights = [np.asarray(w, np.float64) for w in weights]
        inputs, p = _forward(weights, x)
        errors = _errors(weights, inputs, p, y)
        t_inputs, t_p = _forward(weights, tx)
        t_errors = _errors(weights, t_inputs, t_p, ty)
        for a, d, ta, td in zip(inputs, errors, t_inputs, t_errors, strict=True):
            # the bias is an input that is always 1
            total += ((a @ ta.T + 1.0) * (d @ td.T)).sum(axis=1)
    return learning_rate * total


def _check_weights(weights: Sequence[np.ndarray], name: str) -> None:
    if len(weights) < 2 or len(weights) % 2:
        raise ValueError(f"{name}: {len(weights)} arrays; expected a kernel and a bias per layer")
    for number, values in enumerate(weights):
        values = as_array(values, f"{name}[{number}]")
        require_real(values, f"{name}[{number}]")
        if not np.isfinite(values).all():
            raise UserError(f"{name}[{number}] holds NaN or infinity; expected finite numbers")


def _records(
    weights: Sequence[np.ndarray], side: tuple[ArrayLike, ArrayLike], name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Checked inputs and labels of one side."""
    x, y = side
    x = check_matrix(x, f"{name} inputs")
    if x.shape[1] != len(weights[0]):
        raise ValueError(f"{name} inputs have shape {x.shape}; expected (n, {len(weights[0])})")
    return x, check_labels(y, len(x), np.size(weights[-1]), f"{name} labels")
