"""Data sets of a run, from records of any chain."""

from report_run import RESOLUTION

from leakmeter.reporting.sets_used import described, resolutions

PREPARED = {
    "name": "census",
    "n_train": 200,
    "n_test": 1000,
    "records_available": 48842,
    "preprocessing": "one-hot",
    "resolution": RESOLUTION
    | {
        "name": "census",
        "label": "real",
        "how": "download",
        "variant": "uci",
        "files": {"train": "a"},
        "checksums": {"train": "sha256:00"},
        "source": "pypi:x==1",
    },
}


def test_a_resolution_with_further_keys_and_one_inside_a_preparation():
    found = resolutions({"a": RESOLUTION | {"standin": {}}, "b": PREPARED})
    assert [(r.name, r.label) for r, _ in found] == [
        ("criteo_kaggle", "standin"),
        ("census", "real"),
    ]
    assert found[1][1] == "200 training and 1,000 test records used of 48,842; one-hot"


def test_a_set_is_listed_once_and_other_records_are_left_out():
    assert (
        len(resolutions({"a": RESOLUTION, "b": dict(RESOLUTION), "c": {"rows": 1}, "d": []})) == 1
    )


def test_a_resolution_of_an_older_run_has_no_variant():
    old = {key: value for key, value in RESOLUTION.items() if key != "variant"}
    assert resolutions({"a": old})[0][0].variant == ""


def test_a_stand_in_says_how_to_replace_it_and_the_real_set_does_not():
    standin, real = described({"a": RESOLUTION, "b": PREPARED})
    assert "md5:" in standin["replace"]
    assert real["replace"] == ""
    assert real["checksums"] == "train sha256:00"


def test_a_file_of_the_user_that_no_registry_knows():
    mine = RESOLUTION | {"name": "mine", "label": "related", "how": "user", "source": "/home/me"}
    (row,) = described({"a": mine})
    assert row["source"] == "your folder"
    assert row["title"] == "mine"
