"""tony+hdfs://, the job's HDFS as a file system of fsspec's: pandas, pyarrow, Dask, Ray and others read it by its URLs, in a task of
tony's. Reading is all there is: a program writes its results to TONY_OUTPUT_DIR."""

from __future__ import annotations

import datetime
from typing import Any, Dict, List, NoReturn, Optional

import fsspec
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from tony import _hdfs

SCHEME = "tony+hdfs"
_BLOCK_BYTES = 16 << 20  # a question costs some ms


def _url(path: str) -> str:
    """Of "/data/x", in the default file system, and of "nameservice/data/x"."""
    return f"hdfs://{path}" if "/" in path else f"hdfs://{path}/"


def _describe(found: Dict[str, Any]) -> Dict[str, Any]:
    return {"name": HdfsFileSystem._strip_protocol(found["path"]), "size": found["length"],
            "type": "directory" if found["directory"] else "file", "modified_ms": found["modified_ms"]}


class HdfsFile(AbstractBufferedFile):
    """A file that is read, through one of fsspec's caches."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        return _hdfs.read(_url(self.path), start, end - start)


class HdfsFileSystem(AbstractFileSystem):
    """tony+hdfs:///data/x is in the default file system, tony+hdfs://nameservice/data/x in another one of the job's.

    `block_size` and `cache_type` are those of all its files, unless open() says otherwise.
    """

    protocol = SCHEME

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text: str = fsspec.utils.stringify_path(path)
        for scheme in (f"{SCHEME}://", "hdfs://"):
            if text.startswith(scheme):
                text = text[len(scheme):]
        return text.rstrip("/") or "/"

    @classmethod
    def _parent(cls, path: str) -> str:
        return cls._strip_protocol(path).rpartition("/")[0] or "/"

    def info(self, path: str, **_: Any) -> Dict[str, Any]:
        return _describe(_hdfs.stat(_url(self._strip_protocol(path))))

    def ls(self, path: str, detail: bool = True, **_: Any) -> List[Any]:
        found = [_describe(row) for row in _hdfs.list_files(_url(self._strip_protocol(path)))]
        return found if detail else [row["name"] for row in found]

    def find(self, path: str, maxdepth: Optional[int] = None, withdirs: bool = False, detail: bool = False, **others: Any) -> Any:
        """All of a tree by one question."""
        if maxdepth is not None:
            return super().find(path, maxdepth, withdirs, detail, **others)
        try:
            found = [_describe(row) for row in _hdfs.list_files(_url(self._strip_protocol(path)), recursive=True)]
        except FileNotFoundError:
            found = []
        rows = {row["name"]: row for row in found if withdirs or row["type"] == "file"}
        return dict(sorted(rows.items())) if detail else sorted(rows)

    def cat_file(self, path: str, start: Optional[int] = None, end: Optional[int] = None, **_: Any) -> bytes:
        path = self._strip_protocol(path)
        if start is None or start < 0 or end is None or end < 0:
            start, end, _step = slice(start, end).indices(self.info(path)["size"])
        return _hdfs.read(_url(path), start, end - start) if end > start else b""

    def modified(self, path: str) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.info(path)["modified_ms"] / 1000, datetime.timezone.utc)

    def blocks(self, path: str) -> List[Dict[str, Any]]:
        """Where the parts of a file are: {"offset", "length", "hosts"} of each."""
        return _hdfs.blocks(_url(self._strip_protocol(path)))

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, autocommit: bool = True,
              cache_options: Optional[Dict[str, Any]] = None, **others: Any) -> HdfsFile:
        if mode != "rb":
            self._refuse()
        options = {"block_size": _BLOCK_BYTES, "cache_type": "readahead", **self.storage_options, **others}
        size = block_size if isinstance(block_size, int) else options["block_size"]
        return HdfsFile(self, path, mode, size, autocommit, cache_type=options["cache_type"], cache_options=cache_options)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{SCHEME}:// only reads: write to TONY_OUTPUT_DIR, which tony stores (tony.application.output-dir)")

    mkdir = makedirs = rmdir = cp_file = _rm = _refuse


def register() -> None:
    """Does what the entry point of the installed package does, for a package that is shipped."""
    fsspec.register_implementation(SCHEME, HdfsFileSystem, clobber=True)
