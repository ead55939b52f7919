"""Makes classes of annotated fields, like `dataclasses`, which is too slow to load for the start of a worker."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, dataclass_transform
else:

    def dataclass_transform() -> Callable[[type], type]:
        """Stands for the one of `typing`, which tells the type checker about the fields."""
        return lambda cls: cls


@dataclass_transform()
class Record:
    """A class whose fields are its annotations, given in their order or by name; an assigned value is a default.

    All records share a default, so it must not be changed.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *(name for name in cls.__annotations__ if name not in cls._fields))
        cls._names = frozenset(cls._fields)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))

    def __init__(self, *values: object, **named: object) -> None:
        fields = self.__dict__
        fields.update(zip(self._fields, values))  # noqa: B905 (too many values are found below)
        fields.update(named)
        if not self._required <= fields.keys() <= self._names or len(fields) < len(values) + len(named):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}, not {fields}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Completes fields that follow from others."""
