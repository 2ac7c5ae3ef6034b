"""Content of plain, gzip and archived files, and its checksum."""

import gzip
import hashlib
import io
import subprocess
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback import gz, sha256

from leakmeter.datasets.content import (
    content_checksum,
    content_facts,
    extract_member,
    open_binary,
    open_text_or_gzip,
)
from leakmeter.runtime import UserError

TEXT = b"one\ttwo\r\nthree\n" * 1000


def tar(path, members, mode="w:gz"):
    """A tar archive; a member is bytes, or a TarInfo that is added as it is."""
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, str(target)
    return name, info


def read(path, member=None, **options):
    with open_binary(path, member, **options) as handle:
        return handle.read()


def test_plain_and_gzip_have_the_same_content_checksum(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gz(TEXT))
    assert content_checksum(plain) == content_checksum(packed) == sha256(TEXT)


def test_gzip_is_recognised_by_content_not_by_name(tmp_path):
    (tmp_path / "a.txt").write_bytes(gz(TEXT))
    (tmp_path / "b.gz").write_bytes(TEXT)
    assert read(tmp_path / "a.txt") == TEXT
    assert read(tmp_path / "b.gz") == TEXT


def test_two_gzip_members_in_a_row_are_one_content(tmp_path):
    (tmp_path / "a.gz").write_bytes(gz(b"abc") + gz(b"def"))
    assert content_checksum(tmp_path / "a.gz") == sha256(b"abcdef")


def test_checksum_ignores_how_it_was_compressed(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT, 1, mtime=1))
    (tmp_path / "b.gz").write_bytes(gzip.compress(TEXT, 9, mtime=2))
    assert content_checksum(tmp_path / "a.gz") == content_checksum(tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() != (tmp_path / "b.gz").read_bytes()


def test_tar_archives_are_hashed_as_they_are(tmp_path):
    for name in ("a.tgz", "a.tar.gz"):
        path = tar(tmp_path / name, [("x", TEXT)])
        assert content_checksum(path) == sha256(path.read_bytes())
        assert content_checksum(path, "x") == sha256(TEXT)


def test_other_algorithms(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gz(TEXT))
    assert content_checksum(path, algorithm="md5") == f"md5:{hashlib.md5(TEXT).hexdigest()}"
    printed = subprocess.run(
        ["git", "hash-object", "--no-filters", path], capture_output=True, text=True, check=True
    )
    got = content_checksum(path, algorithm="git-sha1", opaque=True)
    assert got == f"git-sha1:{printed.stdout.strip()}"
    with pytest.raises(ValueError, match="opaque"):
        content_checksum(path, algorithm="git-sha1")


def test_facts_in_one_pass_with_progress(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * (3 << 20))
    steps = []
    checksums, size = content_facts(path, algorithms=["md5", "sha256"], advance=steps.append)
    assert [text.partition(":")[0] for text in checksums] == ["md5", "sha256"]
    assert size == 3 << 20
    assert steps == [1 << 20, 2 << 20, 3 << 20]


@pytest.mark.parametrize("keep", [5, 30, -9, -4, -1])
def test_truncated_gzip_names_the_file(tmp_path, keep):
    path = tmp_path / "cut.gz"
    path.write_bytes(gz(TEXT)[:keep])
    with pytest.raises(UserError, match=r"cut\.gz: cut off or damaged"):
        content_checksum(path)


def test_damaged_gzip_names_the_file(tmp_path):
    content = bytearray(gz(TEXT))
    content[-6] ^= 1  # the stored CRC
    path = tmp_path / "bad.gz"
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=r"bad\.gz: cut off or damaged \(CRC"):
        content_checksum(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(UserError, match="absent: no such file"):
        content_checksum(tmp_path / "absent")
    with pytest.raises(UserError, match="cannot be read"):
        content_checksum(tmp_path)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_member_of_a_tar_archive(tmp_path, mode):
    path = tar(tmp_path / "a.any", [("other", b"no"), ("folder/x", TEXT)], mode)
    assert read(path, "folder/x") == TEXT


def test_member_of_a_zip_archive(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/x y.txt", TEXT)
        archive.writestr("packed.gz", gz(TEXT))
    assert read(path, "folder/x y.txt") == TEXT
    assert read(path, "packed.gz") == TEXT
    assert read(path, "packed.gz", raw=True) == gz(TEXT)
    with pytest.raises(UserError, match="has no member 'x'"):
        read(path, "x")


def test_leading_dot_of_member_names_does_not_matter(tmp_path):
    path = tar(tmp_path / "a.tar", [("./usr/share/x", TEXT)], "w")
    assert read(path, "usr/share/x") == TEXT


def test_missing_member(tmp_path):
    path = tar(tmp_path / "a.tgz", [("x", TEXT)])
    with pytest.raises(UserError, match=r"a\.tgz: has no member 'y'"):
        read(path, "y")


@pytest.mark.parametrize("member", ["/etc/passwd", "../x", "a/../../x", "a\\..\\x", ""])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_member_names_that_leave_the_archive_are_refused(tmp_path, kind, member):
    path = tmp_path / f"a.{kind}"
    if kind == "tar":
        tar(path, [(member or "x", TEXT)], "w")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member or "x", TEXT)
    with pytest.raises(UserError, match="is refused"):
        read(path, member)


@pytest.mark.parametrize("unsafe", ["/x", "../x", "a/../x"])
def test_unsafe_member_does_not_pass_for_the_safe_one(tmp_path, unsafe):
    # "/x" or "a/../x" must not be taken for the member "x"
    path = tar(tmp_path / "a.tar", [(unsafe, b"evil")], "w")
    with pytest.raises(UserError, match="has no member 'x'"):
        read(path, "x")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_and_special_members_of_tar_are_refused(tmp_path, kind):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    path = tar(tmp_path / "a.tgz", [link("x", secret, kind)])
    with pytest.raises(UserError, match="expected a regular file"):
        read(path, "x")


def test_symbolic_link_in_zip_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    info = zipfile.ZipInfo("x")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="expected a regular file"):
        read(path, "x")


def test_encrypted_zip_member_is_one_error(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", TEXT)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the encryption flag in the directory
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match="encrypted"):
        read(path, "x")


@pytest.mark.parametrize("keep", [100, 300, 0.5, 0.98])
def test_truncated_archives_name_the_file(tmp_path, keep):
    body = hashlib.shake_256(b"x").digest(50_000)  # does not compress: every cut hits it
    whole = tar(tmp_path / "whole.tgz", [("x", body)]).read_bytes()
    path = tmp_path / "cut.tgz"
    path.write_bytes(whole[: int(keep if keep > 1 else keep * len(whole))])
    with pytest.raises(UserError, match=r"cut\.tgz"):
        read(path, "x")
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr("x", body)
    cut = tmp_path / "cut.zip"
    cut.write_bytes((tmp_path / "whole.zip").read_bytes()[:-30])
    with pytest.raises(UserError, match=r"cut\.zip"):
        read(cut, "x")


def test_a_file_that_is_no_archive(tmp_path):
    path = tmp_path / "a.tgz"
    path.write_bytes(TEXT)
    with pytest.raises(UserError, match=r"a\.tgz"):
        read(path, "x")


def test_extract_is_atomic(tmp_path):
    body = hashlib.shake_256(b"y").digest(5_000_000)
    path = tar(tmp_path / "a.tgz", [("x", body)])
    extract_member(path, "x", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == body
    path.write_bytes(path.read_bytes()[:-2_000_000])
    with pytest.raises(UserError):
        extract_member(path, "x", tmp_path / "out2")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tgz", "out"]


def test_text_keeps_or_translates_line_ends(tmp_path):
    (tmp_path / "a.gz").write_bytes(gz("a\r\né\r\n".encode()))
    with open_text_or_gzip(tmp_path / "a.gz") as lines:
        assert list(lines) == ["a\n", "é\n"]
    with open_text_or_gzip(tmp_path / "a.gz", newline="") as lines:
        assert list(lines) == ["a\r\n", "é\r\n"]


def test_text_of_a_member_and_early_end(tmp_path):
    path = tar(tmp_path / "a.tgz", [("x", TEXT)])
    with open_text_or_gzip(path, "x") as lines:
        assert next(lines) == "one\ttwo\n"


def test_text_in_another_encoding_is_one_error(tmp_path):
    (tmp_path / "a").write_bytes(b"caf\xe9")
    with (
        pytest.raises(UserError, match="a: not utf-8 text"),
        open_text_or_gzip(tmp_path / "a") as t,
    ):
        t.read()
    with open_text_or_gzip(tmp_path / "a", encoding="latin-1") as text:
        assert text.read() == "café"


def test_cut_text_is_one_error_while_reading(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gz(hashlib.shake_256(b"z").hexdigest(200_000).encode())[:-5000])
    with pytest.raises(UserError, match=r"cut\.gz: cut off"), open_text_or_gzip(path) as text:
        for _ in iter(lambda: text.read(1000), ""):
            pass


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
@given(content=st.binary(max_size=5000), level=st.integers(0, 9))
def test_any_content_survives_compression(tmp_path, content, level):
    path = tmp_path / "any.gz"
    path.write_bytes(gzip.compress(content, level))
    assert read(path) == content
    assert content_checksum(path) == sha256(content)
