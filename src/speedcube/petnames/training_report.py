"""One training as its directory tells it, finished or not: its losses, their figure, a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..errors import DataFileError, ParameterError
from ..files import write_whole
from ..numbers import seconds_text
from ..train.metrics.rows import read_rows
from ..train.reports import document, plots
from ..train.reports.curves import Point, points, series
from . import card

PLAN: Final = "petnames.json"  # what a directory is trained for, from the start of the training
LOSSES: Final = {"loss": "training", "validation_loss": "validation"}


@dataclass(frozen=True)
class Training:
    """What a training was asked for, and what it has reported so far."""

    out: Path
    told: Mapping[str, Any]  # the card's facts, or the plan's where it has not finished
    points: list[Point]
    target: float | None

    @classmethod
    def read(cls, out: Path, target: float | None) -> Training:
        """The training in ``out``; `ParameterError` where there is none with an epoch behind it."""
        plan, metrics = out / PLAN, out / "metrics.jsonl"
        if not (plan.is_file() and metrics.is_file()):
            raise ParameterError(
                f"{str(out)!r} holds no sweep and no training: name a directory that speedcube "
                "petnames train or sweep wrote"
            )
        made = cls(out, _facts(out), points(read_rows(metrics)), target)
        if not made.ends():
            raise ParameterError(f"{str(out)!r} holds a training whose first epoch has not ended")
        return made

    def ends(self) -> list[tuple[Point, float]]:
        """The ends of its epochs, with the validation loss."""
        return series(self.points, "validation_loss")

    def summary(self) -> str:
        """How far it has come, and how good it is."""
        ends = self.ends()
        (last, loss), (best, least) = ends[-1], min(ends, key=lambda end: end[1])
        told = (
            f"{len(ends)} of {self.told['settings']['epochs']} epochs in "
            f"{seconds_text(last.seconds)}: validation loss {loss:.4f} a character"
        )
        if best is not last:
            told += f", at best {least:.4f} in epoch {best.metrics['epoch']}"
        return told + "." + self._reached()

    def _reached(self) -> str:
        if self.target is None:
            return ""
        goal = self.target
        first = next((point for point, loss in self.ends() if loss <= goal), None)
        if first is None:
            return f" Validation loss {goal:g} was not reached."
        return f" Validation loss {goal:g} was reached after {seconds_text(first.seconds)}."

    def curves(self, path: str | None = None) -> Any:
        """Both losses against epochs and seconds: a figure, written to ``path`` if given."""
        drawn = {name: series(self.points, metric) for metric, name in LOSSES.items()}
        epochs = plots.have_epochs(drawn.values())
        lines = [plots.Line.of(name, curve, epochs) for name, curve in drawn.items()]
        figure = plots.pair(lines, epochs, "loss in nats a character", self.target)
        return plots.saved(figure, path)

    def html(self) -> str:
        """The page, which loads nothing else."""
        rows = [
            (point.metrics["epoch"], point.metrics["loss"], loss, point.seconds)
            for point, loss in self.ends()
        ]
        parts = [
            document.paragraph(self.summary()),
            document.heading("Loss, in nats a character, padding left out"),
            document.drawing(self.curves(), "curves"),
            document.heading("Epochs"),
            document.table(["epoch", "training loss", "validation loss", "seconds"], rows),
            document.heading("Settings and data"),
            document.facts({**_flat(self.told), "directory": self.out.absolute()}),
        ]
        return document.document("Training of a network that invents pet names", parts)

    def write(self) -> Path:
        """Write ``report.html`` into the directory; its path."""
        path = self.out.absolute() / "report.html"
        write_whole(path, self.html().encode(), durable=True)
        return path


def _facts(out: Path) -> dict[str, Any]:
    """What the card says, or the plan where there is none yet; `DataFileError` if neither."""
    path = out / card.CARD if (out / card.CARD).is_file() else out / PLAN
    try:
        told = json.loads(path.read_bytes())
        if not isinstance(told["settings"]["epochs"], int):
            raise TypeError("its epochs are no number")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as err:
        raise DataFileError(f"{path} is not what a training has written: {err!r}") from err
    return dict(told)


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    """Facts by name, one level deep, those of settings, data and versions."""
    found: dict[str, Any] = {}
    for kind in ("settings", "data", "versions"):
        facts = told.get(kind)
        if isinstance(facts, dict):
            found |= {_words(name): value for name, value in facts.items()}
        elif facts is not None:  # a plan has the checksum alone
            found["sha256"] = facts
    return found


def _words(name: str) -> str:
    return str(name).replace("_", " ")
