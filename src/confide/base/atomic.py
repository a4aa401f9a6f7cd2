"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a binary file to write to, which replaces ``path`` once all of it is on the disk.

    A reader of ``path`` sees the old content or the new, never a part: the bytes go to a temporary file in the same
    directory, which is renamed at the end. If the block or the disk fails, the temporary file is removed and the old
    content stays; the system's error names ``path``. A link is followed, and an existing file keeps its permissions.
    Anything but a regular file, such as a pipe, is written to directly.

    Examples
    --------
    >>> with atomic_write("intervals.csv") as file:  # doctest: +SKIP
    ...     file.write(b"lower,upper")
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a file cannot take the place of a directory", str(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    in_place = target.exists() and not target.is_file()
    try:
        with target.open("wb") if in_place else _renamed(temporary, target) as file:
            yield file
    except OSError as error:
        if error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise


@contextmanager
def _renamed(temporary: Path, target: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces the target at the end, or is removed if the block fails."""
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        with temporary.open("xb") as file:
            if mode is not None:
                temporary.chmod(mode)
            yield file
        _sync(temporary, os.O_RDWR)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a directory cannot be opened
        _sync(target.parent, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot do this for a directory; the file itself is complete by then.
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)
