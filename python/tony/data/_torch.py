"""A data set of PyTorch's. In workers of a DataLoader each reads a part of its rank's share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator

from torch.utils.data import IterableDataset

from tony.data._batches import to_torch

if TYPE_CHECKING:
    from tony.data._dataset import Dataset


class TorchDataset(IterableDataset):
    def __init__(self, source: Dataset, is_of_records: bool) -> None:
        super().__init__()
        self.source = source
        self.is_of_records = is_of_records

    def __iter__(self) -> Iterator[Any]:
        if self.is_of_records:
            yield from self.source.records()
        else:
            for rows in self.source.batches():
                yield to_torch(rows)

    def state_dict(self) -> Dict[str, Any]:
        """For torchdata's StatefulDataLoader, which keeps one for each worker."""
        return self.source.state()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.source.resume(state)
