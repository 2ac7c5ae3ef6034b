"""Downloads over a loopback server, package clients (fakes on PATH), and the lock.

Known answers of HTTP: what the server is asked (Range headers), what is on disk afterwards.
"""

import hashlib
import os
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest
import requests
from loopback import (
    chunked,
    closed_port,
    drip,
    redirect,
    serve,
    silent,
    status,
    truncated,
)

from leakmeter.datasets import fetch
from leakmeter.datasets.fetch import Downloader, Packages, SourceFailed, exclusive, part_path
from leakmeter.datasets.registry import Source
from leakmeter.runtime import UserError, host_name

BODY = hashlib.shake_256(b"body").digest(300_000)


def nothing(what, done, total):
    pass


@pytest.fixture
def downloader():
    client = Downloader(timeout=1.0, progress=nothing)
    yield client
    client.close()


# --- HTTP ---------------------------------------------------------------------------------------


def test_plain_download(server, downloader, tmp_path):
    part = tmp_path / "part"
    assert downloader.download(server.add("/x", serve(BODY)), part) is False
    assert part.read_bytes() == BODY
    assert server.seen == [("/x", None)]
    assert server.headers["Accept-Encoding"] == "identity"  # else lengths count something else
    assert server.headers["User-Agent"].startswith("leakmeter/")


def test_bytes_are_stored_as_sent_whatever_the_content_encoding(server, downloader, tmp_path):
    # servers label .gz files like this; decoding them would change what is under the name
    url = server.add("/x", serve(BODY, Content_Encoding="gzip"))
    downloader.download(url, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY


def test_chunked_body_without_length(server, downloader, tmp_path):
    downloader.download(server.add("/x", chunked(BODY)), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY


def test_chunked_body_that_breaks_off(server, downloader, tmp_path):
    with pytest.raises(SourceFailed, match="connection broken"):
        downloader.download(server.add("/x", chunked(BODY, end=False)), tmp_path / "part")


def test_empty_body(server, downloader, tmp_path):
    downloader.download(server.add("/x", serve(b"")), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b""


def test_progress_counts_to_the_total(server, tmp_path):
    steps = []
    client = Downloader(timeout=1.0, progress=lambda *step: steps.append(step))
    client.download(server.add("/folder/x.gz", serve(BODY)), tmp_path / "part")
    client.close()
    assert steps[-1] == ("x.gz", len(BODY), len(BODY))
    assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)


def test_continues_a_partial_file_with_range(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(BODY[:1000])
    assert downloader.download(server.add("/x", serve(BODY)), part) is True
    assert part.read_bytes() == BODY
    assert server.ranges("/x") == ["bytes=1000-"]


def test_server_that_ignores_range_starts_again(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(b"?" * 400_000)  # longer than the body: nothing of it may be left
    downloader.download(server.add("/x", serve(BODY, ranges=False)), part)
    assert server.ranges("/x") == ["bytes=400000-"]
    assert part.read_bytes() == BODY


def test_complete_part_needs_no_more_bytes(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(BODY)
    assert downloader.download(server.add("/x", serve(BODY)), part) is True
    assert server.ranges("/x") == [f"bytes={len(BODY)}-"]
    assert part.read_bytes() == BODY


def test_part_longer_than_the_file_is_thrown_away(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(BODY + b"more")
    downloader.download(server.add("/x", serve(BODY)), part)
    assert server.ranges("/x") == [f"bytes={len(BODY) + 4}-", None]
    assert part.read_bytes() == BODY


def test_another_range_than_asked_for_starts_again(server, downloader, tmp_path):
    def wrong(handler):
        handler.start(206, 10, Content_Range=f"bytes 0-9/{len(BODY)}")
        handler.wfile.write(BODY[:10])

    part = tmp_path / "part"
    part.write_bytes(BODY[:1000])
    downloader.download(server.add("/x", wrong, serve(BODY)), part)
    assert part.read_bytes() == BODY
    assert server.ranges("/x") == ["bytes=1000-", None]


def test_truncated_body_is_resumed(server, downloader, tmp_path):
    url = server.add("/x", truncated(BODY, 100_000), truncated(BODY, 100_000), serve(BODY))
    downloader.download(url, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY
    assert server.ranges("/x") == [None, "bytes=100000-", "bytes=200000-"]


def test_resuming_is_limited(server, downloader, tmp_path):
    url = server.add("/x", truncated(BODY, 1000))
    with pytest.raises(SourceFailed, match="body truncated"):
        downloader.download(url, tmp_path / "part")
    assert len(server.seen) == fetch.MAX_RESUMES + 1
    assert (tmp_path / "part").stat().st_size == 1000 * (fetch.MAX_RESUMES + 1)


def test_no_second_attempt_without_new_bytes(server, downloader, tmp_path):
    with pytest.raises(SourceFailed, match="body truncated: 0 of 300000"):
        downloader.download(server.add("/x", truncated(BODY, 0)), tmp_path / "part")
    assert len(server.seen) == 1


@pytest.mark.parametrize("code", [403, 404, 429, 500, 503])
def test_error_status_fails_at_once(server, downloader, tmp_path, code):
    with pytest.raises(SourceFailed, match=f"HTTP {code}"):
        downloader.download(server.add("/x", status(code)), tmp_path / "part")
    assert len(server.seen) == 1
    assert not (tmp_path / "part").exists()


def test_error_status_keeps_what_was_there(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(BODY[:10])
    with pytest.raises(SourceFailed, match="HTTP 503"):
        downloader.download(server.add("/x", status(503)), part)
    assert part.read_bytes() == BODY[:10]


def test_redirect_is_followed_and_keeps_the_range(server, downloader, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(BODY[:5])
    url = server.add("/old", redirect(server.add("/new", serve(BODY))))
    downloader.download(url, part)
    assert part.read_bytes() == BODY
    assert server.seen == [("/old", "bytes=5-"), ("/new", "bytes=5-")]


def test_dead_end_of_a_redirect_does_not_blame_the_first_host(server, downloader, tmp_path):
    url = server.add("/x", redirect(f"http://127.0.0.1:{closed_port()}/x"))
    with pytest.raises(SourceFailed, match="connection refused"):
        downloader.download(url, tmp_path / "part")
    downloader.download(server.add("/y", serve(BODY)), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY


def test_redirect_loop_fails(server, downloader, tmp_path):
    with pytest.raises(SourceFailed, match="TooManyRedirects"):
        downloader.download(server.add("/x", redirect(server.url("/x"))), tmp_path / "part")


def test_redirect_away_from_http_is_refused(server, downloader, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    with pytest.raises(SourceFailed, match="InvalidSchema"):
        downloader.download(server.add("/x", redirect(secret.as_uri())), tmp_path / "part")


def test_server_that_never_answers(server, tmp_path):
    client = Downloader(timeout=0.3, progress=nothing)
    started = time.monotonic()
    with pytest.raises(SourceFailed, match=r"no answer within 0\.3 s"):
        client.download(server.add("/x", silent), tmp_path / "part")
    # the same host is not waited for again
    with pytest.raises(SourceFailed, match=r"no answer within 0\.3 s"):
        client.download(server.add("/y", serve(BODY)), tmp_path / "other")
    assert time.monotonic() - started < 1.5
    assert server.seen == [("/x", None)]


def test_server_that_stops_in_the_middle_is_resumed(server, tmp_path):
    client = Downloader(timeout=0.3, progress=nothing)

    def stalls(handler):
        handler.start(200, len(BODY))
        handler.wfile.write(BODY[:5000])
        silent(handler)

    client.download(server.add("/x", stalls, serve(BODY)), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY
    assert server.ranges("/x") == [None, "bytes=5000-"]


def test_drip_is_given_up(server, tmp_path):
    # always within the read time-out, yet it would take hours
    client = Downloader(timeout=0.3, progress=nothing)
    started = time.monotonic()
    with pytest.raises(SourceFailed, match="too slow"):
        client.download(server.add("/x", drip(BODY, first=100)), tmp_path / "part")
    assert time.monotonic() - started < 3
    assert (tmp_path / "part").read_bytes() == BODY[: (tmp_path / "part").stat().st_size]


def test_connection_refused(downloader, tmp_path):
    with pytest.raises(SourceFailed, match="connection refused"):
        downloader.download(f"http://127.0.0.1:{closed_port()}/x", tmp_path / "part")


def test_unresolvable_name_falls_through_at_once(downloader, tmp_path, monkeypatch):
    asked = []

    def fails(host, *rest, **options):
        asked.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(SourceFailed, match=r"host name 'data\.invalid' does not resolve"):
            downloader.download("http://data.invalid/x", tmp_path / "part")
    assert asked == ["data.invalid"]  # asked once, remembered
    assert time.monotonic() - started < 0.5


def test_name_server_that_hangs_does_not(tmp_path, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: released.wait(30))
    client = Downloader(timeout=0.3, progress=nothing)
    started = time.monotonic()
    with pytest.raises(SourceFailed, match=r"no answer about host name 'data\.invalid'"):
        client.download("http://data.invalid/x", tmp_path / "part")
    assert time.monotonic() - started < 2
    released.set()


def test_proxy_of_the_environment_is_used(server, downloader, tmp_path, monkeypatch):
    # a proxy resolves names itself, so the name need not resolve here
    monkeypatch.setenv("http_proxy", server.url(""))
    server.add("http://data.invalid/x", serve(BODY))  # proxies are asked for the whole URL
    downloader.download("http://data.invalid/x", tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == BODY


def test_unwritable_part_is_the_users_problem(server, downloader, tmp_path):
    with pytest.raises(UserError, match="cannot be written"):
        downloader.download(server.add("/x", serve(BODY)), tmp_path / "no/such/folder/part")


def test_part_name_depends_on_the_url_only(tmp_path):
    assert part_path(tmp_path, "http://a/x") == part_path(tmp_path, "http://a/x")
    assert part_path(tmp_path, "http://a/x") != part_path(tmp_path, "http://a/y")


def test_requests_never_retries_on_its_own(downloader):
    for adapter in downloader.session.adapters.values():
        assert isinstance(adapter, requests.adapters.HTTPAdapter)
        assert adapter.max_retries.total == 0


# --- packages -----------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """``programs(name, script)``: put a shell script on an otherwise usual PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return put


@pytest.fixture
def packages(tmp_path, monkeypatch):
    # relative, as data.cache is by default: the clients run in another folder
    monkeypatch.chdir(tmp_path)
    folder = Path("cache")
    folder.mkdir()
    clients = Packages(folder, timeout=10, progress=nothing)
    yield clients
    clients.close()


def archive(path, name, content, mode):
    (path.parent / "content").write_bytes(content)
    with tarfile.open(path, mode) as tar:
        tar.add(path.parent / "content", name)
    return path


def test_debian_package_is_downloaded_and_not_installed(tmp_path, programs, packages):
    tar = archive(tmp_path / "fs.tar", "./usr/share/data/x.txt", b"words", "w")
    programs("apt-get", f'echo "$@" >> {tmp_path}/calls; touch data_1_all.deb')
    programs("dpkg-deb", f'echo "$@" >> {tmp_path}/calls; test -f "$2" && cat {tar}')
    target = tmp_path / "out"
    packages.member(Source.parse("debian:data#usr/share/data/x.txt"), target)
    packages.member(Source.parse("debian:data#usr/share/data/x.txt"), target)
    assert target.read_bytes() == b"words"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2  # the package is fetched once for both members
    assert calls[0].endswith("download data")
    assert calls[1].startswith("--fsys-tarfile ")
    assert calls[1].endswith("data_1_all.deb")


def test_npm_package_runs_no_scripts(tmp_path, programs, packages):
    tar = archive(tmp_path / "a.tgz", "package/x.txt", b"words", "w:gz")
    programs("npm", f'echo "$@" > {tmp_path}/calls; cp {tar} thing-1.0.0.tgz')
    packages.member(Source.parse("npm:thing@1.0.0#package/x.txt"), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"words"
    call = (tmp_path / "calls").read_text()
    assert call.startswith("pack thing@1.0.0 ")
    assert "--ignore-scripts" in call


def test_pypi_takes_wheels_only(tmp_path, packages, monkeypatch):
    seen = {}

    def run(command, folder, stdout=subprocess.PIPE):
        seen["command"] = command
        subprocess.run(
            [sys.executable, "-m", "zipfile", "-c", "thing-1.0-py3-none-any.whl", __file__],
            cwd=folder,
            check=True,
        )

    monkeypatch.setattr(packages, "_run", run)
    name = os.path.basename(__file__)
    packages.member(Source.parse(f"pypi:thing==1.0#{name}"), tmp_path / "out")
    with open(__file__, "rb") as handle:
        assert (tmp_path / "out").read_bytes() == handle.read()
    assert seen["command"][:4] == [sys.executable, "-m", "pip", "download"]
    assert "--no-deps" in seen["command"]
    assert "--only-binary" in seen["command"]
    assert seen["command"][-1] == "thing==1.0"


def test_missing_clients_fall_through(tmp_path, packages, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    for text, program in (("npm:a@1.0", "npm"), ("debian:a", "apt-get"), ("pypi:a==1", "pip")):
        with pytest.raises(SourceFailed, match=f"{program} is not installed"):
            packages.member(Source.parse(f"{text}#x"), tmp_path / "out")


def test_failing_client_gives_its_last_line(tmp_path, programs, packages):
    programs(
        "npm", f"echo x >> {tmp_path}/calls; echo first >&2; echo 'no such package' >&2; exit 7"
    )
    for _ in range(2):  # the second time from memory
        with pytest.raises(SourceFailed, match=r"npm failed with status 7 \(no such package\)"):
            packages.member(Source.parse("npm:a@1.0#x"), tmp_path / "out")
    assert (tmp_path / "calls").read_text() == "x\n"


def test_hanging_client_is_ended_with_its_children(tmp_path, programs, wait_for):
    programs("npm", f"sleep 60 & echo $! > {tmp_path}/child; wait")
    clients = Packages(tmp_path, timeout=0.5, progress=nothing)
    started = time.monotonic()
    with pytest.raises(SourceFailed, match=r"npm did not finish within 0\.5 s"):
        clients.member(Source.parse("npm:a@1.0#x"), tmp_path / "out")
    clients.close()
    assert time.monotonic() - started < 5
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not _running(child))


def _running(pid):
    try:
        with open(f"/proc/{pid}/stat") as handle:
            return handle.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_client_that_leaves_no_file(tmp_path, programs, packages):
    programs("npm", "exit 0")
    with pytest.raises(SourceFailed, match="left 0 files"):
        packages.member(Source.parse("npm:a@1.0#x"), tmp_path / "out")


def test_missing_member_of_a_package(tmp_path, programs, packages):
    tar = archive(tmp_path / "a.tgz", "package/x", b"words", "w:gz")
    programs("npm", f"cp {tar} .")
    with pytest.raises(SourceFailed, match="has no member 'package/y'"):
        packages.member(Source.parse("npm:a@1.0#package/y"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_conversion_gets_its_inputs_and_failure_falls_through(
    tmp_path, programs, packages, monkeypatch
):
    tar = archive(tmp_path / "a.tgz", "package/x", b"words", "w:gz")
    programs("npm", f"cp {tar} .")

    def upper(target, *, text, times):
        target.write_bytes(text.read_bytes().upper() * times)

    def broken(target, *, text, times):
        raise ValueError("not words")

    monkeypatch.setitem(fetch.CONVERTERS, "upper", upper)
    monkeypatch.setitem(fetch.CONVERTERS, "broken", broken)
    source = {"inputs": {"text": "npm:a@1.0#package/x"}, "options": {"times": 2}}
    packages.convert(Source.parse({"convert": "upper", **source}), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"WORDSWORDS"
    with pytest.raises(SourceFailed, match=r"conversion broken failed \(not words\)"):
        packages.convert(Source.parse({"convert": "broken", **source}), tmp_path / "out2")
    assert not list(tmp_path.glob("out*.text"))


def test_closing_removes_every_temporary_file(tmp_path, programs):
    tar = archive(tmp_path / "a.tgz", "package/x", b"words", "w:gz")
    programs("npm", f"cp {tar} .")
    folder = tmp_path / "c"
    folder.mkdir()
    clients = Packages(folder, timeout=10, progress=nothing)
    clients.member(Source.parse("npm:a@1.0#package/x"), clients.scratch / "out")
    assert list(folder.iterdir()) == [clients.scratch]
    clients.close()
    assert list(folder.iterdir()) == []


# --- the lock -----------------------------------------------------------------------------------


def test_lock_gives_the_folder_and_clears_orphans(tmp_path):
    dead, of_another_host = (tmp_path / f".tmp-{name}-1" for name in (host_name(), "elsewhere"))
    for path in (dead, of_another_host):
        path.mkdir()
    (tmp_path / ".part-kept").touch()
    with exclusive(tmp_path, patience=1, notice=print) as work:
        assert work == tmp_path
        assert not dead.exists()
        assert of_another_host.exists()
        assert (tmp_path / ".part-kept").exists()


def test_second_holder_waits_then_works_apart(tmp_path):
    told = []
    with (
        exclusive(tmp_path, patience=1, notice=told.append) as one,
        exclusive(tmp_path, patience=0.3, notice=told.append) as two,
    ):
        assert one == tmp_path
        assert two.parent == tmp_path
        assert two.name.startswith(".private-")
        assert len(told) == 1
        assert "waiting" in told[0]
    assert not two.exists()
    with exclusive(tmp_path, patience=0, notice=told.append) as three:
        assert three == tmp_path


def test_two_hosts_share_neither_lock_nor_unfinished_files(tmp_path, monkeypatch):
    """flock on a network file system may hold within a host only."""
    ours = part_path(tmp_path, "http://a/x")
    with exclusive(tmp_path, patience=0, notice=print):
        monkeypatch.setattr(fetch, "host_name", lambda: "elsewhere")
        with exclusive(tmp_path, patience=0, notice=print) as work:
            assert work == tmp_path
            assert part_path(work, "http://a/x") != ours


def test_without_locks_everybody_works_apart(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fetch.fcntl, "flock", refuse)
    with exclusive(tmp_path, patience=9, notice=print) as one:
        assert one.parent == tmp_path
    monkeypatch.setattr(fetch, "fcntl", None)
    with exclusive(tmp_path, patience=9, notice=print) as two:
        assert two.parent == tmp_path
