"""Resolution order, modes, labels, and every way in which a source can fail.

Slowest are the tests with processes that are killed or run side by side (a few seconds each).
"""

import gzip
import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest
from loopback import (
    closed_port,
    entry,
    gz,
    paced,
    redirect,
    serve,
    sha256,
    silent,
    status,
    truncated,
)

from leakmeter.datasets.cache import VariantCache
from leakmeter.datasets.fetch import part_path
from leakmeter.datasets.resolve import Resolution, candidates, resolve, user_data_dirs
from leakmeter.runtime import UserError

BODY = hashlib.shake_256(b"table").hexdigest(100_000).encode()
ARCHIVES = ["toy/pack.tgz#inner/table.txt", "toy/pack.zip#inner/table.txt"]


def read(resolution, key="table"):
    with resolution.open(key) as handle:
        return handle.read()


def tgz(path, **members):
    """A tar.gz; a member is bytes or the target of a symbolic link."""
    import io

    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path.read_bytes()


# --- the user's folder --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [("toy/table.txt", BODY), ("toy/table.txt.gz", gz(BODY))],
)
def test_users_file_comes_first(toy, server, name, content):
    url = server.add("/x", serve(BODY))
    path = toy.define({"table": entry(BODY, url)}).put(name, content)
    result = toy.resolve()
    assert (result.how, result.label, result.files) == ("user", "real", {"table": path})
    assert result.checksums == {"table": sha256(BODY)}
    assert result.licence == "CC0"
    assert result.source == str(toy.user)
    assert read(result) == BODY
    assert server.seen == []
    assert not toy.cache.exists()


def test_users_archive_is_read_in_place(toy):
    toy.define({"table": entry(BODY, archives=ARCHIVES)})
    path = toy.put("toy/pack.tgz", tgz(toy.folder / "a.tgz", **{"inner/table.txt": BODY}))
    result = toy.resolve()
    assert result.files == {"table": path}
    assert result.members == {"table": "inner/table.txt"}
    assert read(result) == BODY
    assert not toy.cache.exists()


def test_wrong_checksum_of_users_file_stops(toy, server):
    url = server.add("/x", serve(BODY))
    path = toy.define({"table": entry(BODY, url)}).put("toy/table.txt", b"other")
    for mode in ("auto", "real"):
        with pytest.raises(UserError) as caught:
            toy.resolve(mode=mode)
        text = str(caught.value)
        assert str(path) in text
        assert sha256(b"other") in text  # got
        assert sha256(BODY) in text  # expected
        assert "move it away" in text  # what to do
        assert "Ask the author for table.txt" in text
    assert server.seen == []


def _one_byte_changed(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda content: content[:-100], _one_byte_changed])
def test_damaged_gzip_of_the_user_stops_as_a_wrong_checksum_does(toy, damage):
    path = toy.define({"table": entry(BODY)}).put("toy/table.txt.gz", damage(gz(BODY)))
    with pytest.raises(UserError, match="cut off or damaged") as caught:
        toy.resolve()
    text = str(caught.value)
    assert str(path) in text
    assert "the file of Toy table" in text  # which set
    assert sha256(BODY) in text  # expected
    assert "replace it, or move it away" in text  # what to do


def test_wrong_file_in_the_first_folder_is_not_passed_over(toy, tmp_path):
    toy.define({"table": entry(BODY)}).put("toy/table.txt", BODY)
    other = tmp_path / "other/toy"
    other.mkdir(parents=True)
    (other / "table.txt").write_bytes(b"wrong")
    assert toy.resolve(data_dirs=[toy.user, other.parent]).source == str(toy.user)
    with pytest.raises(UserError, match="wrong|content is"):
        toy.resolve(data_dirs=[other.parent, toy.user])


def test_several_checksums_are_accepted(toy):
    other = b"the same rows without quotes"
    md5 = f"md5:{hashlib.md5(other).hexdigest()}"
    toy.define({"table": entry(BODY, checksums=[sha256(BODY), md5])})
    toy.put("toy/table.txt", other)
    assert toy.resolve().checksums == {"table": md5}
    toy.put("toy/table.txt", BODY)
    assert toy.resolve().checksums == {"table": sha256(BODY)}


def test_any_file_of_the_format_is_accepted_and_recorded(toy):
    toy.define({"table": entry(b"x", any_file=True, checksums=[], bytes=None)})
    toy.put("toy/table.txt.gz", gz(b"mine"))
    assert toy.resolve().checksums == {"table": sha256(b"mine")}


def test_unpublished_checksum_means_exact_size(toy):
    toy.define({"table": entry(BODY, checksums=[])})
    toy.put("toy/table.txt", b"?" * len(BODY))
    assert toy.resolve().checksums == {"table": sha256(b"?" * len(BODY))}
    toy.put("toy/table.txt", b"short")
    with pytest.raises(UserError, match=f"has 5 bytes, expected {len(BODY)}"):
        toy.resolve()


def test_opaque_file_is_hashed_as_it_is(toy):
    packed = tgz(toy.folder / "a.tgz", x=BODY)
    git = hashlib.sha1(b"blob %d\0" % len(packed) + packed).hexdigest()
    names = ["toy/pack.tgz"]
    toy.define({"table": entry(packed, names=names, opaque=True, checksums=[f"git-sha1:{git}"])})
    toy.put("toy/pack.tgz", packed)
    assert toy.resolve().checksums == {"table": f"git-sha1:{git}"}


def test_variants_in_order_and_their_labels(toy, caplog):
    real = {"table": entry(BODY)}
    related = ["related", {"table": entry(b"other year", names=["toy/other.txt"])}]
    toy.define(real, related)
    toy.put("toy/other.txt", b"other year")
    result = toy.resolve()
    assert (result.label, result.how, result.variant) == ("related", "user", "v1")
    assert "using related data" in caplog.text
    with pytest.raises(UserError, match="real data are required"):
        toy.resolve(mode="real")
    toy.put("toy/table.txt", BODY)
    assert toy.resolve().label == "real"
    assert toy.resolve(mode="real").label == "real"


def test_incomplete_variant_is_passed_over_and_said(toy, caplog):
    files = {"a": entry(b"a", names=["toy/a"]), "b": entry(b"b", names=["toy/b"])}
    toy.define(files).put("toy/a", b"a")
    assert toy.resolve().how == "standin"
    assert "incomplete, toy/b missing" in caplog.text
    toy.put("toy/b", b"b")
    assert toy.resolve().how == "user"


def test_optional_file_is_used_when_right_and_left_out_when_wrong(toy, caplog):
    toy.define({"table": entry(BODY), "notes": entry(b"n", names=["toy/notes"], optional=True)})
    toy.put("toy/table.txt", BODY)
    assert set(toy.resolve().files) == {"table"}
    toy.put("toy/notes", b"n")
    assert set(toy.resolve().files) == {"table", "notes"}
    toy.put("toy/notes", b"altered")
    assert set(toy.resolve().files) == {"table"}
    assert "left out" in caplog.text


def test_named_files(toy):
    toy.define({"table": entry(BODY, archives=ARCHIVES)})
    path = toy.folder / "mine.any"
    path.write_bytes(gz(BODY))
    result = toy.resolve(data_dirs=[], files={"table": path})
    assert (result.how, result.files, result.source) == ("user", {"table": path}, str(path))
    packed = toy.folder / "mine.tgz"
    tgz(packed, **{"inner/table.txt": BODY})
    assert read(toy.resolve(files={"table": packed})) == BODY
    path.write_bytes(b"wrong")
    with pytest.raises(UserError, match=r"mine\.any: content is"):
        toy.resolve(files={"table": path})
    with pytest.raises(UserError, match="no such file"):
        toy.resolve(files={"table": toy.folder / "absent"})
    with pytest.raises(UserError, match="files tabel given; expected table"):
        toy.resolve(files={"tabel": path})


# --- modes --------------------------------------------------------------------------------------


def test_mode_standin_neither_looks_nor_downloads(toy, server):
    url = server.add("/x", serve(BODY))
    toy.define({"table": entry(BODY, url)}).put("toy/table.txt", b"wrong")
    result = toy.resolve(mode="standin")
    assert (result.how, result.label, result.files) == ("standin", "standin", {})
    assert result.source == "standin:toy_generator"
    assert "data.mode is standin" in result.note
    assert server.seen == []
    assert not toy.cache.exists()


def test_mode_auto_falls_through_with_one_loud_warning(toy, server, caplog):
    first, second = server.url("/gone"), f"http://127.0.0.1:{closed_port()}/x"
    toy.define({"table": entry(BODY, first, second)})
    with caplog.at_level(logging.WARNING):
        result = toy.resolve()
    assert (result.how, result.label) == ("standin", "standin")
    assert len(caplog.records) == 1
    lines = caplog.records[0].getMessage().splitlines()
    assert "STAND-IN" in lines[0]
    assert f"  your folder {toy.user}: holds no file of this set" in lines
    assert f"  {first}: HTTP 404 Not Found" in lines
    assert f"  {second}: connection refused" in lines
    assert any("Ask the author for table.txt" in line for line in lines)
    assert f"    toy/table.txt (or .gz): {sha256(BODY)}" in lines


def test_mode_real_stops_with_instructions(toy, server):
    toy.define({"table": entry(BODY, server.url("/gone"))})
    with pytest.raises(UserError) as caught:
        toy.resolve(mode="real", data_dirs=[])
    text = str(caught.value)
    for part in ("data.mode is real", "HTTP 404", "Ask the author", sha256(BODY), "LEAKMETER_DATA"):
        assert part in text


def test_missing_folder_is_said(toy, caplog):
    toy.define({"table": entry(BODY)})
    toy.resolve(data_dirs=[toy.folder / "nowhere"])
    assert "nowhere: no such folder" in caplog.text


def test_unknown_mode_and_unknown_set(toy):
    toy.define({"table": entry(BODY)})
    with pytest.raises(UserError, match="data.mode is 'fast'; expected one of auto, real, standin"):
        toy.resolve(mode="fast")
    with pytest.raises(UserError, match="no data set is called 'tory'"):
        resolve("tory", cache_dir=toy.cache, registry=toy.registry)


# --- downloads ----------------------------------------------------------------------------------


def test_download_is_verified_and_kept(toy, server):
    url = server.add("/x", serve(BODY))
    toy.define({"table": entry(BODY, url)})
    result = toy.resolve(mode="real")
    assert (result.how, result.label, result.source) == ("download", "real", url)
    assert result.files == {"table": toy.cache / "toy/table.txt"}
    assert read(result) == BODY
    assert toy.resolve(mode="real") == result
    assert len(server.seen) == 1
    assert toy.cached() == ["table.txt"]
    assert toy.hidden() == []


def test_compressed_download_keeps_its_form(toy, server):
    toy.define({"table": entry(BODY, server.add("/x", serve(gz(BODY))))})
    result = toy.resolve()
    assert result.files == {"table": toy.cache / "toy/table.txt.gz"}
    assert result.checksums == {"table": sha256(BODY)}
    assert read(result) == BODY


def test_archive_is_downloaded_once_for_all_its_members(toy, server):
    one, two = BODY, b"second"
    packed = tgz(toy.folder / "a.tgz", **{"inner/table.txt": one, "inner/two.txt": two})
    url = server.add("/a.tgz", serve(packed))
    files = {
        "table": entry(one, f"{url}#inner/table.txt", archives=ARCHIVES),
        "two": entry(
            two,
            f"{url}#inner/two.txt",
            names=["toy/two.txt"],
            archives=["toy/pack.tgz#inner/two.txt"],
        ),
    }
    result = toy.define(files).resolve()
    assert set(result.files.values()) == {toy.cache / "toy/pack.tgz"}
    assert (read(result, "table"), read(result, "two")) == (one, two)
    assert server.seen == [("/a.tgz", None)]
    assert toy.resolve() == result


def test_archive_with_one_wrong_member_is_not_kept(toy, server, caplog):
    packed = tgz(toy.folder / "a.tgz", **{"inner/table.txt": BODY, "inner/two.txt": b"altered"})
    url = server.add("/a.tgz", serve(packed))
    two = {"names": ["toy/two.txt"], "archives": ["toy/pack.tgz#inner/two.txt"]}
    files = {
        "table": entry(BODY, f"{url}#inner/table.txt", archives=ARCHIVES),
        "two": entry(b"second", f"{url}#inner/two.txt", **two),
    }
    assert toy.define(files).resolve().how == "standin"
    assert f"  {url}: wrong checksum: content is {sha256(b'altered')}" in caplog.text
    assert (toy.cached(), toy.hidden()) == ([], [])


def test_zip_archive_is_downloaded(toy, server):
    with zipfile.ZipFile(toy.folder / "a.zip", "w") as archive:
        archive.writestr("inner/table.txt", BODY)
    url = server.add("/a.zip", serve((toy.folder / "a.zip").read_bytes()))
    toy.define({"table": entry(BODY, f"{url}#inner/table.txt", archives=ARCHIVES[1:])})
    assert read(toy.resolve()) == BODY


def test_partial_file_of_an_earlier_run_is_continued(toy, server):
    url = server.add("/x", serve(BODY))
    toy.define({"table": entry(BODY, url)})
    folder = toy.cache / "toy"
    folder.mkdir(parents=True)
    part_path(folder, url).write_bytes(BODY[:5000])
    assert read(toy.resolve()) == BODY
    assert server.ranges("/x") == ["bytes=5000-"]
    assert toy.hidden() == []


def test_wrong_beginning_is_downloaded_again_from_zero_once(toy, server):
    url = server.add("/x", serve(BODY))
    toy.define({"table": entry(BODY, url)})
    folder = toy.cache / "toy"
    folder.mkdir(parents=True)
    part_path(folder, url).write_bytes(b"?" * 5000)
    assert read(toy.resolve()) == BODY
    assert server.ranges("/x") == ["bytes=5000-", None]


def test_restart_happens_only_once(toy, server):
    url = server.add("/x", serve(b"always wrong" * 1000))
    toy.define({"table": entry(BODY, url)})
    folder = toy.cache / "toy"
    folder.mkdir(parents=True)
    part_path(folder, url).write_bytes(b"?" * 5000)
    assert toy.resolve().how == "standin"
    assert server.ranges("/x") == ["bytes=5000-", None]
    assert (toy.cached(), toy.hidden()) == ([], [])


def test_wrong_checksum_falls_to_the_next_source(toy, server, caplog):
    bad, good = server.add("/bad", serve(b"not it")), server.add("/good", serve(BODY))
    result = toy.define({"table": entry(BODY, bad, good)}).resolve()
    assert (result.how, result.source) == ("download", good)
    assert server.seen == [("/bad", None), ("/good", None)]  # no second try of a fresh download
    assert toy.hidden() == []


FAILURES = {
    "404": (status(404), "HTTP 404"),
    "500": (status(500), "HTTP 500"),
    "truncated": (truncated(BODY, 0), "body truncated"),
    "wrong": (serve(b"wrong"), f"wrong checksum: content is {sha256(b'wrong')}"),
    "silent": (silent, "no answer within 0.5 s"),
    "cut": (serve(gz(BODY)[:-50]), "cut off or damaged"),
    "page": (serve(b"<html>sorry</html>"), "wrong checksum"),
    "empty": (serve(b""), "wrong checksum"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_falls_through_with_its_reason(toy, server, caplog, failure):
    behaviour, reason = FAILURES[failure]
    bad = server.add("/bad", behaviour)
    toy.define({"table": entry(BODY, bad)})
    assert toy.resolve(timeout=0.5).how == "standin"
    assert f"  {bad}: {reason}" in caplog.text
    assert toy.cached() == []


def test_every_source_has_one_line_and_the_last_one_wins(toy, server, caplog, tmp_path):
    caplog.set_level(logging.INFO)
    moved = server.add("/moved", redirect(server.add("/good", serve(gz(BODY)))))
    bad = [server.add(f"/{n}", b) for n, (b, _) in FAILURES.items() if n != "silent"]
    refused = f"http://127.0.0.1:{closed_port()}/x"
    unknown = "http://data.invalid/x"
    toy.define({"table": entry(BODY, *bad, refused, unknown, moved)})
    started = time.monotonic()
    result = toy.resolve()
    assert (result.how, result.source) == ("download", moved)
    assert time.monotonic() - started < 10
    for url in (*bad, refused, unknown):
        assert sum(f"toy: {url}: " in r.getMessage() for r in caplog.records) == 1


def test_first_file_that_cannot_be_had_ends_the_attempt(toy, server):
    files = {
        "a": entry(b"a", server.url("/gone"), names=["toy/a"]),
        "b": entry(b"b", server.add("/b", serve(b"b")), names=["toy/b"]),
    }
    assert toy.define(files).resolve().how == "standin"
    assert server.seen == [("/gone", None)]


def test_unresolvable_host_is_not_asked_for_every_file(toy, caplog):
    caplog.set_level(logging.INFO)
    files = {
        key: entry(b"x", "http://data.invalid/" + key, names=[f"toy/{key}"]) for key in ("a", "b")
    }
    toy.define(files, ["related", {"c": entry(b"c", "http://data.invalid/c", names=["toy/c"])}])
    started = time.monotonic()
    assert toy.resolve().how == "standin"
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("evil", ["../evil.txt", "/tmp/evil-leakmeter.txt"])
@pytest.mark.parametrize("kind", ["tgz", "zip"])
def test_archives_write_nowhere_but_into_the_cache(toy, server, kind, evil):
    path = toy.folder / f"a.{kind}"
    if kind == "tgz":
        packed = tgz(path, **{evil: b"evil", "inner/table.txt": BODY})
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(evil, b"evil")
            archive.writestr("inner/table.txt", BODY)
        packed = path.read_bytes()
    url = server.add("/a", serve(packed))
    toy.define(
        {
            "table": entry(
                BODY, f"{url}#inner/table.txt", archives=[f"toy/pack.{kind}#inner/table.txt"]
            )
        }
    )
    before = {p for p in toy.folder.rglob("*") if toy.cache not in p.parents and p != toy.cache}
    assert read(toy.resolve()) == BODY
    after = {p for p in toy.folder.rglob("*") if toy.cache not in p.parents and p != toy.cache}
    assert after == before
    assert not os.path.exists("/tmp/evil-leakmeter.txt")
    assert toy.cached() == [f"pack.{kind}"]


@pytest.mark.parametrize("member", ["../table.txt", "a/../../table.txt"])
def test_registry_cannot_ask_for_a_member_outside(toy, server, caplog, member):
    url = server.add("/a", serve(tgz(toy.folder / "a.tgz", **{member: BODY})))
    toy.define({"table": entry(BODY, f"{url}#{member}", archives=[f"toy/pack.tgz#{member}"])})
    assert toy.resolve().how == "standin"
    assert "is refused" in caplog.text


def test_link_in_the_place_of_the_member_is_refused(toy, server, caplog):
    secret = toy.put("secret", BODY)  # even if its content were right
    packed = tgz(toy.folder / "a.tgz", **{"inner/table.txt": str(secret)})
    url = server.add("/a", serve(packed))
    toy.define({"table": entry(BODY, f"{url}#inner/table.txt", archives=ARCHIVES)})
    assert toy.resolve().how == "standin"
    assert "expected a regular file" in caplog.text
    assert toy.cached() == []


def test_damaged_cache_is_fetched_again(toy, server, caplog):
    url = server.add("/x", serve(BODY))
    result = toy.define({"table": entry(BODY, url)}).resolve()
    result.files["table"].write_bytes(b"bit rot")
    assert read(toy.resolve()) == BODY
    assert "fetched again" in caplog.text
    assert len(server.seen) == 2


def test_first_download_without_published_checksum_is_pinned(toy, server, caplog):
    url = server.add("/x", serve(BODY))
    result = toy.define({"table": entry(BODY, url, checksums=[])}).resolve()
    assert result.checksums == {"table": sha256(BODY)}
    assert toy.resolve() == result
    result.files["table"].write_bytes(BODY[::-1])  # same size, other content
    assert toy.resolve() == result
    assert f"at first download it was {sha256(BODY)}" in caplog.text


def test_related_variant_is_downloaded_when_the_set_itself_cannot(toy, server):
    other = server.add("/other", serve(b"other"))
    toy.define(
        {"table": entry(BODY, server.url("/gone"))},
        ["related", {"table": entry(b"other", other, names=["toy/other.txt"])}],
    )
    result = toy.resolve()
    assert (result.how, result.label, result.variant) == ("download", "related", "v1")
    with pytest.raises(UserError, match="HTTP 404"):
        toy.resolve(mode="real")


def test_unwritable_cache_is_one_error(toy, server):
    toy.define({"table": entry(BODY, server.add("/x", serve(BODY)))})
    toy.cache.write_text("a file where the folder belongs")
    with pytest.raises(UserError, match="writable cache folder"):
        toy.resolve()


def test_package_source_falls_through_like_the_others(toy, server, caplog, monkeypatch):
    monkeypatch.setenv("PATH", str(toy.folder))  # no client at all
    toy.define({"table": entry(BODY, "npm:thing@1.0.0#package/x", "debian:thing#usr/x")})
    assert toy.resolve().how == "standin"
    assert "npm:thing@1.0.0: npm is not installed" in caplog.text
    assert "debian:thing: apt-get is not installed" in caplog.text


def test_debian_source_end_to_end(toy, monkeypatch):
    # Debian's own copies of .gz files have another gzip header: the content decides
    packed = gzip.compress(BODY, 1, mtime=12345)
    with tarfile.open(toy.folder / "fs.tar", "w") as tar:
        (toy.folder / "c").write_bytes(packed)
        tar.add(toy.folder / "c", "./usr/share/datasets/toy/table.txt.gz")
    tools = toy.folder / "bin"
    tools.mkdir()
    (tools / "apt-get").write_text("#!/bin/sh\ntouch toy_1_all.deb\n")
    (tools / "dpkg-deb").write_text(f"#!/bin/sh\ncat {toy.folder}/fs.tar\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    source = "debian:dataset-toy#usr/share/datasets/toy/table.txt.gz"
    result = toy.define({"table": entry(BODY, source)}).resolve()
    assert (result.how, result.source) == ("download", "debian:dataset-toy")
    assert result.files == {"table": toy.cache / "toy/table.txt.gz"}
    assert read(result) == BODY
    assert toy.hidden() == []


# --- several processes --------------------------------------------------------------------------

RUN = """
import json, sys
from leakmeter.datasets.resolve import resolve
options = json.loads(sys.argv[1])
print(json.dumps(resolve("toy", **options).to_json()))
"""


def start(toy, **options):
    given = {"registry": str(toy.registry), "cache_dir": str(toy.cache), "timeout": 5.0, **options}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(given)], stdout=subprocess.PIPE, text=True
    )


def test_two_processes_share_one_download(toy, server):
    url = server.add("/x", paced(BODY, seconds=1.5))
    toy.define({"table": entry(BODY, url)})
    running = [start(toy) for _ in range(2)]
    results = [Resolution.from_json(json.loads(p.communicate(timeout=60)[0])) for p in running]
    assert results[0] == results[1]
    assert read(results[0]) == BODY
    assert server.ranges("/x") == [None]
    assert (toy.cached(), toy.hidden()) == (["table.txt"], [])


def test_two_processes_without_waiting_do_not_disturb_each_other(toy, server):
    url = server.add("/x", paced(BODY, seconds=1.5))
    toy.define({"table": entry(BODY, url)})
    running = [start(toy, lock_timeout=0.0) for _ in range(2)]
    results = [Resolution.from_json(json.loads(p.communicate(timeout=60)[0])) for p in running]
    assert results[0] == results[1]
    assert read(results[0]) == BODY
    assert server.ranges("/x") == [None, None]  # each from its own beginning
    assert (toy.cached(), toy.hidden()) == (["table.txt"], [])


def test_killed_in_the_middle_leaves_nothing_under_the_final_name(toy, server, wait_for):
    url = server.add("/x", paced(BODY, seconds=20))
    toy.define({"table": entry(BODY, url)})
    part = part_path(toy.cache / "toy", url)
    process = start(toy)
    wait_for(lambda: part.exists() and part.stat().st_size > 20_000, seconds=30)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert toy.cached() == []
    size = part.stat().st_size
    assert part.read_bytes() == BODY[:size]
    # the next run takes the dead one's lock at once and continues its file
    server.add("/x", serve(BODY))
    assert read(toy.resolve(lock_timeout=0.0)) == BODY
    assert server.ranges("/x") == [None, f"bytes={size}-"]
    assert (toy.cached(), toy.hidden()) == (["table.txt"], [])


def test_failure_before_the_rename_leaves_nothing(toy, server, monkeypatch):
    url = server.add("/x", serve(BODY))
    toy.define({"table": entry(BODY, url)})

    def fails(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(VariantCache, "_keep", fails)
    with pytest.raises(KeyboardInterrupt):
        toy.resolve()
    assert toy.cached() == []
    monkeypatch.undo()
    assert read(toy.resolve()) == BODY
    assert server.ranges("/x") == [None, f"bytes={len(BODY)}-"]  # nothing was left to send


# --- candidates and the record ------------------------------------------------------------------


def test_candidates_agree_with_resolve(toy):
    files = {
        "a": entry(b"a", names=["toy/a"], archives=["toy/p.zip#a"]),
        "b": entry(b"b", names=["toy/b"], archives=["toy/p.zip#b"]),
    }
    toy.define(files, ["related", {"c": entry(b"c", names=["toy/c"])}])
    ask = {"data_dirs": [toy.user], "registry": toy.registry}
    assert candidates("toy", **ask) == []
    c = toy.put("toy/c", b"c")
    assert candidates("toy", **ask) == [c] == list(toy.resolve().files.values())
    assert candidates("toy", mode="real", **ask) == []
    toy.put("toy/a", b"a")
    assert candidates("toy", **ask) == [c]  # a alone is not enough
    with zipfile.ZipFile(toy.user / "toy/p.zip", "w") as archive:
        archive.writestr("b", b"b")
    assert candidates("toy", **ask) == [toy.user / "toy/a", toy.user / "toy/p.zip"]
    assert list(toy.resolve().files.values()) == candidates("toy", **ask)
    assert candidates("toy", mode="standin", **ask) == []
    (toy.user / "toy/a").unlink()
    assert candidates("toy", **ask) == [toy.user / "toy/p.zip"]  # one archive, named once


def test_candidates_read_nothing(toy):
    path = toy.define({"table": entry(BODY)}).put("toy/table.txt", b"wrong")
    assert candidates("toy", [toy.user], registry=toy.registry) == [path]


def test_looking_for_candidates_loads_nothing_heavy():
    code = (
        "import sys; from leakmeter.datasets.resolve import candidates; candidates('mnist', []);"
        "print([m for m in ('requests', 'jsonschema', 'PIL', 'pandas', 'polars', 'tensorflow')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_record_survives_writing(toy):
    toy.define({"table": entry(BODY, archives=ARCHIVES)})
    toy.put("toy/pack.tgz", tgz(toy.folder / "a.tgz", **{"inner/table.txt": BODY}))
    result = toy.resolve()
    result.write(toy.folder / "r.json")
    assert Resolution.read(toy.folder / "r.json") == result
    assert Resolution.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_bad_record_is_one_error(toy):
    path = toy.folder / "r.json"
    path.write_text('{"name": "toy", "colour": "red"}')
    with pytest.raises(UserError, match=r"r\.json: data resolution has \['colour', 'name'\]"):
        Resolution.read(path)
    path.write_text("[1]")
    with pytest.raises(UserError, match="data resolution has list"):
        Resolution.read(path)


def test_user_data_dirs(monkeypatch, tmp_path):
    assert user_data_dirs(None, {}) == []
    assert user_data_dirs("", {"LEAKMETER_DATA": ""}) == []
    both = user_data_dirs(tmp_path / "a", {"LEAKMETER_DATA": str(tmp_path / "b")})
    assert both == [tmp_path / "a", tmp_path / "b"]
    assert user_data_dirs("same", {"LEAKMETER_DATA": "same"}) == user_data_dirs("same", {})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_data_dirs("~/data", {}) == [tmp_path / "data"]


def test_progress_reports_download_and_check(toy, server):
    steps = []
    toy.define({"table": entry(BODY, server.add("/x", serve(BODY)))})
    toy.resolve(progress=lambda *step: steps.append(step))
    assert ("x", len(BODY), len(BODY)) in steps
    assert any(what.startswith("checking") and done == len(BODY) for what, done, _ in steps)
