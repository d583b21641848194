"""`DaskResultsHandler`: files that ranks hand in while they train, written where the driver is."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ... import train
from ...dataclass import dataclass
from ...errors import ParameterError
from .paths import write_below

if TYPE_CHECKING:
    from distributed import Future

logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refused:
    """A result that was not written; its data stays in the file ``kept``."""

    path: str
    rank: int
    reason: str
    kept: Path

    def __str__(self) -> str:
        return f"{self.path!r} of rank {self.rank}: {self.reason}; its data is in {self.kept}"


@dataclass(frozen=True)
class Report:
    """What `DaskResultsHandler.process_results` wrote, what it refused, and what failed."""

    written: tuple[Path, ...]
    refused: tuple[Refused, ...]
    errors: tuple[BaseException, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was refused and nothing failed."""
        return not self.refused and not self.errors


class DaskResultsHandler:
    """Made at the driver, passed to the function or enclosed by it, used on both sides.

    Parameters
    ----------
    pub_sub_key
        Tells results of handlers apart; None: one that nobody else has.
    """

    def __init__(self, pub_sub_key: str | None = None) -> None:
        self.pub_sub_key = uuid.uuid4().hex if pub_sub_key is None else str(pub_sub_key)

    def submit_result(self, path: str | os.PathLike[str], data: str | bytes) -> None:
        """In a rank: have `process_results` write ``data`` to ``path`` below its prefix.

        A path that leaves the prefix is refused there; here nothing is raised for it.

        Raises
        ------
        ParameterTypeError
            ``data`` is neither text nor bytes.
        TrainError
            Outside of a rank.
        """
        train.emit(str(path), data, topic=self.pub_sub_key)

    def process_results(
        self, prefix: str | os.PathLike[str], futures: Sequence[Future], raise_errors: bool = True
    ) -> Report:
        """At the driver: write results below ``prefix`` until the futures are done.

        Parameters
        ----------
        prefix
            A directory; made with those of the results where there is none.
        futures
            What `dispatch.run` returned.
        raise_errors
            False: what failed is logged and listed in the report, not raised.

        Raises
        ------
        BaseException
            What a rank raised, after all results that arrived were written.
        ParameterError
            Results were refused: their paths lead out of ``prefix`` or cannot be written.
        """
        root = Path(prefix).absolute()
        written, refused = [], []
        for result in self._arriving(futures):
            try:
                written.append(write_below(root, result.name, _data(result)))
            except (OSError, ValueError) as err:
                refusal = Refused(result.name, result.rank, _reason(err), result.path)
                logger.error("result refused: %s", refusal)
                refused.append(refusal)
            else:
                result.path.unlink()
        report = Report(tuple(written), tuple(refused), tuple(_failures(futures)))
        if raise_errors:
            _raise(report)
        return report

    def _get_results(
        self, futures: Sequence[Future], raise_errors: bool = True
    ) -> Iterator[dict[str, Any]]:
        """The results as dicts of "path" and "data", as they arrive; then what failed."""
        for result in self._arriving(futures):
            yield {"path": result.name, "data": result.read()}
            result.path.unlink()
        errors = _failures(futures)
        if errors and raise_errors:
            raise errors[0]

    def _arriving(self, futures: Sequence[Future]) -> Iterator[train.Emitted]:
        """Results of this handler in the jobs of ``futures`` that nobody has taken yet."""
        jobs = dict.fromkeys(future.job for future in futures if hasattr(future, "job"))
        for job in jobs:
            for result in job.emitted():
                if result.topic == self.pub_sub_key and result.path.exists():
                    yield result


def _data(result: train.Emitted) -> bytes:
    data = result.read()
    return data.encode() if isinstance(data, str) else data


def _reason(err: OSError | ValueError) -> str:
    return str(getattr(err, "strerror", None) or err)


def _failures(futures: Sequence[Future]) -> list[BaseException]:
    """What the futures failed with, each failure once, logged."""
    failures: dict[str, BaseException] = {}  # by job
    for future in futures:
        try:
            err = future.exception()
        except CancelledError as cancelled:
            err = cancelled
        if err is not None:
            failures.setdefault(getattr(getattr(future, "job", None), "id", future.key), err)
    for err in failures.values():
        logger.error("training failed: %r", err, exc_info=err)
    return list(failures.values())


def _raise(report: Report) -> None:
    if report.errors:
        raise report.errors[0]
    if report.refused:
        raise ParameterError(
            f"{len(report.refused)} results were not written: "
            f"{'; '.join(map(str, report.refused[:3]))}{' ...' * (len(report.refused) > 3)}"
        )
