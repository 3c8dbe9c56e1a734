"""Predicates: a list of ("column", "operator", value) that all must hold, or a list of such lists, one of which must."""

from __future__ import annotations

import operator
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Tuple

from tony._errors import BadSubmission
from tony.data._needs import need

Condition = Tuple[str, str, Any]

_TESTS: Dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda value, several: value in several, "not in": lambda value, several: value not in several,
}


def _is_condition(text: Any) -> bool:
    """A list of JSON is as good as a tuple."""
    return isinstance(text, (tuple, list)) and len(text) == 3 and isinstance(text[0], str)


def _check(condition: Any) -> Condition:
    if not _is_condition(condition):
        raise BadSubmission(f'where: {condition!r} is no condition; write ("column", "<", 3)')
    name, sign, value = condition
    if sign not in _TESTS:
        raise BadSubmission(f"where: {condition!r}: there is no operator {sign!r}; it is one of {', '.join(_TESTS)}")
    if sign in ("in", "not in"):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise BadSubmission(f"where: {condition!r}: {sign} needs a list of values")
        value = [each for each in value if each is not None]  # a record without a value fits none
    elif value is None:
        raise BadSubmission(f"where: {condition!r}: a record without a value fits no condition; compare with a value")
    return name, sign, value


def _holds(condition: Condition, value: Any) -> bool:
    """A record without a value fits none, as in SQL."""
    name, sign, other = condition
    if value is None:
        return False
    try:
        return bool(_TESTS[sign](value, other))
    except TypeError:
        raise BadSubmission(f"where: {name} is {value!r} in a record, which cannot be compared with {other!r}") from None


def _holds_of_directory(condition: Condition, value: Any) -> bool:
    """The values of a column of directories have one type, so a value of another type is a mistake, also for "="."""
    name, sign, other = condition
    for each in other if sign in ("in", "not in") else [other]:
        if value is not None and each is not None and isinstance(value, str) != isinstance(each, str):
            raise BadSubmission(f"where: {name} is {value!r} in the name of a directory, which cannot be compared with {each!r}")
    return _holds(condition, value)


class Where:
    """At least one of `clauses` holds, each of which has conditions that all hold."""

    def __init__(self, clauses: List[List[Condition]]) -> None:
        self.clauses = clauses
        self.columns = list(dict.fromkeys(condition[0] for clause in clauses for condition in clause))

    @staticmethod
    def of(where: Any) -> Optional[Where]:
        """As users write it."""
        if where is None:
            return None
        if _is_condition(where):
            where = [where]
        if not isinstance(where, list) or not where:
            raise BadSubmission(f'where: {where!r} is no list of conditions; write [("column", "<", 3)]')
        clauses = where if isinstance(where[0], list) and not _is_condition(where[0]) else [where]
        if not all(isinstance(clause, list) and clause and not _is_condition(clause) for clause in clauses):
            raise BadSubmission(f"where: {where!r} mixes conditions and lists of them")
        return Where([[_check(condition) for condition in clause] for clause in clauses])

    def fits(self, record: Mapping[str, Any]) -> bool:
        return any(all(_holds(condition, record.get(condition[0])) for condition in clause) for clause in self.clauses)

    def given(self, values: Mapping[str, Any]) -> Optional[Where]:
        """The rest of it where these columns are known: None if it holds already, without a clause if it cannot hold."""
        rest = []
        for clause in self.clauses:
            if all(_holds_of_directory(condition, values[condition[0]]) for condition in clause if condition[0] in values):
                left = [condition for condition in clause if condition[0] not in values]
                if not left:
                    return None
                rest.append(left)
        return Where(rest)

    def for_statistics(self, floats: Collection[str]) -> Optional[Where]:
        """The conditions that statistics of many records can refute: these say nothing of NaN. None: there are none."""
        clauses = [[each for each in clause if each[0] not in floats or each[1] not in ("!=", "not in")] for clause in self.clauses]
        return Where(clauses) if all(clauses) else None

    def expression(self) -> Any:
        """For pyarrow."""
        pc = need("where=", "pyarrow.compute")

        def one(name: str, sign: str, value: Any) -> Any:
            field = pc.field(name)
            if sign in ("in", "not in"):
                found = field.isin(value) if value else pc.scalar(False)  # an empty list has no type of its own
                return found if sign == "in" else field.is_valid() & ~found
            return _TESTS[sign](field, value)

        def joined(parts: List[Any], join: Callable[[Any, Any], Any]) -> Any:
            whole = parts[0]
            for part in parts[1:]:
                whole = join(whole, part)
            return whole

        return joined([joined([one(*condition) for condition in clause], operator.and_) for clause in self.clauses], operator.or_)
