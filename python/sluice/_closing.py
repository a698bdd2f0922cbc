"""What `Dataset`, `Loader` and `sluice.pyg`'s loaders share: a `with` statement closes them."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type, TypeVar

__all__ = ["Closing"]

Self = TypeVar("Self", bound="Closing")


class Closing:
    """A context manager that ends with `close`."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()
