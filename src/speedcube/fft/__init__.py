"""Fourier transforms with the names of ``numpy.fft`` and of the Array API: lazy.

They are pocketfft's, as NumPy's are, or cuFFT's on a GPU: about n eps, and no law covers their bits
(`Array.explain` says where). What surrounds them is fused, and has its laws.
"""

from .along_one import fft, hfft, ifft, ihfft, irfft, rfft
from .along_several import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
