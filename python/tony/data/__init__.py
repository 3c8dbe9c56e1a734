"""A program's share of a data set's files, whoever else reads of them:

    from tony import data
    for batch in data.shard("hdfs:///logs/2026/*/*.parquet", columns=["x", "label"], where=[("label", ">=", 0)]).numpy():
        train(batch["x"], batch["label"])

docs/data.md is the guide.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from tony._errors import DataError
from tony.data._dataset import Dataset, make_options
from tony.data._paths import Paths

__all__ = ["DataError", "Dataset", "shard"]


def shard(paths: Paths, *, name: Optional[str] = None, format: Optional[str] = None, mode: str = "static",
          columns: Optional[Sequence[str]] = None, where: Any = None, batch_size: int = 1024, passes: int = 1, shuffle: bool = False,
          seed: int = 0, prefetch: int = 2, memory: Union[int, str] = "256m", rank: Optional[int] = None, size: Optional[int] = None,
          epoch: Optional[int] = None) -> Dataset:
    """The share of this task of files: of paths, globs and directories, here, on HDFS, in S3 or at a web server.

    paths: one or several; files and directories in directories that begin with _ or . do not count
    name: of the data set in the job, with mode="dynamic"; None: of the path
    format: "avro", "parquet", "orc", "jsonl", "text" or "tfrecord"; None: by the endings of files
    mode: "static": by rank and size, without a word to anybody; "dynamic": from a queue that the application master has
    columns: which of them; None: all
    where: which records: [("x", ">", 3), ("y", "in", [1, 2])], all of which hold, or a list of such lists, one of which does
    batch_size: records of a batch
    passes: how often all is read
    shuffle: units in another order for each pass, and records within what is read at once; by `seed`
    prefetch: threads that read ahead; 0: none
    memory: how much may wait in them
    rank, size: which share of how many; None: as the task has it, and all of it outside of a task
    epoch: the number of the first pass, by which its order goes
    """
    return Dataset(make_options(paths, name, format, mode, columns, where, batch_size, passes, shuffle, seed, prefetch, memory, rank, size,
                                epoch))
