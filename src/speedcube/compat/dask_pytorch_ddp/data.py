"""`S3ImageFolder`: images in an S3 bucket as a map-style dataset for PyTorch's DataLoader."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from ...errors import DataFileError


class S3ImageFolder:
    """Images of a bucket; the directory that holds an image names its class.

    Items are (image, label): an RGB `PIL.Image.Image` and the class's number in `classes`, each
    through its transform. Needs ``pip install s3fs pillow``. It can be pickled, and read in worker
    processes of a DataLoader: each opens its own connection.

    Parameters
    ----------
    s3_bucket
        The bucket's name.
    s3_prefix
        What the keys of the images begin with, such as "dogs/Images"; they come in the order
        of their names, which is the same in every rank.
    transform, target_transform
        Functions of an image, and of a label.
    anon
        Do not sign requests: for public buckets.

    Raises
    ------
    DataFileError
        Nothing has that prefix.
    """

    def __init__(
        self,
        s3_bucket: str,
        s3_prefix: str,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        anon: bool | None = False,
    ) -> None:
        self.s3_bucket, self.s3_prefix, self.anon = s3_bucket, s3_prefix, bool(anon)
        self.transform, self.target_transform = transform, target_transform
        self.all_files = self._keys()
        self.classes = sorted({_class(key) for key in self.all_files})
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.all_files)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from PIL import Image

        key = self.all_files[index]
        with self._bucket().open(f"{self.s3_bucket}/{key}", "rb") as file:
            try:
                image: Any = Image.open(file).convert("RGB")
            except OSError as err:
                raise DataFileError(
                    f"s3://{self.s3_bucket}/{key} cannot be read as an image: {err}; give a prefix "
                    "that only images have"
                ) from err
        label: Any = self.class_to_idx[_class(key)]
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    def _bucket(self) -> Any:
        """The file system: fsspec keeps one for each process, so that forks are safe."""
        import fsspec

        return fsspec.filesystem("s3", anon=self.anon)

    def _keys(self) -> list[str]:
        """The keys that begin with the prefix, sorted; markers of directories left out."""
        folder, name = posixpath.split(f"{self.s3_bucket}/{self.s3_prefix}")
        paths = self._bucket().find(folder, prefix=name)
        names = (path.lstrip("/").removeprefix(f"{self.s3_bucket}/") for path in paths)
        keys = sorted(
            name for name in names if name.startswith(self.s3_prefix) and not name.endswith("/")
        )
        if not keys:
            raise DataFileError(
                f"nothing in s3://{self.s3_bucket} begins with {self.s3_prefix!r}; check the "
                "bucket, the prefix, and anon=True for a public bucket"
            )
        return keys


def _class(key: str) -> str:
    return posixpath.basename(posixpath.dirname(key))
