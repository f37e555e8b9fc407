"""The one way in which files are written: whole or not at all, and never over one that is needed.

What is written goes to a file that was not there before, of a random name in the same directory,
and takes the place of the target in one step at the end. So no link leads it elsewhere, no file of
somebody else is in the way, and a stop at any moment leaves what was there.
"""

import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from steinquad.errors import InputError

__all__ = ["check_output", "create", "replaced"]

LONGEST_STEM = 40  # characters of the target's name in that of the unfinished file


def check_output(
    target: Path,
    name: str = "target",
    *,
    endings: Sequence[str] = (),
    needed: Mapping[Path, str] | None = None,
) -> None:
    """Complain of a file that cannot be written, before the work that it is to hold.

    A file is made beside it for a moment, since permissions alone do not tell.

    Args:
        target: the file to be written, which may be there.
        name: of the argument, for the message.
        endings: of which it needs one, in lower case with the dot; none for any.
        needed: files that must not be overwritten, with what they are, such as `the store`.

    Raises:
        InputError: it is one of those, by whatever link or spelling, or cannot be written.
    """
    try:
        _check_target(target, name, needed or {})
        if endings and target.suffix.lower() not in endings:
            raise _refused(target, name, "another ending", endings)
        _new_beside(target).unlink()
    except OSError as error:
        raise _refused(target, name, error.strerror or str(error), endings) from None


@contextmanager
def replaced(
    target: Path, name: str = "target", *, needed: Mapping[Path, str] | None = None
) -> Iterator[Path]:
    """A file to write to, which takes the place of the target once it is whole, on the disk.

    It has the ending of the target, and its permissions if that is there. Whatever goes wrong in
    the block leaves what was there, and an `OSError` is an `InputError` with its reason.

    Args:
        target: see `check_output`, as for the others; a link is replaced, not what it leads to.
        name: of the argument.
        needed: files that must not be overwritten.
    """
    partial = None
    try:
        _check_target(target, name, needed or {})
        partial = _new_beside(target)
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file)  # a crash of the machine must not leave an empty file of that name
        _check_target(target, name, needed or {})  # it may have become one meanwhile
        if target.exists():
            partial.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(partial, target)
    except OSError as error:
        raise _refused(target, name, error.strerror or str(error)) from None
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def create(path: Path, text: str) -> None:
    """Write a file that is not there; raises `FileExistsError`, a link that leads nowhere too.

    Args:
        path: of the file; its directory has to be there.
        text: the content, in UTF-8.
    """
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _new_beside(target: Path) -> Path:
    """An empty file that nobody else has, with the permissions of any new file."""
    place = f".{target.stem[:LONGEST_STEM]}.{secrets.token_hex(8)}.part{target.suffix}"
    new = target.with_name(place)
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return new


def _check_target(target: Path, name: str, needed: Mapping[Path, str]) -> None:
    if "\x00" in str(target):
        raise InputError(f"{name} {str(target)!r} has a null character; give another file.")
    for path, what in needed.items():
        if _same(target, path):
            raise InputError(f"{name} {target} is {what}; give another file.")
    if target.exists() and not target.is_file():
        raise _refused(target, name, f"it is {'a directory' if target.is_dir() else 'no file'}")


def _same(target: Path, path: Path) -> bool:
    """Whether two paths are one file, or would be on a disk that ignores case."""
    try:
        there = path.exists()
    except OSError:  # too long for a name, say: an argument of a command that is no path
        return False
    if there:
        return target.exists() and target.samefile(path)  # links of both kinds
    return _folded(target) == _folded(path)  # not there yet, or not any more


def _folded(path: Path) -> str:
    return unicodedata.normalize("NFC", os.path.realpath(path)).casefold()


def _refused(target: Path, name: str, reason: str, endings: Sequence[str] = ()) -> InputError:
    kind = f" ending in {', '.join(endings)}" if endings else ""
    return InputError(
        f"{name} {target} cannot be written ({reason}); give a file{kind} in a directory."
    )
