"""Users' tables: what is read, and what is refused in which words."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.own import reading
from leakmeter.own.reading import Column, read_table
from leakmeter.runtime import UserError

SCHEMA = (
    Column("score", "number"),
    Column("label", "flag"),
    Column("client", "text", required=False),
)
COUNTS = (Column("fn", "count"), Column("p", "number", required=False, low=0.0, high=1.0))
GOOD = "score,label\n0.1,0\n0.9,1\n"


def written(tmp_path, content, name="scores.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", GOOD.encode()),
        ("mark.csv", b"\xef\xbb\xbf" + GOOD.encode()),
        ("windows.csv", GOOD.replace("\n", "\r\n").encode()),
        ("old_mac.csv", GOOD.replace("\n", "\r").encode()),
        ("no_last_line_end.csv", GOOD.rstrip("\n").encode()),
        ("blank_at_the_end.csv", (GOOD + "\n\n").encode()),
        ("packed.csv.gz", gzip.compress(GOOD.encode())),
        ("packed_without_saying.csv", gzip.compress(GOOD.encode())),
        ("tabs.tsv", GOOD.replace(",", "\t").encode()),
        ("tabs.tsv.gz", gzip.compress(GOOD.replace(",", "\t").encode())),
        ("spaces.csv", GOOD.replace(",", ", ").encode()),
        ("quoted.csv", b'"score","label"\n"0.1","0"\n"0.9","1"\n'),
        ("words.csv", b"score,label\n0.1,False\n0.9,true\n"),
        ("floats.csv", b"score,label\n1e-1,0.0\n.9,1.0\n"),
        ("order.csv", b"other,label,score\nx,0,0.1\ny,1,0.9\n"),
    ],
)
def test_ways_to_write_the_same_table(tmp_path, name, content):
    frame = read_table(written(tmp_path, content, name), SCHEMA)
    assert frame["score"].tolist() == [0.1, 0.9]
    assert frame["label"].tolist() == [0, 1]
    assert "client" not in frame
    assert frame.place(1).endswith(f"{name}, line 3")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"score": [0.5, 0.75], "label": [0, 1]}),
        pd.DataFrame({"score": np.float32([0.5, 0.75]), "label": [False, True]}),
        pd.DataFrame({"score": [0.5, 0.75], "label": [0.0, 1.0]}, index=["a", "b"]),
        pd.DataFrame({"score": [0.5, 0.75], "label": pd.array([0, 1], dtype="Int8")}),
    ],
)
def test_parquet_types(tmp_path, frame):
    frame.to_parquet(tmp_path / "s.parquet")
    read = read_table(tmp_path / "s.parquet", SCHEMA)
    assert read["score"].tolist() == [0.5, 0.75]
    assert read["label"].tolist() == [0, 1]
    assert read.place(0).endswith("s.parquet, row 1")


def test_texts_of_parquet_are_those_of_csv(tmp_path):
    for values in ([7, 8], [7.0, 8.0], ["7", "8"], pd.Categorical(["7", "8"])):
        pd.DataFrame({"score": [0.0, 1.0], "label": [0, 1], "client": values}).to_parquet(
            tmp_path / "s.parquet"
        )
        assert read_table(tmp_path / "s.parquet", SCHEMA)["client"].tolist() == ["7", "8"]


def test_the_rest_of_the_columns_is_a_matrix(tmp_path):
    schema, rest = (Column("label", "flag"),), Column("feature", "number")
    frame = read_table(written(tmp_path, "b,label,a\n1,0,2\n3,1,4\n"), schema, rest=rest)
    assert frame.rest == ("b", "a")
    assert frame.matrix.tolist() == [[1, 2], [3, 4]]
    pd.DataFrame({"b": [1, 3], "label": [0, 1], "a": [2.0, 4.0]}, index=[5, 6]).to_parquet(
        tmp_path / "x.parquet"
    )
    same = read_table(tmp_path / "x.parquet", schema, rest=rest)
    assert same.rest == ("b", "a")
    assert same.matrix.tolist() == frame.matrix.tolist()


BAD = {
    "not a number": ("score,label\n0.1,0\nx,1\n", "line 3, column score: is 'x'; expected a finite number"),
    "nan": ("score,label\nNaN,0\n", "line 2, column score: is 'NaN'; expected a finite number"),
    "infinite": ("score,label\n0,0\n-inf,1\n", "line 3, column score: is '-inf'; expected a finite"),
    "overflow": ("score,label\n1e999,0\n", "line 2, column score: is '1e999'; expected a finite"),
    "empty field": ("score,label\n0.1,0\n,1\n", "line 3, column score: is empty; expected a finite"),
    "underscores": ("score,label\n1_0,0\n", "line 2, column score: is '1_0'; expected"),
    "other digits": ("score,label\n٣,0\n", "line 2, column score: is '٣'; expected"),
    "decimal comma": ('score,label\n"0,5",0\n', "line 2, column score: is '0,5'; expected"),
    "huge integer": (
        "score,label\n9007199254740993,0\n",
        "line 2, column score: is '9007199254740993', which loses digits",
    ),
    "label 2": ("score,label\n0.1,0\n0.2,2\n", "line 3, column label: is '2'; expected 0 or 1"),
    "label word": ("score,label\n0.1,yes\n", "line 2, column label: is 'yes'; expected 0 or 1"),
    "label empty": ("score,label\n0.1,\n", "line 2, column label: is empty; expected 0 or 1"),
    "label huge": ("score,label\n0.1,1" + "0" * 50 + "\n", "line 2, column label: is '1000"),
    "no column": ("score,truth\n0.1,0\n", "line 1: no column 'label' among 'score', 'truth'"),
    "other case": (
        "Score,label\n0.1,0\n",
        "line 1: no column 'score' among 'Score', 'label'; did you mean 'Score'?",
    ),
    "no header": ("0.1,0\n0.2,1\n", "line 1: no column 'score' among '0.1', '0'; expected a header"),
    "twice": ("score,label,score\n0,1,2\n", "line 1: column 'score' occurs 2 times (columns 1, 3)"),
    "semicolons": ("score;label\n0,1;0\n", "line 1: the header 'score;label' is split by ';'; expected commas"),
    "tabs": ("score\tlabel\n0.1\t0\n", "is split by tabs; expected commas between columns"),
    "short row": ("score,label\n0.1,0\n0.2\n", "line 3: has 1 field; expected 2 as in the header"),
    "long row": ("score,label\n0.1,0,9\n", "line 2: has 3 fields; expected 2"),
    "blank line": ("score,label\n0.1,0\n\n0.2,1\n", "line 3: is empty; expected 2 fields"),
    "open quote": ('score,label\n0.1,0\n"0.2,1\n0.3,1\n', "line 3: a quoted field goes on over the end"),
    "empty client": ("score,label,client\n0.1,0,\n", "line 2, column client: is empty; expected a value"),
    "empty": ("", "is empty; expected a header and rows"),
    "only line ends": ("\n\n", "is empty; expected a header and rows"),
    "only a header": ("score,label\n", "has 0 rows of data; expected at least 1"),
    "utf-16": (GOOD.encode("utf-16"), "is not UTF-8 text (UTF-16 or binary)"),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), "is not UTF-8 text (UTF-16 or binary)"),
    "latin-1": (b"score,label\n0.1,0\n0.2,\xe9\n", "line 3: is not UTF-8"),
    "cut gzip": (gzip.compress(GOOD.encode() * 3000)[:-20], "is a damaged gzip file"),
    "false gzip": (b"\x1f\x8bnothing of the kind", "is a damaged gzip file"),
    "cut parquet": (b"PAR1abc", "is a damaged Parquet file"),
    "spreadsheet": (b"PK\x03\x04rest", "is a zip archive (a spreadsheet?)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, case):
    content, message = BAD[case]
    path = written(tmp_path, content)
    with pytest.raises(UserError) as error:
        read_table(path, SCHEMA)
    text = str(error.value)
    assert message in text
    assert text.startswith(str(path))
    assert "\n" not in text


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.csv: no such file"):
        read_table(tmp_path / "nowhere.csv", SCHEMA)
    with pytest.raises(UserError, match="is a folder; expected a file"):
        read_table(tmp_path, SCHEMA)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"score": [0.1, None], "label": [0, 1]}, "row 2, column score: is null"),
        ({"score": [0.1, np.nan], "label": [0, 1]}, "row 2, column score: is "),
        ({"score": [0.1, np.inf], "label": [0, 1]}, "row 2, column score: is inf"),
        ({"score": ["0.1", "0.2"], "label": [0, 1]}, "column score has the type "),
        ({"score": [0.1, 0.2], "label": [0, 3]}, "row 2, column label: is 3; expected 0 or 1"),
        ({"score": [0.1, 0.2], "label": ["0", "1"]}, "column label has the type "),
        ({"score": [2**53 + 1, 0], "label": [0, 1]}, "row 1, column score: is 9007199254740993, "),
        ({"score": [0.1, 0.2]}, "no column 'label'"),
        ({"score": [], "label": []}, "has 0 rows of data"),
    ],
)
def test_bad_parquet(tmp_path, columns, message):
    arrays = {}
    for name, values in columns.items():
        kind = pa.float64() if not values else None
        arrays[name] = pa.array(values, type=kind, from_pandas=False)
    pq.write_table(pa.table(arrays), tmp_path / "s.parquet")
    with pytest.raises(UserError) as error:
        read_table(tmp_path / "s.parquet", SCHEMA)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_that_occurs_twice_in_parquet(tmp_path):
    arrays = [pa.array([1.0]), pa.array([1]), pa.array([2.0])]
    table = pa.Table.from_arrays(arrays, ["score", "label", "score"])
    pq.write_table(table, tmp_path / "s.parquet")
    with pytest.raises(UserError, match="column 'score' occurs 2 times"):
        read_table(tmp_path / "s.parquet", SCHEMA)


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "1e300", "9007199254740993"])
def test_counts_are_whole(tmp_path, text):
    with pytest.raises(UserError, match=r"line 2, column fn: is .* whole number from 0"):
        read_table(written(tmp_path, f"fn\n{text}\n"), COUNTS)


def test_bounds_are_named(tmp_path):
    with pytest.raises(UserError, match=r"column p: is '1\.5'; expected a number from 0 to 1"):
        read_table(written(tmp_path, "fn,p\n1,1.5\n"), COUNTS)


def test_bounds_that_are_not_reached_are_named(tmp_path):
    schema = (Column("delta", "number", low=0.0, below=1.0),)
    for text in ("1", "-0.1", "nan"):
        with pytest.raises(UserError, match="expected a number of at least 0 and below 1$"):
            read_table(written(tmp_path, f"delta\n{text}\n"), schema)
    assert read_table(written(tmp_path, "delta\n0\n0.99\n"), schema)["delta"].tolist() == [0, 0.99]


def test_blanks_around_values_do_not_count(tmp_path):
    path = written(tmp_path, "score , label,client\n 0.5 , 1 , a b \n0.25\t,0\t,c\n")
    frame = read_table(path, (*SCHEMA, Column("client", "text")))
    assert frame["score"].tolist() == [0.5, 0.25]
    assert frame["label"].tolist() == [1, 0]
    assert frame["client"].tolist() == ["a b", "c"]
    with pytest.raises(UserError, match="line 2, column client: is empty; expected a value"):
        read_table(written(tmp_path, 'client\n" "\n'), (Column("client", "text"),))


def test_only_columns_that_are_read_need_different_names(tmp_path):
    path = written(tmp_path, "x,x,score,label,,\n1,2,0.5,1,,\n")
    assert read_table(path, SCHEMA)["score"].tolist() == [0.5]
    with pytest.raises(UserError, match="column 'x' occurs 2 times"):
        read_table(path, SCHEMA, rest=Column("feature", "number"))
    with pytest.raises(UserError, match="column 'label' occurs 2 times"):
        read_table(written(tmp_path, "score,label,label\n1,1,1\n"), SCHEMA)
    arrays = [pa.array([1.0]), pa.array([1]), pa.array([2.0]), pa.array(["a"])]
    table = pa.Table.from_arrays(arrays, ["score", "label", "x", "x"])
    pq.write_table(table, tmp_path / "s.parquet")
    assert read_table(tmp_path / "s.parquet", SCHEMA)["score"].tolist() == [1.0]


def test_flags_say_that_false_and_true_count(tmp_path):
    with pytest.raises(UserError, match=r"is 'yes'; expected 0 or 1 \(false or true\)"):
        read_table(written(tmp_path, "score,label\n1,yes\n"), SCHEMA)


def test_the_line_is_right_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_BLOCK_CELLS", 8)
    rows = ["0.5,1"] * 50
    for at in (0, 3, 4, 17, 49):
        bad = rows.copy()
        bad[at] = "oops,1"
        path = written(tmp_path, "\n".join(["score,label", *bad]))
        with pytest.raises(UserError, match=f"line {at + 2}, column score"):
            read_table(path, SCHEMA)
    for before in (7, 8):
        path = written(tmp_path, "\n".join(["score,label", *rows[:before], "", *rows[:3]]))
        with pytest.raises(UserError, match=f"line {before + 2}: is empty"):
            read_table(path, SCHEMA)
    path = written(tmp_path, "\n".join(["score,label", *rows, "", "", "", "", "", "", ""]))
    assert len(read_table(path, SCHEMA)) == 50


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 1)), min_size=1
    )
)
def test_numbers_come_back_exactly(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("x") / "s.csv"
    path.write_text("score,label\n" + "".join(f"{s!r},{y}\n" for s, y in rows))
    frame = read_table(path, SCHEMA)
    assert frame["score"].tolist() == [s for s, _ in rows]
    assert frame["label"].tolist() == [y for _, y in rows]


def test_memory_is_that_of_the_numbers(tmp_path, monkeypatch):
    """Blocks of text are let go: the peak of Python's memory stays near the numbers."""
    path = tmp_path / "s.csv"
    path.write_text("score,label\n" + "0.123456789,1\n0.5,0\n" * 100_000)
    monkeypatch.setattr(reading, "_BLOCK_CELLS", 20_000)
    tracemalloc.start()
    frame = read_table(path, SCHEMA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(frame) == 200_000
    # the numbers are 1.8 MB, twice that while they are joined; all rows as text would be 40 MB
    assert peak < 12e6
