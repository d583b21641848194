"""The manifests against Kubernetes' schemas and what a cluster may ask of pods; the container file.

A DaskCluster is checked in two ways: its parts, which are a Pod's and a Service's, against
Kubernetes' own schemas here, and the whole against the operator's CRD, which a slow test fetches.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"
MANIFESTS: Final = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
VERSION: Final = "1.33"
CRD: Final = "dask-kubernetes==2026.3.0"
SCHEMAS: Final = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds"
CONTAINERFILE: Final = DEPLOY / "kubernetes" / "Containerfile"


def documents() -> list[tuple[str, dict[str, Any]]]:
    return [
        (path.name, document)
        for path in MANIFESTS
        for document in yaml.safe_load_all(path.read_text())
    ]


def pods(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The specifications of the pods that a document asks for."""
    spec = document["spec"]
    match document["kind"]:
        case "DaskCluster":
            yield from (spec["scheduler"]["spec"], spec["worker"]["spec"])
        case "DaskWorkerGroup":
            yield spec["worker"]["spec"]
        case "Job":
            yield spec["template"]["spec"]


def standard(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What of a document Kubernetes' own schemas know."""
    if not document["apiVersion"].startswith("kubernetes.dask.org/"):
        yield document
        return
    for pod in pods(document):
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": pod}
    if document["kind"] == "DaskCluster":
        service = document["spec"]["scheduler"]["service"]
        metadata = {"name": "service"}
        yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service}


IDS: Final = [name for name, _ in documents()]
each = pytest.mark.parametrize("document", [document for _, document in documents()], ids=IDS)


def test_there_is_one_of_each_kind() -> None:
    kinds = sorted(document["kind"] for _, document in documents())
    assert kinds == ["DaskCluster", "DaskWorkerGroup", "Job", "NetworkPolicy"]


@each
def test_kubernetes_knows_every_word(document: dict[str, Any]) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for part in standard(document):
        kubernetes_validate.validate(part, VERSION, strict=True)
        bad = {**part, "spec": {**part["spec"], "absent": 1}}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(bad, VERSION, strict=True)


@each
def test_pods_may_do_little(document: dict[str, Any]) -> None:
    """What Kubernetes calls restricted, and a root that cannot be written to."""
    for pod in pods(document):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] >= 1000
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        (tls,) = [v for v in pod["volumes"] if v["name"] == "tls"]
        assert tls["secret"] == {"secretName": "speedcube-tls", "defaultMode": 0o440}
        assert all(set(v) & {"secret", "emptyDir"} for v in pod["volumes"])
        (container,) = pod["containers"]
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["limits"])
        assert (
            container["resources"]["requests"]["memory"]
            == (container["resources"]["limits"]["memory"])
        )
        settings = {"name": "DASK_CONFIG", "value": "/etc/speedcube/dask.yaml"}
        assert settings in container["env"]
        assert "tcp://" not in " ".join(container["args"])
        assert not re.search(r":latest$|/[^:]*$", container["image"])


@each
def test_what_listens_is_encrypted(document: dict[str, Any]) -> None:
    for pod in pods(document):
        (container,) = pod["containers"]
        arguments = container["args"]
        if arguments[0] == "dask":
            assert {"--protocol=tls", "--dashboard-address=127.0.0.1:0"} <= set(arguments)
            listed = {port["containerPort"] for port in container["ports"]}
            told = {int(a.rpartition("=")[2]) for a in arguments if "port=" in a}
            assert told == listed


def test_gpus_are_asked_for_and_memory_fits() -> None:
    """Dask's limit is the container's, so that Dask acts before the system does."""
    by_name = dict(documents())
    gpus = by_name["gpu-workers.yaml"]["spec"]["worker"]["spec"]["containers"][0]
    assert gpus["resources"]["limits"]["nvidia.com/gpu"] == "1"
    for pod in (*pods(by_name["cluster.yaml"]), *pods(by_name["gpu-workers.yaml"])):
        container = pod["containers"][0]
        for argument in container["args"]:
            if argument.startswith("--memory-limit="):
                limit = argument.partition("=")[2].removesuffix("B")
                assert limit == container["resources"]["limits"]["memory"]


def test_the_policy_is_about_the_clusters_pods() -> None:
    by_name = dict(documents())
    policy, cluster = by_name["network.yaml"]["spec"], by_name["cluster.yaml"]
    label = {"dask.org/cluster-name": cluster["metadata"]["name"]}
    assert policy["podSelector"] == {"matchLabels": label}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert [rule["from"] for rule in policy["ingress"]] == [
        [{"podSelector": {"matchLabels": label}}]
    ]
    assert (
        label.items() <= by_name["program.yaml"]["spec"]["template"]["metadata"]["labels"].items()
    )
    service = cluster["spec"]["scheduler"]["service"]
    assert service["type"] == "ClusterIP"
    assert service["selector"] == {**label, "dask.org/component": "scheduler"}
    assert by_name["gpu-workers.yaml"]["spec"]["cluster"] == cluster["metadata"]["name"]


@pytest.mark.slow
def test_the_operators_schema(tmp_path: Path) -> None:
    """Fetched, since it is not ours to keep."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("fetching the operator's schema needs uv")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), CRD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"the operator's schema cannot be fetched: {done.stderr[-200:]}")
    jsonschema = importlib.import_module("jsonschema")
    for _, document in documents():
        if not document["apiVersion"].startswith("kubernetes.dask.org/"):
            continue
        crd = yaml.safe_load((tmp_path / SCHEMAS / f"{document['kind'].lower()}.yaml").read_text())
        (version,) = crd["spec"]["versions"]
        assert f"{crd['spec']['group']}/{version['name']}" == document["apiVersion"]
        schema = closed(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
        jsonschema.validate(document["spec"], schema)
        for bad in ({}, {**document["spec"], "absent": 1}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(bad, schema)


def closed(schema: Any) -> Any:
    """The same schema, in which a word that it does not know is an error."""
    if not isinstance(schema, dict):
        return schema
    inside = {k: closed(v) for k, v in schema.items()}
    if isinstance(schema.get("properties"), dict):
        inside["properties"] = {k: closed(v) for k, v in schema["properties"].items()}
        inside.setdefault("additionalProperties", False)
    return inside


# ---------------------------------------------------------------- the container file


def instructions(text: str) -> list[tuple[str, str]]:
    """Its instructions in their order, lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.split("\n"))]


def test_the_container_file() -> None:
    """A check of ours: a fixed base, nothing fetched but packages, and no root when it runs."""
    found = instructions(CONTAINERFILE.read_text())
    assert [word for word, _ in found] == [
        "ARG", "FROM", "ARG", "ARG", "RUN", "COPY", "ENV", "WORKDIR", "USER", "CMD",
    ]  # fmt: skip
    by_word = dict(found)
    base = found[0][1].partition("=")[2]
    assert re.fullmatch(r"[\w.]+/[\w./]+:\d[\w.-]+", base), "a tag that says which version"
    user, _, group = by_word["USER"].partition(":")
    assert int(user) >= 1000
    assert int(group) >= 1000
    assert "--no-cache-dir" in by_word["RUN"]
    *sources, _ = by_word["COPY"].split()
    assert all((DEPLOY / source).is_file() for source in sources)
    command = yaml.safe_load(by_word["CMD"])
    assert Path(command[1]).name in sources
    written = dict(pair.split("=", 1) for pair in by_word["ENV"].split())
    assert all(written[n].startswith("/tmp") for n in ("HOME", "SPEEDCUBE_CACHE_DIR"))


def test_the_image_is_what_the_pods_expect() -> None:
    """Programs that a manifest names are in the image, and its user is the pods'."""
    by_word = dict(instructions(CONTAINERFILE.read_text()))
    *sources, folder = by_word["COPY"].split()
    for _, document in documents():
        for pod in pods(document):
            context = pod["securityContext"]
            assert by_word["USER"] == f"{context['runAsUser']}:{context['runAsGroup']}"
            for argument in pod["containers"][0]["args"]:
                if argument.endswith(".py"):
                    assert argument in [folder + source for source in sources]
