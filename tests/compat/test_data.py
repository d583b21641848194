"""S3ImageFolder on a file system in memory under the name of S3: no bucket and no network here."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from speedcube.compat.dask_pytorch_ddp.data import S3ImageFolder
from speedcube.errors import DataFileError

COLORS = {"cats": (255, 0, 0), "dogs": (0, 255, 0)}


class FakeS3(MemoryFileSystem):
    """Memory that takes the arguments of s3fs."""

    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    protocol = "s3"
    asked: ClassVar[list[bool]] = []

    def __init__(self, anon: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.asked.append(anon)


@pytest.fixture(autouse=True)
def bucket() -> Iterator[FakeS3]:
    from PIL import Image

    known = fsspec.registry.get("s3")
    fsspec.register_implementation("s3", FakeS3, clobber=True)
    FakeS3.clear_instance_cache()
    FakeS3.asked.clear()
    store = FakeS3()
    for name, color in COLORS.items():
        for number in (2, 1):
            file = io.BytesIO()
            Image.new("P" if number == 2 else "RGB", (3, 2), color).save(file, "PNG")
            store.pipe(f"zoo/train/Images/{name}/{number}.png", file.getvalue())
    store.pipe("zoo/train/ImagesOld/birds/9.png", b"no image")
    store.pipe("zoo/trainer/readme.txt", b"hello")
    yield store
    FakeS3.store.clear()
    fsspec.registry.pop("s3", None) if hasattr(fsspec.registry, "pop") else None
    if known is not None:
        fsspec.register_implementation("s3", known, clobber=True)


def test_files_classes_and_items_in_order() -> None:
    folder = S3ImageFolder("zoo", "train/Images/")
    assert folder.all_files == [
        f"train/Images/{name}/{number}.png" for name in ("cats", "dogs") for number in (1, 2)
    ]
    assert folder.classes == ["cats", "dogs"]
    assert folder.class_to_idx == {"cats": 0, "dogs": 1}
    assert len(folder) == 4
    image, label = folder[2]
    assert (image.mode, image.size, image.getpixel((0, 0)), label) == (
        "RGB",
        (3, 2),
        (0, 255, 0),
        1,
    )
    assert folder[3][0].mode == "RGB"  # one with a palette, too


def test_a_prefix_is_what_keys_begin_with_as_in_s3() -> None:
    assert len(S3ImageFolder("zoo", "train/Images")) == 5
    assert S3ImageFolder("zoo", "train/Images").classes == ["birds", "cats", "dogs"]
    assert len(S3ImageFolder("zoo", "")) == 6


def test_transforms_and_anonymous_requests() -> None:
    folder = S3ImageFolder(
        "zoo", "train/Images/", lambda image: image.size, lambda label: label + 10, anon=True
    )
    assert [folder[i] for i in range(4)] == [((3, 2), 10), ((3, 2), 10), ((3, 2), 11), ((3, 2), 11)]
    assert FakeS3.asked[1:] == [True]


def test_what_is_not_there_and_what_is_no_image() -> None:
    with pytest.raises(DataFileError, match="nothing in s3://zoo begins with 'tests/'"):
        S3ImageFolder("zoo", "tests/")
    with pytest.raises(DataFileError, match=r"s3://zoo/train/ImagesOld/birds/9.png cannot be read"):
        S3ImageFolder("zoo", "train/ImagesOld/")[0]


def test_a_data_loader_takes_it() -> None:
    from torch.utils.data import DataLoader

    folder = S3ImageFolder("zoo", "train/Images/", lambda image: list(image.getpixel((1, 1))))
    again = pickle.loads(pickle.dumps(S3ImageFolder("zoo", "train/Images/")))
    assert again.all_files == folder.all_files
    (batch,) = list(DataLoader(folder, batch_size=4))
    assert batch[1].tolist() == [0, 0, 1, 1]
    assert batch[0][0].tolist() == [255, 255, 0, 0]
