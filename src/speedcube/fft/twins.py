"""NumPy's Fourier transforms that find their twins here: ``np.fft.fft(x)``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..api.methods.numpy_protocol import register
from . import along_one, along_several, frequencies

# Those that take an array, by module.
_SAME: Final[dict[Any, str]] = {
    along_one: "fft ifft rfft irfft hfft ihfft",
    along_several: "fftn ifftn rfftn irfftn fft2 ifft2 rfft2 irfft2",
    frequencies: "fftshift ifftshift",
}

register(
    {
        getattr(np.fft, name): getattr(module, name)
        for module, names in _SAME.items()
        for name in names.split()
    }
)
