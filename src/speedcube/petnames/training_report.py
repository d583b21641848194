"""One training as its directory tells it, finished or not: its losses, their figure, a page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .. import strict_json
from ..dataclass import dataclass
from ..errors import DataFileError, ParameterError
from ..files import OWN_FILE, read_regular, write_whole
from ..numbers import seconds_text
from ..shown import line
from ..train import reports
from . import card

PLAN: Final = "petnames.json"  # what a directory is trained for, from the start of the training
_MOST_FACTS: Final = 16 << 20  # bytes
LOSSES: Final = {"loss": "training", "validation_loss": "validation"}


@dataclass(frozen=True)
class Training:
    """What a training was asked for, and what it has reported so far."""

    out: Path
    facts: Mapping[str, Any]  # the card's, or the plan's where it has not finished
    points: list[reports.Point]
    target: float | None

    @classmethod
    def read(cls, out: Path, target: float | None) -> Training:
        """The training in ``out``; `ParameterError` where there is none with an epoch behind it."""
        if not os.path.lexists(out / PLAN):
            raise ParameterError(
                f"{str(out)!r} holds no sweep and no training: name a directory that speedcube "
                "petnames train or sweep wrote"
            )
        training = cls(out, _facts(out), reports.points(reports.read_run(out)), target)
        if not training.ends():
            raise ParameterError(f"{str(out)!r} holds a training whose first epoch has not ended")
        for point, _ in training.ends():
            for name in ("epoch", "loss"):
                value = point.metrics.get(name)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise DataFileError(
                        f"{line(out / 'metrics.jsonl')}: step {point.step} has a validation loss "
                        f"and no number as its {name}"
                    )
        return training

    def ends(self) -> list[tuple[reports.Point, float]]:
        """The ends of its epochs, with the validation loss."""
        return reports.series(self.points, "validation_loss")

    def summary(self) -> str:
        """How far it has come, and how good it is."""
        ends = self.ends()
        (last, loss), (best, least) = ends[-1], min(ends, key=lambda end: end[1])
        text = (
            f"{len(ends)} of {self.facts['settings']['epochs']} epochs in "
            f"{seconds_text(last.seconds)}: validation loss {loss:.4f} a character"
        )
        if best is not last:
            text += f", at best {least:.4f} in epoch {best.metrics['epoch']}"
        return text + "." + self._reached()

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
        named = [(name, reports.series(self.points, metric)) for metric, name in LOSSES.items()]
        figure = reports.curves_figure(named, "loss in nats a character", self.target)
        return reports.save_figure(figure, path)

    def html(self) -> str:
        """The page, which loads nothing else."""
        rows = [
            (point.metrics["epoch"], point.metrics["loss"], loss, point.seconds)
            for point, loss in self.ends()
        ]
        parts = [
            reports.paragraph(self.summary()),
            reports.heading("Loss, in nats a character, padding left out"),
            reports.drawing(self.curves(), "curves"),
            reports.heading("Epochs"),
            reports.table(["epoch", "training loss", "validation loss", "seconds"], rows),
            reports.heading("Settings and data"),
            reports.facts({**_flat(self.facts), "directory": self.out.absolute()}),
        ]
        return reports.html_page("Training of a network that invents pet names", parts)

    def write(self) -> Path:
        """Write ``report.html`` into the directory; its path."""
        path = self.out.absolute() / "report.html"
        write_whole(path, self.html().encode(), mode=OWN_FILE, durable=True)
        return path


def _facts(out: Path) -> dict[str, Any]:
    """What the card says, or the plan where there is none yet; `DataFileError` if neither."""
    path = out / card.CARD if (out / card.CARD).is_file() else out / PLAN
    try:
        facts = strict_json.parse(read_regular(path, _MOST_FACTS))
    except OSError as err:
        raise DataFileError(f"{line(path)} cannot be used: {err.strerror or err}") from err
    except strict_json.NotStrictError as err:
        raise DataFileError(f"{line(path)} is not what a training has written: {err}") from err
    settings = facts.get("settings") if isinstance(facts, dict) else None
    if not isinstance(settings, dict) or type(settings.get("epochs")) is not int:
        raise DataFileError(
            f"{line(path)} is not what a training has written: its settings have no epochs"
        )
    return dict(facts)


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts by name, one level deep, those of settings, data and versions."""
    flat: dict[str, Any] = {}
    for kind in ("settings", "data", "versions"):
        values = facts.get(kind)
        if isinstance(values, dict):
            flat |= {_words(name): value for name, value in values.items()}
        elif values is not None:  # a plan has the checksum alone
            flat["sha256"] = values
    return flat


def _words(name: str) -> str:
    return str(name).replace("_", " ")
