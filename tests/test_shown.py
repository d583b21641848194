"""What others wrote is shown without what steers a terminal, turns a line or fills a screen."""

from __future__ import annotations

import http.server
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from speedcube import errors
from speedcube.petnames.names import fetch
from speedcube.shown import LINE, LONG, line, lines, quoted, shortened
from speedcube.train import reports

ESC: Final = "\x1b[31mred\x1b]0;title\x07"
EVIL: Final = f"{ESC}\r\n\x9b2J\u202eabc\u2066\ud800\x00"


def clean(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("", ""),
        ("Zoë 猫 \N{CAT FACE}", "Zoë 猫 \N{CAT FACE}"),
        ("no\N{NO-BREAK SPACE}break", "no\N{NO-BREAK SPACE}break"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x9b\x07\x00\x7f", r"\x9b\x07\x00\x7f"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\ud800 \udcff", r"\ud800 \udcff"),
        (r"C:\temp\new", r"C:\temp\new"),
    ],
)
def test_a_line(text: str, wanted: str) -> None:
    assert line(text) == wanted
    assert line(line(text)) == line(text)


def test_lines_and_tabs_of_a_message_stay() -> None:
    assert lines("one\n\ttwo\x1b\nthree") == "one\n\ttwo\\x1b\nthree"
    assert lines("a\n" + "x" * 10_000).count("\n") == 1
    assert clean(lines(EVIL))
    assert quoted("it's\x1b") == '"it\'s\\x1b"'


def test_the_middle_of_a_long_text_is_left_out() -> None:
    text = line("head" + "x" * 100_000 + "tail")
    assert text.startswith("headxxx")
    assert text.endswith("xxxtail")
    assert " ... (100,008 characters) ... " in text
    assert LINE - 2 <= len(text) <= LINE
    assert shortened("x" * LINE, LINE) == "x" * LINE
    assert max(map(len, lines(("y" * 90_000 + "\n") * 3).split("\n"))) <= LONG


def test_every_error_of_ours_is_fit_to_be_shown() -> None:
    kinds = [kind for kind in vars(errors).values()
             if isinstance(kind, type) and issubclass(kind, errors.SpeedcubeError)]  # fmt: skip
    assert len(kinds) > 15
    for kind in kinds:
        error = kind(f"worker {EVIL} failed\n\tat once")
        assert clean(str(error)), kind
        assert str(error).endswith("failed\n\tat once"), kind
        assert error.args == (f"worker {EVIL} failed\n\tat once",), kind
        if not issubclass(kind, MemoryError):  # tblib, where it is loaded, cannot make one
            assert str(pickle.loads(pickle.dumps(error))) == str(error), kind


def test_pages_show_it_too() -> None:
    page = reports.html_page(EVIL, [
        reports.heading(EVIL), reports.paragraph(EVIL), reports.facts({EVIL: EVIL}),
        reports.table([EVIL], [[EVIL]]),
    ])  # fmt: skip
    assert clean(page)
    page.encode()


# Through the real commands ------------------------------------------------------------------------


class Rude(http.server.BaseHTTPRequestHandler):
    """A server whose words are for a terminal."""

    def do_GET(self) -> None:
        if "rude" in self.path:
            self.wfile.write(b"HTTP/1.0 500 " + ESC.encode() + b"\x9b2J\r\n\r\n")
        elif "moved" in self.path:
            self.wfile.write(b"HTTP/1.0 302 Found\r\nLocation: x\x1b[31m://y\r\n\r\n")
        else:
            body = f"id,{ESC},\u202eb\n1,2,3\n".encode()
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Rude)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(*args: str | bytes, cwd: Path) -> tuple[int, str]:
    """The exit code and all the output of the real command."""
    done = subprocess.run(
        [sys.executable, "-m", "speedcube", *args],
        cwd=cwd,
        env={**os.environ, "no_proxy": "*", "SPEEDCUBE_CACHE_DIR": str(cwd / "cache")},
        capture_output=True,
        timeout=120,
    )
    text = (done.stdout + done.stderr).decode()
    assert clean(text), text
    assert "Traceback" not in text, text
    return done.returncode, text


def test_a_servers_words_do_not_reach_the_terminal(site: str, tmp_path: Path) -> None:
    for path in ("rude.csv", "moved.csv", "table.csv"):
        code, text = run("petnames", "train", "--data", f"{site}/{path}", cwd=tmp_path)
        assert code == 2
        assert "\\x1b" in text, text


def test_a_long_url_is_not_repeated_whole(site: str, tmp_path: Path) -> None:
    url = f"{site}/rude?" + "x" * 100_000
    code, text = run("petnames", "train", "--data", url, cwd=tmp_path)
    assert code == 2
    assert len(text) < 1000
    assert f"({len(url) + 2:,} characters)" in text
    with pytest.raises(errors.DataFileError) as caught:
        fetch.download("ftp://" + "x" * 100_000)
    assert len(str(caught.value)) < 1000


@pytest.mark.slow
def test_names_of_files_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """Names as another user can choose them, found by a shell's ``*``."""
    name = os.fsencode("evil\x1b[31m\x9b\u202e") + b"\xff\r\n.csv"
    (tmp_path / os.fsdecode(name)).write_bytes(f"id,{ESC}\n1,2\n".encode())
    folder = os.fsdecode(name) + ".d"
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "petnames.json").write_text("{")
    for args in (
        ("petnames", "train", "--data", name),
        ("petnames", "train", "--data", b"no" + name),
        ("petnames", "train", name),
        ("petnames", "train", "--" + os.fsdecode(name)),
        ("petnames", "report", "--out", folder),
        ("petnames", "report", "--out", "no" + folder),
        ("petnames", "report", "--out", folder, "--curves", name),
        ("petnames", "generate", "--model", folder),
        ("petnames", "train", "--out", name, "--data", name),
        ("ladder", "--json", b"no/" + name),
        ("ladder", "--on", name),
        ("verify", "--on", name, "--write", name),
        ("rng", "--layout", name),
        (name,),
        ("petnames", name),
    ):
        code, text = run(*args, cwd=tmp_path)
        assert code == 2, (args, text)


def test_a_sweeps_name_does_not_reach_the_terminal(tmp_path: Path) -> None:
    settings = {
        "name": f"fit{ESC}", "space": {"lr": [0.1, ESC]}, "method": "random", "trials": 2,
        "metric": f"loss{ESC}", "direction": "minimize", "prune": None, "seed": 0,
        "fixed": {"a": ESC}, "target": None, "format": 1,
    }  # fmt: skip
    out = tmp_path / "sweep"
    (out / "trial-0000").mkdir(parents=True)
    (out / "sweep.json").write_text(json.dumps(settings))
    events = [
        {"event": "session", "time": 1.0, "workers": 2},
        {"event": "start", "time": 2.0, "trial": 0, "params": {"lr": ESC}, "ranks": 1},
        {
            "event": "end",
            "time": 9.0,
            "trial": 0,
            "status": "finished",
            "error": ESC + "\r\n\u202e",
        },
    ]
    (out / "trials.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    row = {"step": 1, "rank": 0, "attempt": 0, "time": 3.0, "seconds": 1.0,
           "metrics": {f"loss{ESC}": 0.5}}  # fmt: skip
    (out / "trial-0000" / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    code, text = run("petnames", "report", "--out", str(out), cwd=tmp_path)
    assert code == 0, text
    assert "\\x1b" in text
    assert clean((out / "report.html").read_text())
