"""Optuna chooses what a sweep of tony tries: `tony.sweep.program = python3 -m tony.optuna`.

It reads questions of tony's from standard input, a line of JSON each, and answers each by a line of JSON (docs/sweeps.md).
Sampler, pruner and storage are Optuna's own: by the options below, or a study that a function of the user's makes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import Any, Callable, TextIO

SWEEP, TRIAL = "tony_sweep", "tony_trial"  # attributes of a trial in Optuna's storage


class Chooser:
    """Answers tony's questions for one sweep."""

    def __init__(self, make_study: Callable[[dict[str, Any]], Any]) -> None:
        self.make_study = make_study
        self.study: Any = None
        self.sweep = ""
        self.parameters: list[dict[str, Any]] = []
        self.distributions: dict[str, Any] = {}
        self.choices: dict[str, dict[Any, str]] = {}
        self.trials: dict[int, Any] = {}
        self.reported: set[tuple[int, int]] = set()

    def begin(self, question: dict[str, Any]) -> dict[str, Any]:
        """Makes the study, or finds the one in the user's storage."""
        self.sweep = question["sweep"]
        self.parameters = question["parameters"]
        for parameter in self.parameters:
            self.distributions[parameter["name"]] = self.distribution(parameter)
        self.study = self.make_study(question)
        return {}

    def distribution(self, parameter: dict[str, Any]) -> Any:
        """The values of a parameter, as Optuna has them."""
        from optuna import distributions

        if parameter["kind"] == "values":
            read = read_number if parameter["numbers"] else str
            choices = {read(text): text for text in parameter["values"]}
            self.choices[parameter["name"]] = choices
            return distributions.CategoricalDistribution(list(choices))
        if parameter["kind"] == "int":
            return distributions.IntDistribution(int(parameter["low"]), int(parameter["high"]))
        return distributions.FloatDistribution(parameter["low"], parameter["high"], log=parameter["kind"] == "loguniform")

    def text(self, name: str, value: Any) -> str:
        """A value as programs get it: floats with all their digits."""
        return self.choices[name][value] if name in self.choices else repr(value)

    def known(self, number: int) -> Any:
        """The trial as a storage has it that outlived an earlier process; None: there is none."""
        for frozen in reversed(self.study.get_trials(deepcopy=False)):  # the last one, where it began anew
            if frozen.user_attrs.get(SWEEP) == self.sweep and frozen.user_attrs.get(TRIAL) == number:
                return frozen
        return None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The values of a trial. A repeated question has those that were answered before."""
        from optuna.trial import Trial, TrialState

        number, before = question["trial"], question.get("values")
        frozen = self.known(number)  # also of a process that was killed before tony wrote the answer down
        if before and frozen and frozen.state.is_finished() and not question.get("ended", True):
            frozen, trial, values = None, self.as_before(before), before  # a resumed sweep runs it anew
        else:
            trial = Trial(self.study, frozen._trial_id) if frozen else self.study.ask(self.distributions)
            values = [self.text(parameter["name"], trial.params[parameter["name"]]) for parameter in self.parameters]
        if before and before != values:  # a sampler without a seed chose otherwise
            self.study.tell(trial, state=TrialState.FAIL)
            trial, values = self.as_before(before), before
        if not frozen:
            trial.set_user_attr(SWEEP, self.sweep)
            trial.set_user_attr(TRIAL, number)
        self.trials[number] = trial
        return {"values": values}

    def as_before(self, values: list[str]) -> Any:
        """A trial that has the values which its job has."""
        fixed = {parameter["name"]: self.value(parameter, text) for parameter, text in zip(self.parameters, values)}
        self.study.enqueue_trial(fixed)
        return self.study.ask(self.distributions)

    def value(self, parameter: dict[str, Any], text: str) -> Any:
        """A value of Optuna's from its text."""
        for value, known in self.choices.get(parameter["name"], {}).items():
            if known == text:
                return value
        return int(text) if parameter["kind"] == "int" else float(text)

    def report(self, question: dict[str, Any]) -> dict[str, Any]:
        """A number of a trial that runs, and whether the study's pruner stops it."""
        number, step = question["trial"], question["step"]
        trial = self.trials[number]
        if (number, step) in self.reported or self.is_finished(trial):
            return {}
        self.reported.add((number, step))
        trial.report(question["value"], step)
        return {"stop": f"the pruner stops it at step {step}"} if trial.should_prune() else {}

    def is_finished(self, trial: Any) -> bool:
        """In the user's storage, since an earlier process."""
        frozen = self.known(trial.user_attrs.get(TRIAL, -1))
        return bool(frozen and frozen.state.is_finished())

    def tell(self, question: dict[str, Any]) -> dict[str, Any]:
        """How a trial ended."""
        from optuna.trial import TrialState

        trial = self.trials[question["trial"]]
        if self.is_finished(trial):
            return {}
        if question["state"] == "completed" and "value" in question:  # there is none of one that ended at NaN
            self.study.tell(trial, question["value"])
        else:
            self.study.tell(trial, state=TrialState.PRUNED if question["state"] == "stopped" else TrialState.FAIL)
        return {}

    def answer(self, line: str) -> dict[str, Any]:
        """The answer to one question."""
        question = json.loads(line)
        name = question["question"]
        if name not in ("begin", "ask", "report", "tell"):
            return {}
        answer: dict[str, Any] = getattr(self, name)(question)
        return answer


def read_number(text: str) -> int | float:
    """0.1, 64: as a user of Optuna would have written it."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def find_function(name: str) -> Callable[[dict[str, Any]], Any]:
    """MODULE:FUNCTION of the user's, of the current directory or an installed package."""
    module, _, function = name.partition(":")
    sys.path.insert(0, os.getcwd())
    found: Callable[[dict[str, Any]], Any] = getattr(importlib.import_module(module), function)
    return found


def make_study_by(chosen: argparse.Namespace) -> Callable[[dict[str, Any]], Any]:
    """The function that makes the study once tony has told for which sweep."""
    if chosen.study_from:
        return find_function(chosen.study_from)

    def make(question: dict[str, Any]) -> Any:
        import optuna

        samplers = {
            "tpe": optuna.samplers.TPESampler,
            "random": optuna.samplers.RandomSampler,
            "cmaes": optuna.samplers.CmaEsSampler,
            "qmc": optuna.samplers.QMCSampler,
        }
        pruners = {
            "none": optuna.pruners.NopPruner,
            "median": optuna.pruners.MedianPruner,
            "asha": optuna.pruners.SuccessiveHalvingPruner,
            "hyperband": optuna.pruners.HyperbandPruner,
        }
        return optuna.create_study(
            study_name=chosen.study or question["sweep"],
            storage=chosen.storage,
            load_if_exists=True,
            sampler=samplers[chosen.sampler](seed=question["seed"]),
            pruner=pruners[chosen.pruner](),
            direction=question["goal"],
        )

    return make


def serve(chooser: Chooser, questions: TextIO, answers: TextIO) -> None:
    """Answers until there are no more questions."""
    for line in questions:
        try:
            answer = chooser.answer(line)
        except Exception as error:  # whatever a sampler or a storage raises is the sweep's end, in its words
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Serves one sweep on standard input and standard output."""
    parser = argparse.ArgumentParser(prog="python3 -m tony.optuna", description=__doc__.splitlines()[0])
    parser.add_argument("--sampler", choices=["tpe", "random", "cmaes", "qmc"], default="tpe")
    parser.add_argument("--pruner", choices=["none", "median", "asha", "hyperband"], default="none")
    parser.add_argument("--storage", metavar="URL", help="Optuna's storage, such as sqlite:///study.db; without one it is in memory")
    parser.add_argument("--study", metavar="NAME", help="the study's name; the sweep's id if none is given")
    parser.add_argument(
        "--study-from", metavar="MODULE:FUNCTION", help="a function that gets tony's first question, a dict, and returns the study"
    )
    chosen = parser.parse_args(arguments)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a print of the user's or Optuna's is no answer
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        serve_error(f"{error}: pip install optuna", answers)
        return 1
    serve(Chooser(make_study_by(chosen)), sys.stdin, answers)
    return 0


def serve_error(text: str, answers: TextIO) -> None:
    """Answers the first question by an error."""
    sys.stdin.readline()
    print(json.dumps({"error": text}), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
