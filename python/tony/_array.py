"""Jobs that were submitted together."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence, TypeVar, Union, overload

J = TypeVar("J")


class ArrayOf(Sequence[J]):
    """Their handles, in the order of their numbers."""

    def __init__(self, answer: Mapping[str, Any], handle: Callable[[str], J]) -> None:
        """`answer`: that of `tony submit --array`."""
        self.id: str = answer["array"]
        self._jobs = tuple(handle(job["id"]) for job in answer["jobs"])

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Array {self.id} of {len(self)}>".replace("tony._job", "tony")

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, index: int) -> J: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[J]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[J, Sequence[J]]:
        return self._jobs[index]
