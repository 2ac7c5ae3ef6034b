"""Small valid files of the ten sets in every format that a reader takes, written here."""

import bz2
import io
import math
import struct
import tarfile
import zipfile

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.membership.sets import credit, flower, meps
from leakmeter.membership.sets.table import Spec


def spec(n_classes, features=None):
    return Spec("x", "X", n_classes, 1, features, "none")


def source_of(name, variant, **files):
    return Resolution(name=name, label="real", how="user", variant=variant, files=files)


def archive(path, **members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def bit_rows(n, d, labels=None, quote=""):
    rng = np.random.default_rng(0)
    lines = []
    for row in range(n):
        bits = ",".join(map(str, rng.integers(0, 2, d)))
        lines.append(f"{quote}{labels[row]}{quote},{bits}" if labels is not None else bits)
    return "\n".join(lines) + "\n"


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


CENSUS_ROW = "39, ?, 77516, Bachelors, 13, Divorced, Sales, Wife, {}, {}, 0, 0, 40, Japan, {}\n"


# --- SAS transport, record layout of version 5 (SAS technical note TS-140) -------------------------


def ibm_double(value):
    """IBM's floating point: sign, exponent of 16 in excess 64, 56 bits of fraction."""
    if math.isnan(value):
        return b"." + bytes(7)
    if value == 0:
        return bytes(8)
    fraction, exponent = math.frexp(abs(value))
    sixteens = -(-exponent // 4)
    bits = int(fraction * 2.0 ** (exponent - 4 * sixteens) * 2**56)
    return bytes([(value < 0) << 7 | (sixteens + 64)]) + bits.to_bytes(7, "big")


def transport(frame):
    """A table of numbers as a SAS transport file of version 5."""

    def header(kind, digits="0" * 30):
        return f"HEADER RECORD*******{kind:8}HEADER RECORD!!!!!!!{digits}  ".encode()

    date = b"01JAN17:00:00:00"
    names = b"".join(
        struct.pack(">hhhh8s40s8shhh2s8shhl52s", 1, 0, 8, i + 1, name.encode().ljust(8), b"", b"",
                    0, 0, 0, b"", b"", 0, 0, 8 * i, b"")
        for i, name in enumerate(frame.columns)
    )  # fmt: skip
    cells = b"".join(ibm_double(float(x)) for x in frame.to_numpy().ravel())
    prefix = b"SAS     %-8sSASLIB  9.4     Linux   " + b" " * 24
    return b"".join(
        [
            header("LIBRARY "),
            prefix.replace(b"%-8s", b"SAS     ") + date,
            date.ljust(80),
            header("MEMBER  ", "0" * 17 + "16" + "0" * 8 + "140"),
            header("DSCRPTR "),
            prefix.replace(b"%-8s", b"TABLE   ").replace(b"SASLIB  ", b"SASDATA ") + date,
            date.ljust(80),
            header("NAMESTR ", f"{len(frame.columns):010d}".ljust(30, "0")),
            names + b" " * (-len(names) % 80),
            header("OBS     "),
            cells + b" " * (-len(cells) % 80),
        ]
    )


def zipped(path, content, name="h181.ssp"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return path


def valid(name, variant, folder):
    """A small valid source of one variant."""
    from PIL import Image

    write = _WRITERS[name, variant]
    if name == "flower" and variant == "photos":
        buffer = io.BytesIO()
        Image.new("RGB", (20, 16), (9, 9, 9)).save(buffer, "JPEG")
        photo = buffer.getvalue()
        return source_of(
            name,
            variant,
            photos=archive(
                folder / "f.tgz", **{"p__daisy__a.jpg": photo, "p__tulips__b.jpg": photo}
            ),
        )
    return source_of(name, variant, **write(folder))


def _put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def _both(folder, content):
    return {part: _put(folder / part, content) for part in ("train", "test")}


def _images(folder):
    rng = np.random.default_rng(0)
    pixels, labels = idx(rng.integers(0, 256, (3, 28, 28))), idx(np.array([1, 9, 0]))
    return {
        f"{part}_{kind}": _put(folder / f"{part}_{kind}", content)
        for part in ("train", "test")
        for kind, content in (("images", pixels), ("labels", labels))
    }


def _table(folder, generator, **change):
    path = folder / "table.csv"
    generator.generate(6, seed=1).to_csv(path, index=False)
    return {"table": path}


#: A person that AIF360's rules keep, with the columns of the consolidated file of 2015: where it
#: has a column of the round and one of the year's end, both.
PERSON = {
    **{name: 1.0 for name in meps._CATEGORIES if name not in meps._ENDINGS},
    **{f"{name}53": 2.0 for name in meps._ENDINGS if meps._ENDINGS[name] == "53"},
    **{"AGE53X": 30.0, "MARRY53X": 1.0, "FTSTU53X": 0.0, "AGE15X": 61.0, "MARRY15X": 5.0},
    **{"FTSTU15X": 3.0, "REGION15": 4.0, "POVCAT15": 3.0, "INSCOV15": 1.0, "PERWT15F": 8123.5},
    **{"PCS42": 52.25, "MCS42": 49.5, "K6SUM42": 0.0, "EDUCYR": 12.0, "HIDEG": 3.0},
    **{"OBTOTV15": 4.0, "OPTOTV15": 3.0, "ERTOT15": 0.0, "IPNGTD15": 1.0, "HHTOTD15": 2.0},
    **{"PANEL": 19.0, "HISPANX": 2.0, "RACEV2X": 1.0},
}


def persons(*changes):
    """The consolidated file of 2015 with one person for each change of :data:`PERSON`."""
    import pandas as pd

    return pd.DataFrame([PERSON | change for change in changes])


_WRITERS = {
    ("location", "bangkok"): lambda d: {"table": _put(d / "b", bit_rows(3, 446, [1, 30, 7], '"'))},
    ("purchase", "archive"): lambda d: {
        "archive": archive(d / "p.tgz", dataset_purchase=bit_rows(2, 600, [100, 1]))
    },
    ("purchase", "npz"): lambda d: {
        "arrays": _npz(d / "p.npz", features=np.eye(2, 600), labels=np.eye(2, 100))
    },
    ("texas", "archive"): lambda d: {
        "archive": archive(
            d / "t.tgz", texas__100__feats=bit_rows(2, 6169), texas__100__labels="1\n100\n"
        )
    },
    ("mnist", "idx"): _images,
    ("usps", "elemstatlearn"): lambda d: _both(d, ("6.0000 " + "-0.5 " * 256 + "\n") * 2),
    ("usps", "libsvm"): lambda d: _both(d, bz2.compress(b"10 1:-1 256:0.5\n1 2:1\n")),
    ("flower", "photos"): None,
    ("flower", "pixels"): lambda d: {
        "pixels": _npz(
            d / "f.npz",
            images=np.ones((2, 64, 64, 3), np.uint8),
            labels=np.array([0, 4]),
            classes=np.array(flower.CLASSES),
        )
    },
    ("meps", "hc181"): lambda d: {"table": zipped(d / "h.zip", transport(persons({}, {})))},
    ("meps", "meps2006"): lambda d: _table(d, meps.generator),
    ("meps", "meps2008"): lambda d: {
        "table": _put(
            d / "m.csv",
            "bmi,age,gender,race,education,health,limitation,region,private,visits.hosp,diabetes,"
            "hypertension,hyperlipidemia,income\n22,47,1,2,16,5,6,2,1,0,0,0,1,9\n"
            "30,50,0,3,12,5,6,2,1,1,0,0,1,8\n",
        )
    },
    ("credit", "csv"): lambda d: _table(d, credit.generator),
    ("census", "uci"): lambda d: _both(
        d,
        CENSUS_ROW.format("White", "Male", "<=50K") + CENSUS_ROW.format("Other", "Female", ">50K."),
    ),
}
VARIANTS = list(_WRITERS)
