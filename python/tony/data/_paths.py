"""From what a user names to files: globs, directories as Spark and Hive write them, and file systems of fsspec."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union
from urllib.parse import unquote

from tony._errors import BadSubmission, DataError, NotFound
from tony.data._needs import missing, need

Value = Union[int, str, None]
Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

_MAGIC = re.compile(r"[*?\[]")
_BRACES = re.compile(r"^(.*?)\{([^{}]*)\}(.*)$")
_KEY = re.compile(r"^([^=/]+)=([^/]*)$")
_NUMBER = re.compile(r"^-?0*[0-9]{1,18}$")
_NULL = "__HIVE_DEFAULT_PARTITION__"
UNKNOWN_BYTES = 1 << 20  # a server of HTTP need not tell; so a file counts, that one task reads to its end


class File(NamedTuple):
    path: str  # a URL, or a path of this machine
    length: int
    values: Tuple[Tuple[str, Value], ...]  # of the columns that its directories name
    numbers: Tuple[str, ...] = ()  # those of them that are numbers in all files, where they have one
    is_stream: bool = False  # its server has not told its length, or does not give parts of it


def _mapped(url: str) -> str:
    """HDFS, in a task of tony's, comes through its executor; elsewhere fsspec goes there by itself."""
    return f"tony+{url}" if url.startswith("hdfs://") and os.environ.get("TONY_FILES") else url


def file_system(url: str) -> Tuple[Any, str]:
    """The file system, and the path in it."""
    fsspec = need("tony.data", "fsspec")
    mapped = _mapped(url)
    if mapped.startswith("tony+hdfs://"):
        need("tony.data", "tony._files").register()  # where pip has not installed the package nobody has told fsspec of it
    try:
        found: Tuple[Any, str] = fsspec.core.url_to_fs(mapped)
    except ImportError as error:
        scheme = url.partition("://")[0]
        modules = {"s3": "s3fs", "s3a": "s3fs", "http": "aiohttp", "https": "aiohttp"}
        raise missing(url, modules.get(scheme, error.name or scheme)) from error
    except ValueError as error:
        raise BadSubmission(f"{url}: {error}") from None
    return found


def _name(fs: Any, url: str, path: str) -> str:
    """As a user would write it. A relative path stays one: a checkpoint may be read in another container, with a directory of its own."""
    if "://" not in url:
        here = os.getcwd() + "/"
        return path[len(here):] if path.startswith(here) and not os.path.isabs(url) else path
    name: str = fs.unstrip_protocol(path)
    return name[len("tony+"):] if name.startswith("tony+") and not url.startswith("tony+") else name


def _spread(pattern: str) -> List[str]:
    """a{b,c}: Hadoop's globs have that, fsspec's do not."""
    found = _BRACES.match(pattern)
    if not found:
        return [pattern]
    before, choices, after = found.groups()
    return [one for choice in choices.split(",") for one in _spread(f"{before}{choice}{after}")]


def _is_hidden(path: str, base: str) -> bool:
    """As Hadoop has it: _SUCCESS, _temporary/, .part-0.crc."""
    below = path[len(base):].strip("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in below.split("/") if part)


def _below(fs: Any, base: str, found: Dict[str, Any]) -> Dict[str, Any]:
    """Files, in the place of directories."""
    files: Dict[str, Any] = {}
    for path, info in found.items():
        if _is_hidden(path, base):
            continue
        if info["type"] == "directory":
            below = fs.find(path, detail=True)
            files.update({name: row for name, row in below.items() if row["type"] != "directory" and not _is_hidden(name, base)})
        else:
            files[path] = info
    return files


def _list(url: str) -> List[Tuple[str, int, bool]]:
    """(path, length, is_stream) of each file that is meant."""
    fs, path = file_system(url)
    magic = None if url.startswith(("http://", "https://")) else _MAGIC.search(path)  # ? and * are parts of an address
    if magic:
        found, base = fs.glob(path, detail=True), path[:magic.start()].rpartition("/")[0]
    else:
        try:
            found, base = {path: fs.info(path)}, path
        except FileNotFoundError as error:
            cause = error.__cause__  # of a web server: what it answered, or why nobody did
            if cause is None or getattr(cause, "status", None) == 404:
                raise NotFound(f"{url}: there is no such file or directory") from None
            raise DataError(f"{url}: {cause}") from None
    files = _below(fs, base, found)
    if not files:
        raise NotFound(f"{url}: there are no files; those that begin with _ or . do not count")
    return [(_name(fs, url, name), UNKNOWN_BYTES if row["size"] is None else int(row["size"]),
             row["size"] is None or not row.get("partial", True)) for name, row in files.items()]


def _keys(path: str) -> Dict[str, Optional[str]]:
    """year=2026/month=11: what Spark and Hive keep in names of directories instead of in files."""
    found = [_KEY.match(part) for part in path.split("/")[:-1]]
    pairs = [(unquote(each.group(1)), unquote(each.group(2))) for each in found if each]
    return {key: None if value == _NULL else value for key, value in pairs}


def _typed(keys: List[Dict[str, Optional[str]]]) -> List[Tuple[Tuple[Tuple[str, Value], ...], Tuple[str, ...]]]:
    """The values, and which columns are of numbers: where all values are."""
    texts = {(key, value) for row in keys for key, value in row.items() if value is not None}
    others = {key for key, value in texts if not _NUMBER.match(value)}

    def value_of(key: str, value: Optional[str]) -> Value:
        return value if value is None or key in others else int(value)

    numbers = {key for key, _ in texts} - others
    return [(tuple((key, value_of(key, value)) for key, value in row.items()), tuple(key for key in row if key in numbers)) for row in keys]


def _place(path: str) -> str:
    """The same for all names of a file."""
    path = path[len("file://"):] if path.startswith("file://") else path
    return path if "://" in path else os.path.abspath(path)


def find_files(paths: Paths) -> List[File]:
    """All files that are meant, in the order of their names; those without a byte are left out."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise BadSubmission("tony.data.shard: no path was given")
    for each in several:
        if not isinstance(each, (str, os.PathLike)) or not os.fspath(each):
            raise BadSubmission(f"tony.data.shard: {each!r} is no path")
    patterns = [one for each in several for one in _spread(os.fspath(each))]
    named = sorted(row for pattern in patterns for row in _list(pattern))
    found = sorted({_place(row[0]): row for row in named}.values())
    typed = _typed([_keys(path) for path, _, _ in found])
    return [File(path, length, *columns, is_stream) for (path, length, is_stream), columns in zip(found, typed) if length > 0]
