"""Files that lie, are cut short, or are no files: an error that says so, and no code that runs."""

from __future__ import annotations

import io
import os
import pickle
import random
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

numcodecs = pytest.importorskip("numcodecs", reason='needs pip install "speedcube[io]"')
zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
pytestmark = pytest.mark.filterwarnings("ignore")  # Zarr's, of what it makes of such files
DATA: Any = np.arange(24.0).reshape(4, 6)

WORDS: Final = (
    *(b"0", b"9" * 20, b"-1", b"None", b"null", b"[[[[", b"(", b"True", b"1e99", b"|O", b"'"),
    *(b'"', b"{}", b"NaN", b"\\", b"\x00", b"|V8", b"__import__('os').system('touch CODE')"),
)


def mutated(good: bytes, rnd: random.Random) -> bytes:
    """``good`` with a few bytes changed, cut out, added, or cut off."""
    data = bytearray(good)
    for _ in range(rnd.choice([1, 1, 1, 2, 4])):
        at = rnd.randrange(len(data) or 1)
        change = rnd.randrange(5)
        if change == 0 and data:
            data[at] = rnd.randrange(256)
        elif change == 1:
            del data[at : at + rnd.choice([1, 3, 50])]
        elif change == 2:
            data[at:at] = bytes(rnd.randrange(256) for _ in range(rnd.choice([1, 4])))
        elif change == 3:
            word = rnd.choice(WORDS)
            data[at : at + rnd.choice([0, 1, len(word)])] = word
        else:
            del data[at:]
    return bytes(data)


def good_files(place: Path) -> dict[str, Path]:
    """A file or a folder of each kind."""
    np.save(place / "x.npy", DATA)
    np.savez(place / "x.npz", x=DATA)
    np.savez_compressed(place / "y.npz", x=DATA)
    sc.to_npy_stack(str(place / "stack"), sc.asarray(DATA, chunks=(2, 6)))
    for name, options in {
        "v2.zarr": {"zarr_format": 2},
        "v3.zarr": {"zarr_format": 3},
        "shards.zarr": {"shards": (4, 6)},
        "plain.zarr": {"compressors": None},
        "gzip.zarr": {"compressors": zarr.codecs.GzipCodec()},
        "bz2.zarr": {"compressors": numcodecs.BZ2(), "zarr_format": 2},
    }.items():
        zarr.create_array(store=place / name, data=DATA, chunks=(2, 3), **options)
    return {path.name: path for path in place.iterdir()}


def read(path: Path) -> None:
    array = sc.from_npy_stack(path) if path.name.startswith("stack") else sc.open(path)
    if array.nbytes < 1e7:
        array.sum().compute(on="core")


def try_mutants(tmp_path: Path, count: int, seed: int) -> int:
    """How many of ``count`` mutated files were refused; others are read as they are."""
    rnd, refused, told = random.Random(seed), 0, list[str]()
    kinds = good_files(tmp_path)
    for _ in range(count):
        good = kinds[rnd.choice(sorted(kinds))]
        bad = tmp_path / f"bad{good.suffix}" if good.is_file() else tmp_path / f"{good.stem}-bad"
        if good.is_dir():
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(good, bad)
            files = sorted(path for path in bad.rglob("*") if path.is_file())
            one = rnd.choice(files)
        else:
            shutil.copy(good, bad)
            one = bad
        one.write_bytes(mutated(one.read_bytes(), rnd))
        try:
            read(bad)
        except (errors.SpeedcubeError, FileNotFoundError) as err:
            refused += 1
            told.append(str(err))
    words = ("bad", "chunk", "dtype", "zarr /")  # of the file, of what is in it
    assert [text for text in told if not any(word in text for word in words)] == []
    assert not (tmp_path / "CODE").exists()
    assert not Path("CODE").exists()
    return refused


def test_mutated_files(tmp_path: Path) -> None:
    assert try_mutants(tmp_path, 1000, seed=1) > 500


@pytest.mark.slow
def test_ten_thousand_mutated_files(tmp_path: Path) -> None:
    assert try_mutants(tmp_path, 10_000, seed=2) > 5000


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), \n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 400 + b",), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 3), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -3), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
        b"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (3,), }",
        b"(" * 5000,
        b"-" * 9000 + b"1",
        b"{'descr': '<f8', 'fortran_order': 3, 'shape': 3}",
        b"'" + b"\\" * 99,
    ],
    ids=range(11),
)
def test_headers_that_lie(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24))
    with pytest.raises((ValueError, TypeError), match=r"x\.npy|dtype") as caught:
        sc.open(path)
    assert isinstance(caught.value, errors.SpeedcubeError)


@pytest.mark.parametrize(("kind", "most"), [("<f8", 64), ("<c16", 63)])
def test_headers_of_too_many_axes(tmp_path: Path, kind: str, most: int) -> None:
    number = np.ones((), kind)
    for count in (most, most + 1):
        told = {"descr": kind, "fortran_order": False, "shape": (1,) * count}
        with (tmp_path / "x.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, told)
            file.write(number.tobytes())
        if count == most:
            assert sc.open(tmp_path / "x.npy").compute().shape == (1,) * most
    text = rf"x\.npy cannot be read: its header is wrong \({most + 1} axes; an array has at most 64"
    with pytest.raises(errors.UnsafeFileError, match=text):
        sc.open(tmp_path / "x.npy")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "CODE"),)

    np.save(tmp_path / "x.npy", np.array([Code()]), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=np.array([Code()]))
    sc.to_npy_stack(str(tmp_path / "stack"), sc.asarray(DATA))
    info = {"chunks": Code(), "dtype": DATA.dtype, "axis": 0}
    (tmp_path / "stack" / "info").write_bytes(pickle.dumps(info))
    for path in (tmp_path / "x.npy", tmp_path / "x.npz", tmp_path / "stack"):
        with pytest.raises(errors.UnsafeFileError, match="never loaded"):
            read(path)
    assert not (tmp_path / "CODE").exists()


def test_stacks_that_lie(tmp_path: Path) -> None:
    place = tmp_path / "stack"
    sc.to_npy_stack(str(place), sc.asarray(DATA, chunks=(2, 6)))
    assert np.array_equal(sc.from_npy_stack(place).compute(), DATA)
    assert sc.from_npy_stack(place).chunks == ((2, 2), (6,))
    np.save(place / "1.npy", DATA)
    with pytest.raises(errors.ShapeError, match=r"1\.npy holds float64 of shape \(4, 6\)"):
        sc.from_npy_stack(place)
    os.remove(place / "1.npy")
    with pytest.raises(FileNotFoundError, match=r"1\.npy"):
        sc.from_npy_stack(place)
    for info in ({}, {"chunks": ((2,),), "dtype": "x", "axis": 0}, {"chunks": 3}, [1]):
        (place / "info").write_bytes(pickle.dumps(info))
        with pytest.raises(errors.DataFileError, match="info does not say how the files lie"):
            sc.from_npy_stack(place)
    for code in (b"\x8e", b"\x96"):  # bytes and a bytearray, which take memory at once
        (place / "info").write_bytes(b"\x80\x05" + code + (1 << 62).to_bytes(8, "little") + b"x.")
        with pytest.raises(errors.UnsafeFileError, match="info cannot be read"):
            sc.from_npy_stack(place)


@pytest.mark.parametrize("name", ["zarr.json", "c/0/0"])
def test_pipes_in_an_array_of_zarr_are_not_waited_for(tmp_path: Path, name: str) -> None:
    place = tmp_path / "x.zarr"
    zarr.create_array(store=place, data=DATA, chunks=(2, 3))
    os.remove(place / name)
    os.mkfifo(place / name)
    with pytest.raises(OSError, match="not a regular file"):
        sc.open(place).sum().compute()


def test_pipes_and_devices(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.npy")
    os.mkfifo(tmp_path / "x.npz")
    os.mkdir(tmp_path / "stack")
    os.mkfifo(tmp_path / "stack" / "info")
    places = (tmp_path / "x.npy", tmp_path / "x.npz", Path("/dev/zero"), tmp_path / "*.np?")
    for place in (*places, tmp_path / "stack"):
        with pytest.raises(OSError, match="not a regular file: '/") as caught:
            read(place)
        named = {"*.np?": "x.npy", "stack": "stack/info"}.get(place.name, place.name)
        assert str(caught.value.filename).endswith(f"/{named}")


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", DATA)
    os.mkfifo(tmp_path / "1.npy")
    np.save(tmp_path / "2.npy", DATA)
    for place in ([tmp_path / f"{k}.npy" for k in range(3)], str(tmp_path / "*.npy"), tmp_path):
        with pytest.raises(OSError, match=r"not a regular file: '.*/1\.npy'"):
            sc.open(place)
    with pytest.raises(IsADirectoryError, match=f"'{tmp_path}'"):
        sc.from_npy(tmp_path)
    with pytest.raises(OSError, match=r"error: '/proc/self/mem'"):
        sc.open("/proc/self/mem")
    place = tmp_path / "x.zarr"
    zarr.create_array(store=place, data=DATA, chunks=(2, 3), compressors=None)
    os.remove(place / "c/1/0")
    os.mkfifo(place / "c/1/0")
    with pytest.raises(OSError, match=r"not a regular file: '.*/c/1/0'"):
        sc.open(place).sum().compute()


@pytest.mark.parametrize("version", [2, 3])
def test_a_corrupt_chunk_is_named(tmp_path: Path, version: Any) -> None:
    place = tmp_path / "x.zarr"
    codec: Any = zarr.codecs.Crc32cCodec() if version == 3 else "auto"
    zarr.create_array(store=place, data=DATA, chunks=(2, 3), zarr_format=version, compressors=codec)
    chunk = place / ("c/1/0" if version == 3 else "1.0")
    data = bytearray(chunk.read_bytes())
    data[3] ^= 0xFF
    chunk.write_bytes(data)
    x = sc.open(place)
    assert np.array_equal(x[:2].compute(), DATA[:2])
    with pytest.raises(errors.DataFileError, match=r"zarr /, chunk \(1, 0\), cannot be read"):
        x.sum().compute()
    chunk.write_bytes(chunk.read_bytes()[:2])
    with pytest.raises(errors.DataFileError, match=r"chunk \(1, 0\), cannot be read"):
        x.compute()


def test_an_error_of_a_codec_without_a_number_names_the_chunk(tmp_path: Path) -> None:
    for version, codec in (
        (3, zarr.codecs.GzipCodec()),
        (2, numcodecs.GZip()),
        (2, numcodecs.BZ2()),
        (2, numcodecs.LZMA()),
    ):
        place: Any = {"store": tmp_path / "x.zarr", "zarr_format": version, "overwrite": True}
        zarr.create_array(data=DATA, chunks=(2, 3), compressors=codec, **place)
        (tmp_path / "x.zarr" / ("c/1/0" if version == 3 else "1.0")).write_bytes(b"hello")
        x = sc.open(tmp_path / "x.zarr")
        assert np.array_equal(x[:2].compute(), DATA[:2])
        with pytest.raises(errors.DataFileError, match=r"zarr /, chunk \(1, 0\), cannot be read"):
            x.sum().compute()


@pytest.mark.parametrize("shards", [None, (2, 6)])
def test_missing_chunks_are_fill_values_or_named(tmp_path: Path, shards: Any) -> None:
    place = tmp_path / "x.zarr"
    zarr.create_array(store=place, data=DATA, chunks=(2, 3), shards=shards, fill_value=7.0)
    assert np.array_equal(sc.from_zarr(place, missing="raise").compute(), DATA)
    os.remove(place / "c/1/0")
    filled = DATA.copy()
    filled[2:, : 6 if shards else 3] = 7.0
    assert np.array_equal(sc.from_zarr(place).compute(), filled)
    strict = sc.from_zarr(place, missing="raise")
    assert np.array_equal(strict[:2].compute(), DATA[:2])
    with pytest.raises(errors.DataFileError, match=r"has no chunk \(1, 0\)"):
        strict.sum().compute()
    with pytest.raises(errors.ParameterError, match="missing='fill' or 'raise'"):
        sc.from_zarr(place, missing="nan")


def test_arrays_that_shrink_while_they_are_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=DATA, maxshape=(None, 6), chunks=(2, 6))
        x = sc.from_array(data)
        data.resize((2, 6))
        with pytest.raises(errors.DataFileError, match=r"Dataset.*(changed|cannot be read)"):
            x.sum().compute()
    np.savez(tmp_path / "x.npz", x=DATA)
    x = sc.open(tmp_path / "x.npz")
    os.truncate(tmp_path / "x.npz", 150)
    with pytest.raises(errors.DataFileError, match="cut short"):
        x.sum().compute()


@pytest.mark.parametrize("url", ["memory://me:secret@host/x", "http://me:secret@127.0.0.1:1/x"])
def test_credentials_are_never_shown(url: str) -> None:
    pytest.importorskip("fsspec")
    options = {"token": "hidden-token"} if url.startswith("memory") else None
    with pytest.raises(Exception) as caught:  # noqa: PT011  (which one is Zarr's affair)
        sc.from_zarr(url, storage_options=options)
    shown = f"{caught.value!r} {caught.value} {caught.value.__cause__}"
    assert "secret" not in shown
    assert "hidden-token" not in shown


def test_arrays_of_a_store_of_fsspec() -> None:
    pytest.importorskip("fsspec")
    z = zarr.create_array(store="memory://somewhere/x.zarr", data=DATA, chunks=(2, 3))
    x = sc.open("memory://somewhere/x.zarr")
    assert x.chunks == ((2, 2), (3, 3))
    assert np.array_equal(x.compute(), z[...])


def test_nothing_there(tmp_path: Path) -> None:
    for place in (tmp_path / "x.zarr", tmp_path / "x.npz", tmp_path / "x.npy"):
        with pytest.raises(FileNotFoundError, match=r"x\."):
            sc.open(place)
    with pytest.raises(FileNotFoundError, match=r"x\.zarr"):
        sc.from_zarr(tmp_path / "x.zarr")
    (tmp_path / "x.npz").write_bytes(b"PK no zip")
    with pytest.raises(errors.UnsafeFileError, match=r"not an \.npz file"):
        sc.open(tmp_path / "x.npz")


def test_headers_of_python_two_and_io(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, DATA)
    data = file.getvalue().replace(b"(4, 6), }  ", b"(4L, 6L), }")
    (tmp_path / "x.npy").write_bytes(data)
    assert np.array_equal(sc.open(tmp_path / "x.npy").compute(), DATA)


@pytest.mark.parametrize("name", ["../x.zarr", "/../x.zarr", "y/../../x.zarr", "..\\x.zarr", "."])
def test_names_lead_to_nothing_outside_of_a_group(tmp_path: Path, name: str) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr")
    zarr.open_group(tmp_path / "group.zarr", mode="w")
    with pytest.raises(errors.DataFileError, match=r"group\.zarr cannot be read"):
        sc.open(tmp_path / "group.zarr", name)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("codec", [None, "zstd"])
def test_links_are_followed_to_regular_files_alone(
    tmp_path: Path, version: Any, codec: str | None
) -> None:
    """Who opens a folder trusts its links, as with any other program."""
    codecs = [] if codec is None else [codec]
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", zarr_format=version, codecs=codecs)
    inside = tmp_path / "x.zarr" / ("c/0/0" if version == 3 else "0.0")
    outside = tmp_path / "moved"
    inside.rename(outside)
    inside.symlink_to(outside)
    assert np.array_equal(sc.open(tmp_path / "x.zarr").compute(), DATA)
    inside.unlink()
    inside.symlink_to("/dev/zero")
    with pytest.raises((OSError, errors.DataFileError)):
        sc.open(tmp_path / "x.zarr").compute()
    inside.unlink()
    inside.symlink_to(inside)
    with pytest.raises((OSError, errors.DataFileError)):
        sc.open(tmp_path / "x.zarr").compute()


def test_an_array_that_changes_while_it_is_read_is_told_or_read(tmp_path: Path) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", codecs=["zstd"])
    x = sc.open(tmp_path / "x.zarr")
    sc.asarray(DATA + 1).to_zarr(tmp_path / "x.zarr", codecs=["zstd"], mode="w")
    assert np.array_equal(x.compute(), DATA + 1)  # the elements that are there now
    sc.asarray(DATA.astype("f4")).to_zarr(tmp_path / "x.zarr", codecs=["zstd"], mode="w")
    told = r"x\.zarr/zarr\.json was changed.*: data_type was float64 and is float32; open it again"
    with pytest.raises(errors.DataFileError, match=told):
        x.compute()


@pytest.mark.parametrize("name", ["nope", "../k.zarr", "x"])
def test_one_array_has_no_other_in_it(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "x.npy", DATA)
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr")
    sc.asarray(DATA + 1).to_zarr(tmp_path / "k.zarr")
    array = zarr.open(tmp_path / "x.zarr", mode="r")
    for begin in (
        lambda: sc.open(tmp_path / "x.npy", name),
        lambda: sc.open(str(tmp_path / "?.npy"), name),
        lambda: sc.open(tmp_path / "x.zarr", name),
        lambda: sc.from_zarr(tmp_path / "x.zarr", name),
        lambda: sc.from_zarr(array, name),
    ):
        with pytest.raises(errors.DataFileError, match=r"x\.(npy|zarr) is one array") as caught:
            begin()
        assert str(caught.value).endswith(f"none named {name!r}: open it without a name")
    assert np.array_equal(sc.from_zarr(tmp_path / "x.zarr", "").compute(), DATA)


def test_bytes_and_addresses_of_this_machine_are_paths(tmp_path: Path) -> None:
    place = tmp_path / "a b*"
    place.mkdir()
    np.save(place / "x.npy", DATA)
    np.savez(place / "x.npz", a=DATA)
    sc.asarray(DATA).to_zarr(place / "x.zarr")
    for name in ("x.npy", "x.npz", "x.zarr"):
        path = place / name
        for one in (os.fsencode(path), f"file://{path}", f"file://localhost{path}", path.as_uri()):
            assert np.array_equal(sc.open(one).compute(), DATA)
            assert np.array_equal(sc.open([one, path])[1].compute(), DATA)
    assert sc.open(f"file://{tmp_path}/*/?.npy").shape == (1, 4, 6)
    for wrong, told in ((b"nope.npy", "'nope.npy'"), (f"file://{place}/y.npy", f"'{place}/y.npy'")):
        with pytest.raises(FileNotFoundError) as caught:
            sc.open(wrong)
        assert str(caught.value).endswith(told)
    with pytest.raises(FileNotFoundError, match="there is no Zarr array or group"):
        sc.open(f"file://elsewhere{place}/x.npy")
