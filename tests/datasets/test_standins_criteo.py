"""Stand-in click logs: format, independence of chunks, and the laws the settings state."""

import gzip
import hashlib
import math
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from leakmeter.datasets.standins import criteo
from leakmeter.datasets.standins.criteo import CHUNK_ROWS, DEFAULT, Settings, generate, sample
from leakmeter.runtime import UserError, derive_seed

ROW = re.compile(r"[01](\t(0|-?[1-9][0-9]*)?){13}(\t([0-9a-f]{8})?){26}")
SMALL = Settings(calibration_rows=5000)


@pytest.fixture(scope="module")
def rows():
    """200,000 rows: enough for every law below to be tested at 4.5 sigma."""
    parts = [sample(a, a + 20_000, seed=7) for a in range(0, 200_000, 20_000)]
    return criteo.Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def parse(text: bytes):
    return [line.split("\t") for line in text.decode("ascii").splitlines()]


# --- format and chunks ---------------------------------------------------------------------------


def test_text_has_the_format_and_says_what_the_arrays_say():
    part = sample(0, 500, seed=3, settings=SMALL)
    text = criteo.format_rows(part)
    assert text.endswith(b"\n")
    assert all(ROW.fullmatch(line) for line in text.decode().splitlines())
    for i, fields in enumerate(parse(text)):
        assert int(fields[0]) == part.label[i]
        for j, value in enumerate(fields[1:14]):
            assert (value == "") == part.integer_missing[i, j]
            assert int(value or 0) == part.integers[i, j]
        for j, value in enumerate(fields[14:]):
            assert (value == "") == part.token_missing[i, j]
            assert int(value or "0", 16) == part.tokens[i, j]


@pytest.mark.parametrize(
    "value", [0, 9, 10, -1, -10, 99, 100, 2**31 - 1, -(2**31), 10**9, 10**9 - 1]
)
def test_integers_are_printed_in_full(value):
    out = np.zeros(20, np.uint8)
    size = criteo._put_integer(np.int64(value), out, 0)
    assert out[:size].tobytes().decode() == str(value)


def test_rows_do_not_depend_on_the_chunk_they_are_made_in():
    whole = sample(0, 300, seed=5, settings=SMALL)
    for start, stop in ((299, 300), (100, 170), (0, 1)):
        piece = sample(start, stop, seed=5, settings=SMALL)
        for a, b in zip(piece, whole, strict=True):
            np.testing.assert_array_equal(a, b[start:stop])


def test_file_is_the_same_for_any_thread_count_and_a_longer_one_continues_it(tmp_path):
    n = 2 * CHUNK_ROWS + 77
    one = generate(tmp_path / "one.txt", rows=n, seed=1, settings=SMALL, threads=1)
    three = generate(tmp_path / "three.txt", rows=n, seed=1, settings=SMALL, threads=3)
    text = (tmp_path / "one.txt").read_bytes()
    assert text == (tmp_path / "three.txt").read_bytes()
    assert (one.rows, one.positives) == (three.rows, three.positives)
    assert text.count(b"\n") == n
    assert one.text_bytes == len(text)
    assert one.text_sha256 == hashlib.sha256(text).hexdigest()
    assert one.positives == sum(line.startswith(b"1") for line in text.splitlines())
    generate(tmp_path / "short.txt", rows=50, seed=1, settings=SMALL)
    assert text.startswith((tmp_path / "short.txt").read_bytes())


def test_gz_holds_the_same_text_in_the_same_bytes_each_time(tmp_path):
    n = CHUNK_ROWS + 5
    for name in ("a.txt", "a.txt.gz", "b.txt.gz"):
        generate(tmp_path / name, rows=n, seed=2, settings=SMALL, threads=2)
    with gzip.open(tmp_path / "a.txt.gz") as handle:
        assert handle.read() == (tmp_path / "a.txt").read_bytes()
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


def test_seeds_change_rows_and_the_population_seed_changes_the_effects():
    base = sample(0, 50, seed=1, settings=SMALL)
    assert not np.array_equal(base.tokens, sample(0, 50, seed=2, settings=SMALL).tokens)
    other = sample(0, 50, seed=1, settings=Settings(population_seed=99, calibration_rows=5000))
    assert not np.array_equal(base.tokens, other.tokens)
    np.testing.assert_array_equal(base.integers, other.integers)  # same rows, another population
    assert not np.allclose(base.probability, other.probability)


# --- the laws ------------------------------------------------------------------------------------


def test_label_rate_and_labels_follow_the_probabilities(rows):
    n = len(rows.label)
    p = rows.probability
    assert np.all((p > 0) & (p < DEFAULT.ceiling))
    # the rows and the intercept's rows both vary
    sd = p.std() * math.sqrt(1 / n + 1 / DEFAULT.calibration_rows)
    assert abs(p.mean() - DEFAULT.label_rate) < 4.5 * sd
    decile = np.digitize(p, np.quantile(p, np.arange(0.1, 1, 0.1)))
    observed = np.bincount(decile, rows.label)
    expected, variance = np.bincount(decile, p), np.bincount(decile, p * (1 - p))
    assert stats.chi2.sf(np.sum((observed - expected) ** 2 / variance), 10) > 1e-5


def test_missing_values_come_in_groups_at_their_rates(rows):
    missing = np.hstack([rows.integer_missing, rows.token_missing])
    names = [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]
    grouped = set()
    for fields, rate in DEFAULT.missing:
        columns = missing[:, [names.index(field) for field in fields]]
        assert (columns == columns[:, :1]).all()
        sd = math.sqrt(rate * (1 - rate) / len(missing))
        assert abs(columns[:, 0].mean() - rate) < 4.5 * sd
        grouped.update(fields)
    for name, column in zip(names, missing.T, strict=True):
        assert name in grouped or not column.any()


@pytest.mark.parametrize("field", [5, 6, 9, 17, 20, 23])
def test_token_frequencies_are_the_truncated_power_law(rows, field):
    j = field - 1
    ranks, exponent = DEFAULT.ranks[j], DEFAULT.exponents[j]
    key = np.uint64(derive_seed(DEFAULT.population_seed, "criteo-standin-field", field=j))
    tokens = rows.tokens[~rows.token_missing[:, j], j]
    observed = np.array([(tokens == criteo._token(key, r)).sum() for r in range(1, ranks + 1)])
    assert observed.sum() == len(tokens)
    edges = np.arange(1, ranks + 2) ** (1 - exponent)
    expected = len(tokens) * np.diff(edges) / (edges[-1] - edges[0])
    assert stats.chisquare(observed, expected).pvalue > 1e-5


def test_every_field_gives_distinct_ranks_distinct_tokens():
    for key in (np.uint64(5), np.uint64(2**63 + 12345)):
        tokens = {int(criteo._token(key, r)) for r in range(1, 20_000)}
        assert len(tokens) == 19_999


def test_distinct_values_of_8000_rows_match_the_genuine_sample(rows):
    """Distinct counts of 8,000 genuine Kaggle rows (data notes), to 5 per cent."""
    genuine = {3: 4525, 12: 4338, 21: 4141, 16: 3906, 4: 3370}
    for field, expected in genuine.items():
        j = field - 1
        tokens = rows.tokens[:8000, j][~rows.token_missing[:8000, j]]
        assert len(np.unique(tokens)) == pytest.approx(expected, rel=0.05)


def test_integers_are_floors_of_their_log_normals(rows):
    for j in range(13):
        values = rows.integers[~rows.integer_missing[:, j], j] - DEFAULT.integer_shift[j]
        assert values.min() >= 0
        assert values.max() <= DEFAULT.integer_cap[j]
        for k in (0, 1, 5, 50):
            z = (math.log(k + 1) - DEFAULT.integer_log_mean[j]) / DEFAULT.integer_log_sd[j]
            expected = stats.norm.cdf(z) if k < DEFAULT.integer_cap[j] else 1.0
            sd = math.sqrt(expected * (1 - expected) / len(values))
            assert abs(np.mean(values <= k) - expected) < 4.5 * sd + 1e-12
    assert rows.integers[:, 1].min() == -3


def test_fields_on_one_factor_move_together_and_others_do_not(rows):
    def correlation(a, b):
        both = ~rows.integer_missing[:, a] & ~rows.integer_missing[:, b]
        return stats.spearmanr(rows.integers[both, a], rows.integers[both, b]).statistic

    # I5 and I11 hang on factor 4, I5 and I6 on different ones; 0.6^2 loses a little to the floor
    assert 0.25 < correlation(4, 10) < 0.36
    assert abs(correlation(4, 5)) < 4.5 / math.sqrt(100_000)


# --- the logit -----------------------------------------------------------------------------------

_M64, _M32 = 2**64 - 1, 2**32 - 1


def _mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _M64
    return x ^ (x >> 31)


def _rank(key, token):
    """Invert the 32-bit mix: undo each of its steps in reverse order."""
    x = token ^ (token >> 16)
    x = x * pow(0xC2B2AE35, -1, 2**32) & _M32
    x ^= (x >> 13) ^ (x >> 26)
    x = x * pow(0x85EBCA6B, -1, 2**32) & _M32
    x ^= x >> 16
    return (x - key) & _M32


def _effect(word):
    total = sum((word >> shift) & 0xFFFF for shift in (0, 16, 32, 48))
    return (total - 131070) * math.sqrt(3) / 65536


def _probability(fields, settings):
    """Click probability from the printed fields alone, in plain Python."""
    rng = np.random.default_rng(derive_seed(settings.population_seed, "criteo-standin-integers"))
    linear, quadratic = settings.integer_sd * rng.standard_normal((2, 13))
    total, user, ad = 0.0, np.zeros(2), np.zeros(2)
    for j, text in enumerate(fields[1:14]):
        if text:
            value = int(text) - settings.integer_shift[j]
            z = (math.log(value + 0.5) - settings.integer_log_mean[j]) / settings.integer_log_sd[j]
            z = max(-3, min(3, z))
            total += linear[j] * z + quadratic[j] * (z * z - 1)
    for j, text in enumerate(fields[14:]):
        if text:
            key = derive_seed(settings.population_seed, "criteo-standin-field", field=j)
            rank = _rank(key, int(text, 16))
            assert 1 <= rank <= settings.ranks[j]
            word = _mix((key + _mix(rank)) & _M64)
            rare = settings.rare if settings.cardinalities[j] > 100_000 else 1
            total += settings.token_sd * rare * _effect(word)
            if settings.cardinalities[j] < 20_000:
                golden = 0x9E3779B97F4A7C15
                vector = [_effect(_mix((word + k * golden) & _M64)) for k in (1, 2)]
                (user if j % 6 < 3 else ad)[:] += settings.vector_sd * np.array(vector)
    logit = settings.scale * (total + user @ ad) + criteo.intercept(settings)
    return settings.ceiling / (1 + math.exp(-logit))


def test_probability_is_a_function_of_the_printed_log():
    part = sample(1000, 1060, seed=4, settings=SMALL)
    expected = [_probability(fields, SMALL) for fields in parse(criteo.format_rows(part))]
    np.testing.assert_allclose(part.probability, expected, rtol=1e-10)


def test_token_effects_have_mean_0_and_variance_1():
    effects = np.array([criteo._effect(np.uint64(_mix(i))) for i in range(20_000)])
    assert abs(effects.mean()) < 4.5 / math.sqrt(20_000)
    assert abs(effects.var() - 1) < 4.5 * math.sqrt(2 / 20_000)


# --- the best AUC --------------------------------------------------------------------------------


def test_bayes_auc_is_the_pairwise_formula():
    p = sample(0, 400, seed=9, settings=SMALL).probability
    weight = p[:, None] * (1 - p)[None, :]
    wins = (p[:, None] > p[None, :]) + 0.5 * (p[:, None] == p[None, :])
    expected = (weight * wins).sum() / weight.sum()
    assert criteo.bayes_auc(rows=400, seed=9, settings=SMALL) == pytest.approx(expected, abs=1e-12)


def test_bayes_auc_agrees_with_the_auc_of_drawn_labels(rows):
    drawn = roc_auc_score(rows.label, rows.probability)
    assert criteo.bayes_auc(rows=200_000, seed=7) == pytest.approx(drawn, abs=4.5 * 0.0012)


def test_bayes_auc_is_one_half_without_signal_and_grows_with_the_scale():
    values = [
        criteo.bayes_auc(rows=5000, seed=1, settings=Settings(scale=s, calibration_rows=5000))
        for s in (0.0, 0.5, 1.0, 2.0)
    ]
    assert values[0] == pytest.approx(0.5, abs=1e-12)
    assert values == sorted(values)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"cardinalities": (1, 2)}, "cardinalities"),
        ({"integer_cap": (1,)}, "integer_cap"),
        ({"label_rate": 0.0}, "label_rate"),
        ({"label_rate": 0.95}, "label_rate"),
        ({"ceiling": 1.5}, "ceiling"),
        ({"exponents": (1.0,) * 26}, "exponents"),
        ({"copula": 1.2}, "copula"),
        ({"scale": -1.0}, "scale"),
        ({"missing": ((("C27",), 0.1),)}, "C27"),
        ({"missing": ((("C1",), 0.1), (("C1",), 0.1))}, "C1"),
        ({"missing": ((("C1",), 1.1),)}, "1.1"),
    ],
)
def test_wrong_settings_are_refused_by_name(change, name):
    with pytest.raises(UserError, match=re.escape(name)):
        Settings(**change)


@pytest.mark.parametrize("arguments", [{"rows": 0}, {"rows": -1}, {"rows": 5, "threads": 0}])
def test_wrong_sizes_are_refused(tmp_path, arguments):
    with pytest.raises(UserError, match=r"got (0|-1), expected 1 or more"):
        generate(tmp_path / "x.txt", seed=1, settings=SMALL, **arguments)


def test_nothing_is_left_when_the_work_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(criteo, "format_rows", lambda part: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        generate(tmp_path / "x.txt", rows=5, seed=1, settings=SMALL)
    assert list(tmp_path.iterdir()) == []
