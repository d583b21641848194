"""The command ``speedcube doctor --on``: look at a cluster, print, and the exit code."""

from __future__ import annotations

import sys

from ....exit_codes import BROKEN_PIPE, DONE, FAILED
from ... import terminal
from .ask import gather_cluster
from .judge import cluster_findings, ours
from .reach import cluster_client, file_findings
from .show import ClusterDiagnosis, cluster_json, show_cluster


def examine_cluster(on: str) -> ClusterDiagnosis:
    """The report on the cluster at the address or in the scheduler file ``on``.

    Raises
    ------
    ParameterError, SchedulerError
        ``on`` names no cluster, or none that answers.
    """
    facts = gather_cluster(cluster_client(on), on)
    return ClusterDiagnosis(facts, (*cluster_findings(facts, ours()), *file_findings(on, facts.id)))


def run_cluster(on: str, as_json: bool) -> int:
    """Print the report on a cluster; the exit code."""
    diagnosis = examine_cluster(on)

    def say() -> None:
        if as_json:
            print(cluster_json(diagnosis))
        else:
            show_cluster(diagnosis, terminal.screen(width=None if sys.stdout.isatty() else 120))

    read = terminal.printed(say)
    if not diagnosis.healthy:
        return FAILED
    return DONE if read else BROKEN_PIPE
