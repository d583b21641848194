"""The CSV reader: every spelling of the column, and every fault with file, line and reason."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speedcube.errors import DataFileError
from speedcube.petnames.names import reader, source


def names(content: bytes) -> list[str]:
    return reader.read_bytes(content, "'pets.csv'").names


def fault(content: bytes) -> str:
    with pytest.raises(DataFileError) as caught:
        names(content)
    return str(caught.value)


def test_names_quotes_and_blank_lines() -> None:
    content = b'Animal\'s Name,Species\nRex,Dog\n\n"Bo, Jr.",Cat\r\n"say ""hi""",Dog\n"a\nb",Cat'
    assert names(content) == ["Rex", "Bo, Jr.", 'say "hi"', "a\nb"]


def test_the_checksum_is_that_of_the_bytes() -> None:
    content = "\ufeffname\r\nZoé\r\n".encode()
    table = reader.read_bytes(content, "x")
    assert table == reader.NamesFile(["Zoé"], hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize(
    "header",
    [
        "License Issue Date,License Number,Animal's Name,Species,Primary Breed",
        "license_issue_date,license_number,animal_s_name,species,primary_breed",
        "a,b,Animal\u2019s Name,c,d",
        "a,b,AnimalName,c,d",
        "a,b, NAME ,c,d",
        "name,b,Animal's Name,c,d",  # two columns of names: the portal's own wins
    ],
)
def test_the_column_is_found_by_its_name(header: str) -> None:
    assert names(f"{header}\n1,2,Rex,4,5\n".encode()) == ["Rex"]


FAULTS = {
    "empty": (b"", 1, "the file is empty; its first line names the columns"),
    "blank lines": (b"\n\r\n\n", 1, "the file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", 1, "the file is empty"),
    "latin-1": (b"name\nRex\nZo\xe9\n", 3, "byte 3, 0xe9, is not UTF-8; save it as UTF-8"),
    "a surrogate": (b"name\n\xed\xa0\x80\n", 2, "byte 1, 0xed, is not UTF-8"),
    "cut within a character": (b"name\nRex\n\xc3", 3, "byte 1, 0xc3, is not UTF-8"),
    "utf-16": ("name\nRex\n".encode("utf-16"), 1, "it is UTF-16 text, not a CSV file in UTF-8"),
    "utf-16 without mark": ("name\nRex\n".encode("utf-16-le"), 1, "it holds a NUL byte"),
    "gzip": (b"\x1f\x8b\x08\0", 1, "it is a gzip archive, not a CSV file"),
    "spreadsheet": (b"PK\x03\x04", 1, "it is a zip archive or a spreadsheet"),
    "nul": (b"name\nRex\nB\0o\n", 3, "it holds a NUL byte, which no text does"),
    "no column": (b"Species,Breed\nDog,Pug\n", 1, 'no column "Animal\'s Name" (or "name") among'),
    "semicolons": (b"name;species\nRex;Dog\n", 1, "among 'name;species'; separate columns by comm"),
    "many columns": (b"x," * 200 + b"y\n", 1, "'x', 'x...; separate"),
    "two columns": (b"Name,name\nRex,Bo\n", 1, "2 columns are names of pets"),
    "short row": (b"id,name\n1,Rex\n2\n", 3, "1 fields, where the header names 2"),
    "long row": (b"id,name\n1,Rex\n\n2,Bo,Cat\n", 4, "3 fields, where the header names 2"),
    "open quote": (
        b'name\nRex\n"Bo\nMax\nTom\n',
        3,
        "a quotation mark opens here and the file ends",
    ),
    "quote within": (b'name\n"Bo" the cat\n', 2, "a quotation mark within a field; write it twice"),
    "row over lines": (b'id,name\n"1\n2",Rex,x\n', 2, "3 fields, where the header names 2"),
    "old Mac": (b"name\rRex\rBo\r", 1, "a carriage return without a line feed"),
    "long line": (b"name\n" + b"x" * (1 << 20) + b"\n", 2, "longer than 1,048,576 bytes"),
    "endless field": (
        b'name\n"' + (b"x" * 1023 + b"\n") * 1100 + b'"\n',
        2,
        "a field of more than 1,048,576 characters",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_said_with_file_line_and_reason(name: str) -> None:
    content, line, reason = FAULTS[name]
    said = fault(content)
    assert said.startswith(f"'pets.csv', line {line}: ")
    assert reason in said
    assert "\n" not in said


def test_a_field_may_be_large_and_the_csv_modules_limit_stays() -> None:
    before = csv.field_size_limit()
    large = "x" * 900_000
    assert names(f"name,note\nRex,{large}\n".encode()) == ["Rex"]
    fault(b'name\n"')
    assert csv.field_size_limit() == before


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def said(path: Path) -> str:
        with pytest.raises(DataFileError) as caught:
            reader.read_file(path)
        return str(caught.value)

    assert said(tmp_path) == f"{str(tmp_path)!r} cannot be read: Is a directory"
    missing = tmp_path / "none.csv"
    assert said(missing) == f"{str(missing)!r} cannot be read: No such file or directory"
    assert said(missing / "x").endswith("cannot be read: No such file or directory")
    locked = tmp_path / "locked.csv"
    locked.write_text("name\nRex\n")
    locked.chmod(0)
    if not os.access(locked, os.R_OK):  # root reads it all the same
        assert said(locked).endswith("cannot be read: Permission denied")


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    receive, send = os.pipe()
    os.write(send, b"name\nRex\n")
    os.close(send)
    try:
        assert reader.read_file(f"/dev/fd/{receive}").names == ["Rex"]
    finally:
        os.close(receive)


CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
@settings(max_examples=60)
def test_what_the_csv_module_writes_is_read(
    rows: list[tuple[str, str]], ending: str, mark: bool
) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows(
        [("species", "name"), *rows]
    )
    content = ("\ufeff" * mark + written.getvalue()).encode()
    assert names(content) == [name for _, name in rows]


@given(st.binary(max_size=60), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=300)
def test_damaged_bytes_are_read_or_refused_in_our_words(junk: bytes, start: int, size: int) -> None:
    content = bytearray(b'id,name\n1,Rex\n2,"Bo, Jr."\r\n3,Anna\n')
    content[start : start + size] = junk
    try:
        names(bytes(content))
    except DataFileError as err:
        said = str(err)
    else:
        return
    assert re.match(r"'pets\.csv', line \d+: \S", said)


def test_the_sample_that_ships() -> None:
    sample = source.sample()
    assert len(sample.names) == len(set(sample.names)) == 600
    assert {"luna", "charlie", "sweet pea"} <= set(sample.names)
    assert sample.origin == "the sample of speedcube"


def test_a_file_without_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pets.csv"
    path.write_text("name\n#1\nR2D2\n\n")
    with pytest.raises(DataFileError, match="holds 0 names of a-z, hyphen, full stop and space"):
        source.load(str(path), print)
    path.write_text("name\nRex\n")
    with pytest.raises(DataFileError, match=r"holds 1 names .* of which 0 are held out"):
        source.load(str(path), print)
