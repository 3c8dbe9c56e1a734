"""Pictures of a job: HTML for a notebook, which holds them in its file, and lines for everything else."""

from __future__ import annotations

import collections
import html
import math
import sys
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Protocol, Sequence, Tuple

from tony._model import Cause, LogLine, Metrics, Point, Status, Task

_ROWS = 20  # of the table
_CHARTS, _CURVES, _POINTS = 6, 8, 200
_WIDTH, _HEIGHT = 280, 110
# Of tasks, in this order; told apart by those who see no red or no green, on light and dark grounds.
_COLOURS = ("#1f77b4", "#e08214", "#5e9e3f", "#b2549b", "#8c6d46", "#2aa5a0", "#c44e52", "#7f7f7f")
_DOTS = {"running": "#2e8b57", "succeeded": "#2e8b57", "failed": "#c44e52", "lost": "#c44e52", "killed": "#c44e52"}


@dataclass(frozen=True)
class Picture:
    """A job at one moment."""

    status: Status
    lines: Sequence[LogLine]  # the last ones
    seen: int  # how many there were
    metrics: Metrics
    trouble: Optional[str]  # why this is not how it is now


class View(Protocol):
    def show(self, picture: Optional[Picture]) -> None: ...

    def say(self, text: str) -> None: ...


# ---- words


def headline(status: Status) -> str:
    done = "" if status.done is None else f", {int(status.done * 100)}% done"
    end = f": {status.message}" if status.ended and status.message and not status.succeeded else ""
    return f"{status.name} ({status.id}) {status.state}{done}{end}"


def _cause(cause: Optional[Cause]) -> str:
    return "" if not cause else cause.text if not cause.headline or cause.headline in cause.text else f"{cause.text}: {cause.headline}"


def _memory(size: Optional[int]) -> str:
    return "" if size is None else f"{size / 2 ** 20:.0f} MiB" if size < 2 ** 30 else f"{size / 2 ** 30:.1f} GiB"


def _use(task: Task) -> str:
    """Of cores and memory: now, or over all."""
    now, over = task.raw.get("use") or {}, task.raw.get("used") or {}
    cpu, memory = now.get("cpu_percent"), now.get("memory_bytes", over.get("max_pss_bytes", over.get("max_rss_bytes")))
    return ", ".join(filter(None, ["" if cpu is None else f"{cpu:.0f}% CPU", _memory(memory)]))


HEADS = ("Task", "State", "Node", "Step", "Use", "Last failure")


def rows(tasks: Sequence[Task]) -> List[Tuple[str, ...]]:
    return [(task.name, task.state, task.host or "", "" if task.step is None else str(task.step), _use(task), _cause(task.cause))
            for task in tasks[:_ROWS]]


def _rest(tasks: Sequence[Task]) -> str:
    """The tasks that find no room in the table, in words."""
    counts = collections.Counter((task.type, task.state) for task in tasks[_ROWS:])
    return ", ".join(f"{number} more {kind} {state}" for (kind, state), number in counts.items())


def _prefix(line: LogLine, status: Status) -> str:
    where = line.task or "am"
    return f"{where} " if len(status.tasks) > 1 else ""


def as_text(picture: Picture) -> str:
    table = [HEADS, *rows(picture.status.tasks)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))]
    text = [headline(picture.status), *("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table)]
    text += filter(None, [_rest(picture.status.tasks), picture.trouble and f"not up to date: {picture.trouble}"])
    return "\n".join([*text, *(_prefix(line, picture.status) + line.text for line in picture.lines)])


# ---- curves


def curves(metrics: Sequence[Point]) -> Dict[str, Dict[str, List[Point]]]:
    """Of the numbers that programs told: by name, and by task; those of several runs of one program apart. NaN is among them."""
    found: Dict[str, Dict[str, List[Point]]] = {}
    for point in metrics:
        if point.told and point.value is not None and point.name != "step":
            found.setdefault(point.name, {}).setdefault(f"{point.task} {point.run}".strip(), []).append(point)
    return {name: dict(list(found[name].items())[:_CURVES]) for name in sorted(found)[:_CHARTS]}


def _known(points: Sequence[Point]) -> List[Point]:
    return [point for point in points if math.isfinite(_value(point))]


def _least(point: Point) -> float:
    return _value(point) if point.least is None else point.least


def _most(point: Point) -> float:
    return _value(point) if point.most is None else point.most


def _lines(points: Sequence[Point]) -> List[List[Point]]:
    """A curve without its NaN."""
    lines: List[List[Point]] = [[]]
    for point in points:
        if math.isfinite(_value(point)):
            lines[-1].append(point)
        elif lines[-1]:
            lines.append([])
    return [line for line in lines if line]


def _thin(points: List[Point]) -> List[Point]:
    """Extremes of equal parts, so that no peak is lost."""
    size = max(1, math.ceil(2 * len(points) / _POINTS))
    kept: List[Point] = []
    for first in range(0, len(points), size):
        part = points[first:first + size]
        low, high = min(part, key=_least), max(part, key=_most)
        ends = [replace(low, value=_least(low)), replace(high, value=_most(high))]
        kept += sorted(ends if ends[0] != ends[1] else ends[:1], key=_place)
    return kept


def _value(point: Point) -> float:
    return point.value or 0.0


def _last(points: List[Point]) -> str:
    """The newest number, or since when it is none."""
    if math.isfinite(_value(points[-1])):
        return _number(_value(points[-1]))
    known = [place for place, point in enumerate(points) if math.isfinite(_value(point))]
    since = points[known[-1] + 1 if known else 0]
    return "NaN" if since.step is None else f"NaN since step {since.step}"


def _place(point: Point) -> float:
    return point.time if point.step is None else point.step


def _number(value: float) -> str:
    return f"{value:.4g}"


def _chart(name: str, series: Dict[str, List[Point]], colours: Dict[str, str]) -> str:
    """An SVG image. Its axis is the step, or time where a program tells none."""
    every = [point for points in series.values() for point in points]
    known = _known(every)
    has_steps = all(point.step is not None for point in every)
    left, right = (choose(_place(p) if has_steps else p.time for p in every) for choose in (min, max))
    low, high = min(map(_least, known), default=0.0), max(map(_most, known), default=0.0)
    across, up = (right - left) or 1.0, (high - low) or 1.0

    def at(point: Point) -> str:
        place = _place(point) if has_steps else point.time
        return f"{4 + (place - left) / across * (_WIDTH - 8):.1f},{_HEIGHT - 4 - (_value(point) - low) / up * (_HEIGHT - 8):.1f}"

    lines = ""
    for task, points in series.items():
        drawn = _lines(points)
        for line in drawn:
            lines += (f'<polyline fill="none" stroke="{colours[task]}" stroke-width="1.5" stroke-linecap="round" '
                      f'points="{" ".join(map(at, _thin(line) * (2 if len(line) == 1 else 1)))}"/>')
        if drawn:
            x, y = at(drawn[-1][-1]).split(",")
            lines += f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colours[task]}"/>'
    last = ", ".join(sorted({_last(points) for points in series.values()})[:2])
    reach = f"step {left:.0f} to {right:.0f}" if has_steps else f"{across:.0f} s"
    return (f'<figure style="display:inline-block;margin:4px 12px 4px 0"><figcaption><b>{html.escape(name)}</b> {last}</figcaption>'
            f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{html.escape(name)}: {last}" '
            f'style="border:1px solid rgba(127,127,127,.4)">{lines}</svg>'
            f'<div style="opacity:.7;font-size:85%">{_number(low)} to {_number(high)}, {reach}</div></figure>')


def _charts(metrics: Sequence[Point]) -> str:
    found = curves(metrics)
    tasks = list(dict.fromkeys(task for series in found.values() for task in series))
    colours = {task: _COLOURS[number % len(_COLOURS)] for number, task in enumerate(tasks)}
    keys = " ".join(f'<span style="white-space:nowrap"><span style="color:{colours[task]}">&#9644;</span> {html.escape(task)}</span>'
                    for task in tasks) if len(tasks) > 1 else ""
    return "".join(_chart(name, series, colours) for name, series in found.items()) + (f"<div>{keys}</div>" if keys else "")


# ---- HTML


def _row(cells: Sequence[str]) -> str:
    dot = f'<span style="color:{_DOTS.get(cells[1], "#7f7f7f")}">&#9679;</span> '
    return "<tr>" + "".join(f'<td style="text-align:left">{dot if column == 1 else ""}{html.escape(cell)}</td>'
                            for column, cell in enumerate(cells)) + "</tr>"


def _log(picture: Picture) -> str:
    """Its end is in view: the box begins at the bottom."""
    if not picture.lines:
        return ""
    left_out = picture.seen - len(picture.lines)
    more = [f"({left_out} lines before these: tony logs {picture.status.id})"] if left_out > 0 else []
    text = "\n".join([*more, *(_prefix(line, picture.status) + line.text for line in picture.lines)])
    return ('<div style="max-height:22em;overflow:auto;display:flex;flex-direction:column-reverse;border:1px solid rgba(127,127,127,.4)">'
            f'<pre style="margin:0;padding:4px">{html.escape(text)}</pre></div>')


def as_html(picture: Picture) -> str:
    """Without a script, so that a notebook shows it when it is opened again, too."""
    status = picture.status
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in HEADS)
    bar = "" if status.done is None or status.ended else f'<progress value="{status.done:.3f}" style="margin-left:1em"></progress>'
    wait = f"<div>{html.escape('waiting: ' + status.waiting)}</div>" if status.waiting and not status.ended else ""
    trouble = f'<div><b>not up to date:</b> {html.escape(picture.trouble)}</div>' if picture.trouble else ""
    rest = html.escape(_rest(status.tasks))
    return (f'<div class="tony-job"><div><b>{html.escape(headline(status))}</b>{bar}</div>{wait}{trouble}'
            f'<table><thead><tr>{head}</tr></thead><tbody>{"".join(map(_row, rows(status.tasks)))}</tbody></table>'
            f'<div>{rest}</div>{_charts(picture.metrics)}{_log(picture)}</div>')


# ---- where they are shown


class Lines:
    """Prints what is new: in a terminal, and in what is no notebook."""

    def __init__(self) -> None:
        self._seen, self._states, self._head = 0, {}, ""  # type: int, Dict[str, str], str
        self._trouble: Optional[str] = None

    def show(self, picture: Optional[Picture]) -> None:
        if not picture:
            return
        for task in picture.status.tasks:
            if self._states.get(task.name) != task.state:
                self._states[task.name] = task.state
                failure = _cause(task.cause) if task.state in ("failed", "lost") else ""
                self.say(f"{task.name}: {task.state}{failure and f', {failure}'}")
        new = picture.seen - self._seen
        self._seen = picture.seen
        for line in list(picture.lines)[-new:] if new else ():
            print(_prefix(line, picture.status) + line.text, flush=True)
        if picture.trouble and picture.trouble != self._trouble:
            self.say(f"not up to date: {picture.trouble}")
        self._trouble = picture.trouble
        if picture.status.ended and self._head != picture.status.state:
            self._head = picture.status.state
            self.say(headline(picture.status))

    def say(self, text: str) -> None:
        print(f"tony: {text}", file=sys.stderr, flush=True)


class Display:
    """One output below the cell, drawn anew when something has changed."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last: Optional[Picture] = None
        self._said: List[str] = []

    def show(self, picture: Optional[Picture]) -> None:
        if not picture or picture == self._last:
            return
        self._last = picture
        said = "".join(f"<div><b>{html.escape(text)}</b></div>" for text in self._said)
        data = {"text/html": as_html(picture) + said, "text/plain": "\n".join([as_text(picture), *self._said])}
        if self._handle:
            self._handle.update(data, raw=True)
        else:
            from IPython.display import display

            self._handle = display(data, raw=True, display_id=True)

    def say(self, text: str) -> None:
        self._said.append(text)
        last, self._last = self._last, None
        if last:
            self.show(last)
        else:
            print(f"tony: {text}", file=sys.stderr, flush=True)


def find_view() -> View:
    """A picture where the front end of a notebook shows it."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return Display() if hasattr(shell, "kernel") else Lines()
