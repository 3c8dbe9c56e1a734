"""Ships a function to a job's tasks, and brings its value back. There _run.py runs, then _shipped.py."""

from __future__ import annotations

import contextlib
import inspect
import json
import pickle
import site
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type

from tony import _own
from tony._errors import FunctionError, JobFailed
from tony._version import __version__

CAP = 1 << 30  # bytes of a function with its arguments, and of a value
LIBRARY, CALL = "tony-library", "tony-call"  # folders in a task's working directory
OUTCOMES = ".tony"  # in tony.task.output_dir


def _cloudpickle() -> Optional[ModuleType]:
    try:
        import cloudpickle
    except ImportError:
        return None
    return cloudpickle  # type: ignore[no-any-return]


# ---- pickling


class _Capped:
    """A file that takes so many bytes and no more."""

    def __init__(self, file: IO[bytes], what: str, remedy: str) -> None:
        self._file, self._left, self._what, self._remedy = file, CAP, what, remedy

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise FunctionError(f"{self._what}: over 1 GiB when pickled; {self._remedy}")
        self._file.write(data)
        return size


def dump(value: Any, file: IO[bytes], what: str, remedy: str) -> None:
    """FunctionError: it cannot be pickled, or is too large."""
    pickler = _cloudpickle() or pickle
    try:
        pickler.dump(value, _Capped(file, what, remedy), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError, NotImplementedError) as error:
        raise FunctionError(f"{what} cannot be pickled: {error}") from error


def _can_be_pickled(value: Any) -> Optional[str]:
    """None: it can; else why not."""
    try:
        (_cloudpickle() or pickle).dumps(value)
    except Exception as error:  # of whatever __reduce__ there is
        return str(error)
    return None


def _name_culprit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[str]:
    """Which of the parts of a call cannot be pickled, and why."""
    parts = {f"argument {number}": arg for number, arg in enumerate(args, 1)}
    parts.update({f"argument {name}": arg for name, arg in kwargs.items()})
    with contextlib.suppress(TypeError):
        variables = inspect.getclosurevars(function)
        parts.update({f"variable {name}": value for name, value in {**variables.globals, **variables.nonlocals}.items()})
    for name, value in parts.items():
        why = _can_be_pickled(value)
        if why:
            return f"{name}: {why}"
    return None


def _is_installed(path: str) -> bool:
    """A file of Python's own or of site-packages, which is expected where the function runs."""
    roots = [sysconfig.get_path("stdlib"), *site.getsitepackages(), site.getusersitepackages(), "/usr/lib/python3/dist-packages"]
    return any(Path(root) in Path(path).resolve().parents for root in roots)


@contextlib.contextmanager
def _by_value(function: Callable[..., Any], src_dir: Any) -> Iterator[None]:
    """The module of a function is found on no node, unless it is installed or of src_dir: it travels with the function."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    cloudpickle = _cloudpickle()
    path = getattr(module, "__file__", None)
    if not cloudpickle or not module or module.__name__ == "__main__" or not path or src_dir or _is_installed(path):
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a job of it."""
    target = getattr(function, "func", function)  # of functools.partial
    return getattr(target, "__name__", type(target).__name__).strip("<>")


def _check(function: Callable[..., Any]) -> None:
    if _cloudpickle():
        return
    if getattr(function, "__module__", "__main__") == "__main__" or "<" in getattr(function, "__qualname__", "<"):
        raise FunctionError(f"{name_of(function)} is of this script or notebook and cannot be shipped without cloudpickle; pip install "
                            "cloudpickle, or move the function into a module and give its directory as src_dir")


# ---- archives: tony unpacks each once, and shares those of the same content


def _entry(name: str) -> zipfile.ZipInfo:
    """Of the same content each time, whenever it is made."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    return entry


def _add_package(archive: zipfile.ZipFile, package: ModuleType) -> None:
    assert package.__file__
    source = Path(package.__file__).parent
    for path in sorted(source.rglob("*.py")):
        # That of a checkout asks the checkout.
        content = f"__version__ = {__version__!r}\n".encode() if path == source / "_version.py" else path.read_bytes()
        archive.writestr(_entry(str(path.relative_to(source.parent))), content)


def _write_library(path: Path) -> None:
    import tony

    cloudpickle = _cloudpickle()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        _add_package(archive, tony)
        if cloudpickle:
            _add_package(archive, cloudpickle)
        archive.writestr(_entry("run.py"), (Path(__file__).parent / "_run.py").read_bytes())


def _write_call(path: Path, name: str, call: Any) -> None:
    about = {"function": name, "python": list(sys.version_info[:2]), "implementation": sys.implementation.name,
             "version": sys.version.split()[0]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("call.json"), json.dumps(about))
        with archive.open(_entry("call.pickle"), "w", force_zip64=True) as file:
            dump(call, file, f"{name} and its arguments", "leave data in a file that the tasks can read, and pass its path")


def ship(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], src_dir: Any, folder: Path) -> List[str]:
    """Writes into the folder what a task needs to call the function: resources of the job."""
    name = name_of(function)
    _check(function)
    try:
        with _by_value(function, src_dir):
            _write_call(folder / "call.zip", name, (function, tuple(args), dict(kwargs)))
    except FunctionError as error:
        culprit = _name_culprit(function, args, kwargs) if error.__cause__ else None
        if culprit:
            raise FunctionError(f"{name} cannot be pickled: {culprit}; create it within the function") from error.__cause__
        raise
    _write_library(folder / "library.zip")
    return [f"{folder}/library.zip::{LIBRARY}#archive", f"{folder}/call.zip::{CALL}#archive"]


# ---- what came back


class RemoteTraceback(Exception):
    """The traceback of an exception in a task, as the cause of the exception."""

    def __init__(self, task: str, text: str) -> None:
        super().__init__(f"in {task}:\n{text}")


def rebuild(kind: Type[BaseException], args: Tuple[Any, ...], attributes: Mapping[str, Any]) -> BaseException:
    """An exception without a call of its constructor."""
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(attributes)
    return error


def _read_header(file: IO[bytes]) -> Dict[str, Any]:
    return json.loads(file.readline().decode())  # type: ignore[no-any-return]


def _unpickle(file: IO[bytes], header: Mapping[str, Any], what: str) -> Any:
    """Only what the same version of Python has pickled: another one may end the interpreter."""
    if header["python"] != list(sys.version_info[:2]):
        there, here = (".".join(map(str, version)) for version in (header["python"], sys.version_info[:2]))
        raise FunctionError(f"{what} was pickled by Python {there} and cannot be read by {here}: read it with Python {there}")
    try:
        return pickle.load(file)
    except Exception as error:  # whatever a __setstate__ raises
        raise FunctionError(f"{what} cannot be unpickled: {type(error).__name__}: {error}") from error


def read_value(place: Path, task: str, ran: Tuple[int, int, int]) -> Any:
    """The value of the function in the process (attempt, epoch, restart) of a task, out of the job's results."""
    nothing = f"{task} has left no value: its program is no function that tony.submit() shipped, or it did not return"
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_own.open_file(place, directory_of(task), OUTCOMES, "outcome-0"))
        except FileNotFoundError:
            raise FunctionError(nothing) from None
        header = _read_header(file)
        if header["kind"] != "value":
            raise FunctionError(f"{task} has left no value: {header.get('type')}: {header.get('message')}")
        if tuple(header["ran"]) != ran:
            raise FunctionError(f"{task} has left no value: that of an earlier run is there, and its last one did not return")
        return _unpickle(file, header, f"the value of {task}")


def directory_of(task: str) -> str:
    """Its name in the results."""
    return task.replace(":", "-")


def read_error(place: Path, task: str, ran: Tuple[int, int, int], failure: JobFailed) -> Optional[BaseException]:
    """The exception that the function raised in the process (attempt, epoch, restart) of the task; None: it is not known."""
    for name in _own.list_directory(place, directory_of(task), OUTCOMES):
        if not name.startswith("outcome-"):
            continue
        with _own.open_file(place, directory_of(task), OUTCOMES, name) as file:
            header = _read_header(file)
            if header["kind"] != "error" or tuple(header["ran"]) != ran:
                continue
            failure.__cause__ = RemoteTraceback(task, header["traceback"])
            try:
                error = _unpickle(file, header, f"the exception of {task}")
            except FunctionError:
                return None
            if isinstance(error, BaseException):
                error.__cause__ = failure
                return error
    return None
