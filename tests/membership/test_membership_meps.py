"""AIF360's rows, columns and label of the consolidated MEPS files, on persons made by hand.

The expected outcome of each person follows from the rules as they are stated in
``aif360_table``'s docstring, one rule a person.
"""

import dataclasses

import numpy as np
import pytest
from set_files import PERSON, persons, source_of, transport, zipped

from leakmeter.membership.sets import meps
from leakmeter.runtime import UserError

# (change of a person whom every rule keeps, stays, why)
PERSONS = [
    ({}, True, "nothing is unknown"),
    ({"REGION15": -1.0, "AGE15X": -1.0, "MARRY15X": -9.0, "FTSTU15X": -9.0}, True,
     "the year's end is not looked at"),
    ({"AGE53X": -1.0, "REGION53": -1.0, "MARRY53X": -1.0}, False, "not in the round; at the end yes"),
    ({"AGE53X": -1.0}, False, "age must be 0 or more"),
    ({"AGE53X": 0.0}, True, "a newborn"),
    ({"REGION53": -1.0}, False, "region must be 0 or more"),
    ({"MARRY53X": -7.0}, False, "marital status must be 0 or more"),
    ({"ASTHDX": -1.0}, False, "asthma must be 0 or more, -1 is not enough"),
    ({"ADHDADDX": -1.0}, True, "inapplicable is a category of other diagnoses"),
    ({"ADHDADDX": -9.0}, False, "not ascertained is none"),
    ({"FTSTU53X": -1.0}, True, "inapplicable"),
    ({"FTSTU53X": -8.0}, False, "don't know, whatever the year's end says"),
    ({"POVCAT15": -2.0}, False, "a category of the year"),
    ({"EDUCYR": -9.0}, False, "schooling is looked at, though no feature"),
    ({"HIDEG": -8.0}, False, "so is the degree"),
    ({"EDUCYR": -1.0, "HIDEG": -1.0}, True, "inapplicable schooling"),
    ({"PCS42": -9.0, "MCS42": -1.0}, True, "scores are not looked at"),
    ({"K6SUM42": -9.0}, True, "nor is this one"),
    ({"SEX": -2.0}, True, "nor is sex"),
    ({"PANEL": 20.0}, False, "another panel"),
    ({"OBTOTV15": 3.0}, True, "nine uses"),
    ({"OBTOTV15": np.nan}, False, "a missing use is not zero uses"),
    ({"PCS42": np.nan}, False, "a missing feature"),
    ({"PERWT15F": np.nan}, False, "a missing weight"),
    ({"PERWT15F": 0.0}, True, "a weight of zero is known"),
    ({"HISPANX": 1.0}, True, "Hispanic"),
    ({"RACEV2X": 2.0}, True, "not White"),
]  # fmt: skip
STAY = [i for i, (_, stays, _) in enumerate(PERSONS) if stays]


def frame():
    """Every person, told apart by the age in round 5/3 where it is not what is tested."""
    own = [{"AGE53X": 30.0 + i} | change for i, (change, _, _) in enumerate(PERSONS)]
    return persons(*own)


def table(data, **options):
    return meps.aif360_table(data, **({"year": "15", "panel": 19, "where": "h181"} | options))


def test_rows():
    ages = table(frame()).numeric[:, 0]
    assert ages.tolist() == [0.0 if PERSONS[i][0].get("AGE53X") == 0 else 30.0 + i for i in STAY]


@pytest.mark.parametrize(("change", "stays", "why"), PERSONS)
def test_one_person_beside_another(change, stays, why):
    assert len(table(persons({}, change))) == 1 + stays, why


def test_label_is_ten_uses_or_more():
    # 4 + 3 + 0 + 1 + 2 = 10, one less for the person with three visits
    got = dict(zip(STAY, table(frame()).labels.tolist(), strict=True))
    assert [i for i, label in got.items() if not label] == [
        i for i in STAY if PERSONS[i][0].get("OBTOTV15") == 3.0
    ]


def test_race_is_non_hispanic_white():
    got = dict(zip(STAY, table(frame()).numeric[:, -1].tolist(), strict=True))
    assert [PERSONS[i][2] for i, white in got.items() if not white] == ["Hispanic", "not White"]
    groups = table(frame()).groups
    assert (groups["race"] == "White").tolist() == [bool(white) for white in got.values()]


def test_features_are_five_numbers_and_36_one_hot_columns():
    changes = [{name: float(code)} for code in (2, 3) for name in ("SEX", "HIBPDX", "REGION53")]
    got = table(persons({}, *changes))
    assert got.numeric.shape == (7, 5)
    assert len(got.levels) == 36
    # SEX 1 2 3, HIBPDX 1 2 3, REGION 2 3 and 33 columns of one value
    assert got.n_features == 5 + 3 + 3 + 2 + 33
    assert got.numeric[0].tolist() == [30.0, 52.25, 49.5, 0.0, 1.0]


def test_the_file_of_2016():
    names = {name: name.replace("15", "16") for name in PERSON}
    data = persons({}, {"PANEL": 21.0}, {"PANEL": 21.0, "OBTOTV15": 0.0}).rename(columns=names)
    assert table(data, year="16", panel=21).labels.tolist() == [1, 0]
    with pytest.raises(UserError, match="h181: no column .*POVCAT15.*; expected .* of 2015"):
        table(data)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("HIBPDX", 1.5, "record 1, column HIBPDX is 1.5; expected a whole number"),
        ("AGE53X", "x", "record 1, column AGE53X is 'x'; expected a finite number"),
        ("OBTOTV15", np.inf, "record 1, column OBTOTV15 is inf"),
        ("HISPANX", np.nan, "record 1, column HISPANX is nan"),
    ],
)
def test_values_that_the_survey_has_not(column, value, expected):
    data = persons({}, {}).astype(object)
    data.loc[1, column] = value
    with pytest.raises(UserError, match=f"^h181: {expected}"):
        table(data)


def test_no_person_of_the_panel():
    with pytest.raises(UserError, match="h181: no records"):
        table(persons({"PANEL": 20.0}))


def test_transport_file_gives_the_same_and_its_count_is_compared(tmp_path, caplog, monkeypatch):
    """Zeros, of which pandas makes 5.4e-79 in a transport file, are zeros again."""
    path = zipped(tmp_path / "h.zip", transport(frame()))
    source = source_of("meps", "hc181", table=path)
    expected = table(frame())
    missing = f"{path}: 3 persons with a missing value are left out"
    caplog.clear()
    got = meps.read(source)
    for name in ("numeric", "labels", "codes"):
        assert np.array_equal(getattr(got, name), getattr(expected, name))
    assert got.levels == expected.levels
    assert caplog.messages == [
        missing,
        f"{path}: panel 19 has {len(STAY)} persons after AIF360's filters; "
        "expected 15,830, as published",
    ]
    monkeypatch.setattr(meps, "SPEC", dataclasses.replace(meps.SPEC, rows=len(STAY)))
    caplog.clear()
    meps.read(source)
    assert caplog.messages == [missing]
