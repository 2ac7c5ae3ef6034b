"""Features of a user: SHAPr scores, and attacks on outputs that no record chooses the rule of."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from leakmeter.membership.entropy_attack import fit_entropy_attack, modified_entropy
from leakmeter.membership.shapley import knn_shapley
from leakmeter.own import risks
from leakmeter.own.risks import ShaprOptions, read_records, shapr_report
from leakmeter.runtime import UserError


@pytest.fixture
def records(tmp_path):
    """Three classes of words; members' outputs are surer."""
    random = np.random.default_rng(0)
    label, member = random.integers(0, 3, 240), (random.random(240) < 0.5).astype(int)
    x = random.normal(size=(240, 4)) + label[:, None]
    logits = random.normal(size=(240, 3))
    logits[np.arange(240), label] += 1 + 2 * member
    p = np.exp(logits)
    p /= p.sum(1, keepdims=True)
    names = np.array(["ash", "elm", "oak"])
    pd.DataFrame(x, columns=list("abcd")).assign(label=names[label], member=member).to_csv(
        tmp_path / "x.csv", index=False
    )
    pd.DataFrame(p[:, ::-1], columns=names[::-1]).to_csv(tmp_path / "p.csv", index=False)
    pd.DataFrame(logits, columns=names).to_csv(tmp_path / "logits.csv", index=False)
    np.savez(tmp_path / "r.npz", features=x, labels=label, member=member, outputs=p)
    return x, label, member.astype(bool), p


def test_scores_on_features_are_the_librarys(tmp_path, records):
    x, y, m, _ = records
    report = shapr_report(tmp_path / "x.csv")
    want = knn_shapley(x[m], y[m], x[~m], y[~m], k=5)
    np.testing.assert_array_equal(report.records.loc[m, "shapr"], want)
    assert report.records.loc[~m, "shapr"].isna().all()
    assert report.summary["space"] == "features"
    assert report.summary["knn_utility"] == pytest.approx(want.sum(), rel=1e-12)
    assert "modified_entropy" not in report.records


def test_scores_on_outputs_whatever_the_order_of_the_classes(tmp_path, records):
    _, y, m, p = records
    report = shapr_report(tmp_path / "x.csv", tmp_path / "p.csv")
    want = knn_shapley(p[m], y[m], p[~m], y[~m], k=5)
    np.testing.assert_allclose(report.records.loc[m, "shapr"], want, rtol=1e-12)
    entropy = modified_entropy(p, y)
    np.testing.assert_allclose(report.records["modified_entropy"], entropy, rtol=1e-9)
    row = report.table.iloc[0]
    assert row["auc"] == pytest.approx(roc_auc_score(m, -entropy))
    assert report.summary["space"] == "outputs"


def test_an_npz_file_says_the_same(tmp_path, records):
    first = shapr_report(tmp_path / "r.npz")
    second = shapr_report(tmp_path / "x.csv", tmp_path / "p.csv")
    np.testing.assert_allclose(first.records["shapr"], second.records["shapr"], rtol=1e-9)
    assert first.records["entropy_attack"].tolist() == second.records["entropy_attack"].tolist()


def test_logits_and_probabilities_agree(tmp_path, records):
    first = shapr_report(
        tmp_path / "x.csv", tmp_path / "logits.csv", ShaprOptions(logits=True, space="features")
    )
    second = shapr_report(tmp_path / "x.csv", tmp_path / "p.csv", ShaprOptions(space="features"))
    for name in ("shapr", "modified_entropy", "confidence", "sprs"):
        np.testing.assert_allclose(first.records[name], second.records[name], rtol=1e-6)


def test_no_record_chooses_its_own_rule(tmp_path, records):
    """The decision on one half is that of thresholds fitted on the other half alone."""
    _, y, m, p = records
    report = shapr_report(tmp_path / "r.npz")
    data = read_records(tmp_path / "r.npz")
    half = risks._halves(data, 1)
    entropy = modified_entropy(p, y)
    for mine in (half, ~half):
        inside, outside = ~mine & m, ~mine & ~m
        rule = fit_entropy_attack(
            *(entropy[inside], y[inside], entropy[outside], y[outside]),
            n_classes=3,
            shadow="independent",
        )
        want = rule.members(entropy[mine], y[mine])
        np.testing.assert_array_equal(report.records.loc[mine, "entropy_attack"] == 1, want)


def test_an_attack_on_outputs_that_know_nothing_is_at_chance(tmp_path):
    """Fitted on the evaluated records, 12 classes of 20 would show 0.6 to 0.7."""
    random = np.random.default_rng(5)
    n, classes = 960, 12
    p = random.dirichlet(np.ones(classes), n)
    np.savez(
        tmp_path / "r.npz",
        features=random.normal(size=(n, 2)),
        labels=np.arange(n) % classes,
        member=(np.arange(n) // classes) % 2,
        outputs=p,
    )
    row = shapr_report(tmp_path / "r.npz").table.iloc[0]
    # standard deviation of a balanced accuracy at chance: 0.5 / sqrt(960) = 0.016
    assert abs(row["balanced_accuracy"] - 0.5) < 0.06


def test_the_halves_share_out_every_class(tmp_path, records):
    data = read_records(tmp_path / "r.npz")
    half = risks._halves(data, 1)
    for code in range(3):
        for member in (True, False):
            kind = (data.codes == code) & (data.members == member)
            assert abs(half[kind].sum() * 2 - kind.sum()) <= 1


def rewrite(tmp_path, name, change):
    frame = pd.read_csv(tmp_path / name)
    change(frame)
    frame.to_csv(tmp_path / name, index=False)


def test_mistakes_in_tables(tmp_path, records):
    def wrong_sum(frame):
        frame.loc[7, "oak"] = 0.0

    rewrite(tmp_path, "p.csv", wrong_sum)
    with pytest.raises(UserError, match=r"p\.csv, line 9: the probabilities sum to .*expected 1"):
        shapr_report(tmp_path / "x.csv", tmp_path / "p.csv")
    with pytest.raises(
        UserError, match=r"logits\.csv, line \d+, column .*expected a number from 0 to 1"
    ):
        shapr_report(tmp_path / "x.csv", tmp_path / "logits.csv")
    pd.read_csv(tmp_path / "logits.csv").iloc[:-1].to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(UserError, match=r"short\.csv: has 239 rows; expected 240"):
        shapr_report(tmp_path / "x.csv", tmp_path / "short.csv", ShaprOptions(logits=True))
    pd.read_csv(tmp_path / "p.csv").drop(columns="elm").to_csv(tmp_path / "two.csv", index=False)
    with pytest.raises(UserError, match=r"two\.csv: no column 'elm', the label of .*x\.csv, line"):
        shapr_report(tmp_path / "x.csv", tmp_path / "two.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("label,member\na,1\nb,0\n", "no columns beside label and member; expected features"),
        ("label,member,f\na,1,0\nb,1,0\n", r"has no test records \(member 0\)"),
        ("label,member,f\na,0,0\nb,0,0\n", r"has no training records \(member 1\)"),
        (
            "label,member,f\na,1,0\nb,0,inf\n",
            "line 3, column f: is 'inf'; expected a finite number",
        ),
        ("label,member,f\na,1,0\n,0,1\n", "line 3, column label: is empty; expected a value"),
        ("label,f\na,1\n", "line 1: no column 'member'"),
    ],
)
def test_bad_features(tmp_path, content, message):
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        shapr_report(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": None}, "no array 'features' among labels, member"),
        ({"features": np.zeros(4)}, r"array features has shape \(4,\); expected 2 dimensions"),
        ({"features": np.array([[0], [1], [np.nan], [2]])}, "row 3, array features: is nan"),
        ({"features": np.array([["a"]] * 4)}, "array features has type <U1"),
        ({"member": np.array([0, 1, 2, 0])}, "row 3, array member: is 2; expected 0 or 1"),
        ({"outputs": np.full((4, 2), 0.4)}, "row 1, array outputs: the probabilities sum to 0.8"),
        ({"outputs": np.full((4, 2), 1.5)}, "row 1, array outputs: is not between 0 and 1"),
        ({"outputs": np.full((4, 1), 1.0)}, "has 1 class; expected at least 2"),
        (
            {"outputs": np.full((4, 2), 0.5), "labels": np.array([0, 1, 2, 0])},
            "row 3, array labels: is 2; expected 0 to 1",
        ),
        ({"labels": np.array([0, 1, np.nan, 1])}, "row 3, array labels: is missing"),
        (
            {"labels": np.array([None] * 4)},
            "is damaged or holds Python objects; expected an archive",
        ),
    ],
)
def test_bad_npz(tmp_path, change, message):
    arrays = {
        "features": np.zeros((4, 1)),
        "labels": np.array([0, 1, 0, 1]),
        "member": np.array([0, 1, 1, 0]),
    } | change
    np.savez(tmp_path / "r.npz", **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(UserError, match=message):
        shapr_report(tmp_path / "r.npz")


def test_files_that_are_no_npz(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        shapr_report(tmp_path / "nowhere.npz")
    (tmp_path / "text.npz").write_text("label,member\n")
    with pytest.raises(
        UserError, match="is not an .npz file; expected an archive of arrays"
    ) as error:
        shapr_report(tmp_path / "text.npz")
    assert "pickle" not in str(error.value)
    np.savez(tmp_path / "cut.npz", features=np.zeros((90, 9)))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:500])
    with pytest.raises(UserError, match="is not an .npz file"):
        shapr_report(tmp_path / "cut.npz")


def test_rounded_probabilities_are_taken(tmp_path, records):
    exact = shapr_report(tmp_path / "x.csv", tmp_path / "p.csv")
    for decimals, error in ((3, 0.02), (2, 0.1)):
        pd.read_csv(tmp_path / "p.csv").round(decimals).to_csv(tmp_path / "few.csv", index=False)
        sums = pd.read_csv(tmp_path / "few.csv").sum(axis=1)
        assert (abs(sums - 1) > 0.9 * 10**-decimals).any()
        few = shapr_report(tmp_path / "x.csv", tmp_path / "few.csv")
        np.testing.assert_allclose(few.table["auc"], exact.table["auc"], atol=error)
    off = pd.read_csv(tmp_path / "p.csv")
    off.iloc[3] *= 0.985
    off.to_csv(tmp_path / "off.csv", index=False)
    with pytest.raises(
        UserError, match=r"line 5: the probabilities sum to 0\.985; expected 1, within"
    ):
        shapr_report(tmp_path / "x.csv", tmp_path / "off.csv")


def test_one_record_is_one_record(tmp_path):
    (tmp_path / "x.csv").write_text("label,member,f\na,1,0\na,0,1\n")
    said = shapr_report(tmp_path / "x.csv").sentences[0]
    assert said.startswith("SHAPr of 1 training record on their features (K = 5, 1 test record)")


def test_classes_too_small_for_the_attacks(tmp_path):
    np.savez(
        tmp_path / "r.npz",
        features=np.zeros((6, 1)),
        labels=np.array([0, 0, 0, 0, 1, 1]),
        member=np.array([0, 0, 1, 1, 0, 1]),
        outputs=np.full((6, 2), 0.5),
    )
    with pytest.raises(UserError, match="label '1' has 1 training records; the attacks on outputs"):
        shapr_report(tmp_path / "r.npz")


def test_options(tmp_path, records):
    with pytest.raises(UserError, match="k is 0"):
        ShaprOptions(k=0)
    with pytest.raises(UserError, match="space is 'nowhere'"):
        ShaprOptions(space="nowhere")
    with pytest.raises(UserError, match="space is outputs and no outputs are given"):
        shapr_report(tmp_path / "x.csv", options=ShaprOptions(space="outputs"))
    with pytest.raises(UserError, match="logits are announced .* and no outputs are given"):
        shapr_report(tmp_path / "x.csv", options=ShaprOptions(logits=True))
    with pytest.raises(UserError, match="outputs beside an .npz file"):
        shapr_report(tmp_path / "r.npz", tmp_path / "p.csv")
