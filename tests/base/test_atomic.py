"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys

import pytest

from confide.base.atomic import atomic_write


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_holds_what_was_written(tmp_path):
    with atomic_write(tmp_path / "new.csv") as file:
        file.write(b"a,b\n")
        assert not (tmp_path / "new.csv").exists()
    assert (tmp_path / "new.csv").read_bytes() == b"a,b\n"
    assert names(tmp_path) == ["new.csv"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_in_the_block_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "old.csv"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_write(str(path)) as file:  # noqa: PT012  (what was written is the point)
        file.write(b"new, but not all of it")
        file.flush()
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["old.csv"]


def test_a_process_that_dies_in_the_middle_leaves_the_old_file(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"old")
    code = f"""
import os
from confide.base.atomic import atomic_write
with atomic_write({str(path)!r}) as file:
    file.write(b"new")
    file.flush()
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert path.read_bytes() == b"old"


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_is_full_when_syncing_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), atomic_write(tmp_path / "new.csv") as file:
        file.write(b"new")
    assert names(tmp_path) == []


def test_a_disk_that_is_full_when_the_last_bytes_are_written_leaves_nothing(tmp_path):
    """The bytes wait in a buffer until the file is closed: the error comes after the block."""
    code = f"""
import resource, signal
from confide.base.atomic import atomic_write
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    with atomic_write({str(tmp_path / "new.csv")!r}) as file:
        file.write(b"x" * 1000)
        print("written")
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["written", "File too large"]
    assert names(tmp_path) == []


def test_data_and_then_the_name_reach_the_disk(tmp_path, monkeypatch):
    """The content is synced while it has its temporary name, the directory once it has the final one."""
    seen = []
    fsync = os.fsync

    def watch(descriptor):
        seen.append((os.path.isdir(f"/proc/self/fd/{descriptor}"), names(tmp_path) == ["new.csv"]))  # noqa: PTH112
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    with atomic_write(tmp_path / "new.csv") as file:
        file.write(b"new")
    assert seen == [(False, False), (True, True)]


def test_a_directory_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse(descriptor):
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    with atomic_write(tmp_path / "new.csv") as file:
        file.write(b"new")
    assert (tmp_path / "new.csv").read_bytes() == b"new"


def test_a_block_may_close_the_file(tmp_path):
    with atomic_write(tmp_path / "new.csv") as file:
        file.write(b"new")
        file.close()
    assert (tmp_path / "new.csv").read_bytes() == b"new"


def test_a_link_is_followed_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_write(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_directory_is_refused_and_a_device_is_written_to(tmp_path):
    with pytest.raises(IsADirectoryError, match="directory"), atomic_write(tmp_path):
        pass
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "nowhere" / "new.csv"):
        pass
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert names(tmp_path) == ["pipe"]


def test_the_systems_errors_name_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, atomic_write(tmp_path / "out.csv"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(tmp_path / "out.csv")
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "nowhere" / "out.csv"):
        pass
    assert caught.value.filename == str(tmp_path / "nowhere" / "out.csv")
