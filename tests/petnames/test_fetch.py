"""Data from the web: kept with its checksum, checked on each use, refused with reasons."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from speedcube.errors import DataFileError
from speedcube.petnames.names import fetch, source

NAMES = [f"{first}{second}" for first in ("ab", "co", "mi", "zu") for second in "abcdefghij"]
GOOD = "\n".join(["Animal's Name", *NAMES, ""]).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by what the path asks for; counts what it was asked."""

    asked: list[str]

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path == "/gone.csv":
            self.send_error(404)
            return
        if self.path == "/moved.csv":
            self.send_response(302)
            self.send_header("Location", "/pets.csv")
            self.end_headers()
            return
        if self.path == "/away.csv":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
            return
        body = {"/page.csv": b"<html>no</html>", "/large.csv": b"x" * 100_000}.get(self.path, GOOD)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + (self.path == "/cut.csv")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEEDCUBE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "data"


def url(site: http.server.ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{site.server_address[1]}/{path}"


def asked(site: http.server.ThreadingHTTPServer) -> list[str]:
    paths: list[str] = site.asked  # type: ignore[attr-defined]
    return paths


def never(line: str) -> None:
    raise AssertionError(line)


def test_a_url_is_fetched_once_and_checked_again(
    site: http.server.ThreadingHTTPServer, cache: Path
) -> None:
    at = url(site, "pets.csv")
    first = source.load(at, never)
    assert first.names == NAMES
    assert first.origin == at
    assert source.load(at, never) == first
    assert asked(site) == ["/pets.csv"]
    (stored,) = cache.glob("*.csv")
    assert stored.stem == first.sha256
    stored.write_bytes(GOOD + b"evil\n")
    assert source.load(at, never) == first  # damaged: fetched anew
    assert asked(site) == ["/pets.csv", "/pets.csv"]
    assert stored.read_bytes() == GOOD
    (index,) = cache.glob("*.json")
    for text in ("", "[]", "{}", '{"sha256": 5}', '{"sha256": "../../x"}', "\xff"):
        index.write_text(text)
        assert fetch.cached(at) is None
    index.write_text(json.dumps({"url": "http://other/", "sha256": first.sha256}))
    assert fetch.cached(at) is None


def test_a_cache_that_cannot_be_written_is_done_without(
    site: http.server.ThreadingHTTPServer, cache: Path
) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the directory would be")
    assert source.load(url(site, "moved.csv"), never).names == NAMES


def refused(at: str) -> str:
    with pytest.raises(DataFileError) as caught:
        source.load(at, never)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_fetched(
    site: http.server.ThreadingHTTPServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = url(site, "gone.csv")
    assert refused(at) == f"{at!r} cannot be fetched: the server says 404 Not Found"
    assert refused(url(site, "cut.csv")).endswith(
        f"it ends after {len(GOOD)} of {len(GOOD) + 1} bytes"
    )
    assert "not allowed" in refused(url(site, "away.csv"))
    assert refused("ftp://x/y.csv").endswith("only http and https URLs can")
    assert "cannot be fetched: " in refused("http://[x/y.csv")
    assert "cannot be fetched: " in refused("http://a b/y.csv")
    page = url(site, "page.csv")
    assert refused(page).startswith(f"{page}, line 1: no column")
    monkeypatch.setattr(fetch, "MAX_BYTES", 70_000)
    assert refused(url(site, "large.csv")).endswith("it has more than 70,000 bytes")
    monkeypatch.setattr(fetch, "WHOLE", -1.0)
    assert refused(at := url(site, "slow.csv")).startswith(
        f"{at!r} cannot be fetched: it is not all"
    )
    assert not list(cache.glob("*"))  # nothing that is no table of names is kept


def test_without_the_portal_the_sample_has_to_do(
    site: http.server.ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(source, "PORTAL", url(site, "gone.csv"))
    assert source.load(None, said.append) == source.sample()
    site.shutdown()
    site.server_close()
    monkeypatch.setattr(source, "PORTAL", url(site, "pets.csv"))
    assert source.load(None, said.append) == source.sample()
    assert len(said) == 2
    assert "404 Not Found; the sample that ships with speedcube is used instead" in said[0]
    assert "Connection refused; the sample that ships with speedcube is used instead" in said[1]


def test_the_portal_is_used_where_it_answers(
    site: http.server.ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "PORTAL", url(site, "pets.csv"))
    assert source.load(None, never).names == NAMES
