"""Columns of Parquet files at addresses: by fsspec's file systems, which may fail for a moment."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.interop.readers import again

fsspec = pytest.importorskip("fsspec", reason='needs pip install "speedcube[io]"')
pa = pytest.importorskip("pyarrow", reason='needs pip install "speedcube[parquet]"')
pq = pytest.importorskip("pyarrow.parquet")
REAL: Any = np.random.default_rng(0).normal(size=5003)


@pytest.fixture
def bucket() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    for k, name in enumerate(("part.10", "part.9", "deep/part.11")):
        with files.open(f"/bucket/{name}.parquet", "wb") as file:
            pq.write_table(
                pa.table({"a": REAL + k, "i": np.arange(5003)}), file, row_group_size=700
            )
    with files.open("/bucket/_metadata.parquet", "wb") as file:
        file.write(b"not read")
    yield files
    files.rm("/bucket", recursive=True)


class _Failing:
    """A file of a store of which ``times`` readings fail."""

    def __init__(self, file: Any, left: list[int]) -> None:
        self.file, self.left = file, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def read(self, *args: Any) -> Any:
        if self.left[0]:
            self.left[0] -= 1
            raise ConnectionResetError("the store has gone away")
        return self.file.read(*args)


def test_a_file(bucket: Any) -> None:
    x = sc.open("memory://bucket/part.9.parquet", "a")
    assert x.chunks == ((700,) * 7 + (103,),)
    assert x.sum().compute() == sc.asarray(REAL + 1).sum().compute()
    assert np.array_equal(x[::-3].compute(), (REAL + 1)[::-3])
    assert "parquet part.9.parquet:a, 1 of 8 row groups" in str(x[10:20].plan())


@pytest.mark.parametrize(
    ("place", "order"),
    [
        ("memory://bucket/part.*.parquet", (1, 0)),
        ("memory://bucket", (2, 1, 0)),
        (["memory://bucket/part.10.parquet", "memory://bucket/part.9.parquet"], (0, 1)),
    ],
)
def test_files_follow_one_another(bucket: Any, place: Any, order: tuple[int, ...]) -> None:
    table = sc.from_parquet(place)
    assert np.array_equal(table["a"].compute(), np.concatenate([REAL + k for k in order]))
    assert table["i"].max().compute() == 5002


def test_what_is_not_there(bucket: Any) -> None:
    for place in ("memory://bucket/x.parquet", "memory://bucket/x.*.parquet", "memory://no/"):
        with pytest.raises(FileNotFoundError):
            sc.from_parquet(place)
    with pytest.raises(errors.DataFileError, match=r"_metadata\.parquet cannot be read as Parquet"):
        sc.from_parquet("memory://bucket/_metadata.parquet")


@pytest.mark.parametrize("times", [1, 3, 4])
def test_a_store_that_fails_is_asked_again(
    bucket: Any, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(again, "PAUSES", (0.0, 0.0, 0.0))
    left = [0]
    theirs = type(bucket).open
    monkeypatch.setattr(
        type(bucket), "open", lambda self, *a, **k: _Failing(theirs(self, *a, **k), left)
    )
    x = sc.from_parquet("memory://bucket/part.9.parquet", "a")
    left[0] = times
    if times <= 3:
        assert np.array_equal(x.compute(on="core"), REAL + 1)
    else:
        with pytest.raises(OSError, match=r"row group 0, cannot be read, tried 4 times: Conn"):
            x.compute(on="core")
    assert left == [0]


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """A server that knows ranges, as stores do."""

    def log_message(self, *args: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path.partition("?")[0])).read_bytes()
        asked = self.headers.get("Range")
        start, stop = 0, len(data)
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(len(data), int(last) + 1 if last else len(data))
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(data[start:stop])


def test_a_web_server(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    pq.write_table(pa.table({"a": REAL}), tmp_path / "x.parquet", row_group_size=700)
    handler = functools.partial(_Ranges, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        x = sc.open(f"http://127.0.0.1:{server.server_port}/x.parquet?key=hidden", "a")
        assert np.array_equal(x.compute(), REAL)
        assert "hidden" not in str(x.plan()) + repr(x)
        (tmp_path / "x.parquet").write_bytes(b"")
        with pytest.raises((OSError, errors.DataFileError)) as caught:
            sc.open(f"http://127.0.0.1:{server.server_port}/x.parquet?key=hidden", "a")
        assert "hidden" not in str(caught.value)
        server.shutdown()
