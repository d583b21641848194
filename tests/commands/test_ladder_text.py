"""What the ladder prints and reads: tables of any width, lists of rungs, prices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from speedcube.commands.ladder import table
from speedcube.commands.ladder.climb import LadderResult, finished
from speedcube.commands.ladder.dask_time import DaskTime
from speedcube.commands.ladder.result import RungResult
from speedcube.commands.options import prices, rung_names

# --------------------------------------------------------------------- rungs and prices

RUNGS = st.one_of(
    st.sampled_from(["core", "cores", "gpu", "gpus", "cuda-cluster", "tcp://127.0.0.1:8786"]),
    st.builds(
        lambda kind, numbers: f"{kind}:{','.join(map(str, numbers))}",
        st.sampled_from(["gpus", "cuda-cluster"]),
        st.lists(st.integers(0, 99), min_size=1, max_size=4),
    ),
)


def test_numbers_belong_to_the_rung_before() -> None:
    assert rung_names("core,gpus:0,2,cores") == ["core", "gpus:0,2", "cores"]
    assert rung_names(" core , gpus:0, 2 ,5,cuda-cluster:1,0") == [
        "core", "gpus:0,2,5", "cuda-cluster:1,0",
    ]  # fmt: skip
    assert rung_names("core,2") == ["core", "2"]  # no list of numbers has begun


@given(st.lists(RUNGS, min_size=1, max_size=6), st.sampled_from([",", " , ", ",,"]))
def test_a_list_of_rungs_is_read_as_it_was_written(names: list[str], comma: str) -> None:
    assert rung_names(comma.join(names)) == names


def test_prices() -> None:
    assert prices(None) == {}
    assert prices("gpu=3.50,cpu=0.10") == {"gpu": 3.5, "cpu": 0.1}
    assert prices(" cpu = 0 ") == {"cpu": 0.0}


# --------------------------------------------------------------------- tables


def climbed(names: list[str], scaled: bool = True, priced: bool = True) -> LadderResult:
    dask = DaskTime(556.1, (10_000, 20_000), (10_000, 10_000), scaled)
    rows = [
        replace(
            RungResult(name, k + 1, 9.08 / (k + 1), 9.1, (9.08,), 2.75e8 * (k + 1),
                       f"0a4b5a4ac3ce{k:04}", 11.000004139832173).with_dask(dask),
            dask_chunks=dask.chunks,
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    paid = {"cpu": 0.1, "gpu": 3.5} if priced else {}
    text = "x = normal(10, 1, size=(9, 9)); (x + 1)[::2, ::2].mean()"
    return finished(rows, text, 2_500_000_000, 10_000_000_000, (11.0, 2e-5), paid)


def test_a_wide_table() -> None:
    text = climbed(["core", "cores", "gpus:0,2"]).table()
    assert text.splitlines()[:6] == [
        "x = normal(10, 1, size=(9, 9)); (x + 1)[::2, ::2].mean()",
        "",
        "rung      workers  seconds  first  points/s  logical/s  over core       Dask  over Dask"
        "                error  bits                  cost",
        "─" * 136,
        "core            1   9.08 s  9.1 s     275 M      1.1 G         1x  ~9.27 min     ~61.2x"
        "  +4.1e-06 (+0.21 se)  0a4b5a4ac3ce0000  $0.00025",
        "cores           2   4.54 s  9.1 s     550 M      2.2 G         2x  ~9.27 min      ~122x"
        "  +4.1e-06 (+0.21 se)  0a4b5a4ac3ce0001  $0.00025",
    ]
    assert text.splitlines()[8:] == [
        "2,500,000,000 points needed of 10,000,000,000 written (logical).",
        "Result 11.000004139832173, expected 11; se is one standard error, 2e-05.",
        "Dask on core, cores, gpus:0,2: ~ 10,000 x 20,000 in chunks of 10,000 x 10,000, scaled up.",
        "BITS DIFFER: core 0a4b5a4ac3ce0000, cores 0a4b5a4ac3ce0001, gpus:0,2 0a4b5a4ac3ce0002. "
        "They must be equal: this is a bug. Please report it with what --json writes.",
    ]


def test_eighty_columns() -> None:
    lines = climbed(["core", "cores", "cuda-cluster"]).table(80).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines if line.startswith("rung")]
    assert [head[0] for head in heads] == ["rung", "rung"]
    assert " ".join(heads[0][1:] + heads[1][1:]) == (
        "workers seconds first points/s logical/s over core Dask over Dask error bits cost"
    )


def test_columns_without_anything_to_say_are_left_out() -> None:
    result = climbed(["core"], scaled=False, priced=False)
    assert "all of it in chunks of 10,000 x 10,000." in result.table()
    assert "~" not in result.table()
    assert "cost" not in result.table()
    bare = replace(
        result,
        logical=None,
        expected=None,
        rungs=(RungResult("core", 1, 1.0, 1.0, (1.0,), 5.0, "ab", None),),
    )
    assert [c.name for c in table.columns_of(bare)] == [
        "rung", "workers", "seconds", "first", "points/s", "over core", "bits",
    ]  # fmt: skip
    assert "Bits: one rung, nothing to compare with." in bare.table()


def test_nothing_climbed() -> None:
    empty = finished([], "x", 1, problems=["core failed: no"])
    assert empty.table() == "No rung was finished.\ncore failed: no\n"
    assert empty.equal_bits


@settings(deadline=None, max_examples=60)
@given(st.lists(RUNGS, min_size=1, max_size=4), st.integers(1, 200), st.booleans(), st.booleans())
def test_no_width_cuts_a_cell(names: list[str], width: int, scaled: bool, priced: bool) -> None:
    result = climbed(names, scaled, priced)
    columns = table.columns_of(result)
    tables = table.folded(columns, width)
    assert [c for shown in tables for c in shown[1:]] == columns[1:]
    assert all(shown[0] == columns[0] for shown in tables)
    text = result.table(width)
    assert "…" not in text
    lines = text.splitlines()
    for column in columns:
        for cell in column.cells:
            assert any(cell in line for line in lines)
    pairs = max((columns[0].width + 2 + c.width for c in columns[1:]), default=0)
    assert max(map(len, lines)) <= max(width, pairs, longest_word(result))


def longest_word(result: LadderResult) -> int:
    """Prose breaks between words only."""
    prose = [result.expression, *table.notes_of(result)]
    return max(len(word) for line in prose for word in line.split())


def test_encodings_without_lines_get_ascii() -> None:
    class Ascii:
        encoding = "ascii"

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> int:
            self.text += text.encode("ascii").decode()
            return len(text)

        def flush(self) -> None: ...

    out: Any = Ascii()
    table.show(climbed(["core", "cores"]), Console(file=out, width=100))
    assert "Result 11.000004139832173" in out.text
    assert "-" * 80 in out.text
