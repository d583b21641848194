"""Calls of every function of the Array API 2025.12, as its users write them.

``x`` and ``y`` are arrays of one dtype whose shapes broadcast, ``b`` a mask of the shape of ``x``,
``k`` a whole number from -3 to 3, ``xp`` the namespace.
"""

from __future__ import annotations

from typing import Final

# What dtypes ``x`` has -> calls, one a line or between semicolons.
CALLS: Final[dict[str, str]] = {
    "all": """
        xp.asarray(x); xp.asarray(x, copy=True); xp.asarray(x, copy=False)
        xp.empty_like(x).shape
        xp.asarray(x, dtype=x.dtype); xp.asarray(x, device=x.device)
        xp.full_like(x, 1); xp.full_like(x, True, dtype=xp.bool); xp.ones_like(x); xp.zeros_like(x)
        xp.ones_like(x, dtype=xp.float32); xp.zeros_like(x, device=x.device); xp.tril(x)
        xp.triu(x)
        xp.tril(x, k=k); xp.triu(x, k=k); xp.from_dlpack(x); xp.from_dlpack(x, copy=True)
        xp.meshgrid(*([xp.reshape(x, (-1,))] * 2)); xp.full(x.shape, x.dtype == xp.bool)
        xp.meshgrid(xp.reshape(x, (-1,)), xp.reshape(y, (-1,)), indexing='ij')
        xp.astype(x, xp.bool); xp.astype(x, x.dtype); xp.astype(x, x.dtype, copy=False)
        xp.astype(xp.astype(x, xp.bool), xp.int8); xp.astype(xp.astype(x, xp.bool), xp.float32)
        xp.can_cast(x, xp.float64); xp.can_cast(x.dtype, xp.float32); xp.result_type(x, y)
        xp.result_type(x.dtype, y, xp.bool) if x.dtype == xp.bool else xp.result_type(x, 1)
        xp.isdtype(x.dtype, 'integral'); xp.isdtype(x.dtype, ('bool', 'signed integer'))
        xp.isdtype(x.dtype, 'real floating'); xp.isdtype(x.dtype, 'numeric')
        xp.isdtype(x.dtype, 'unsigned integer'); xp.isdtype(x.dtype, (xp.int8, xp.bool))
        xp.equal(x, y); xp.not_equal(x, y); x == y; x != y; x == x; xp.where(b, x, y)
        xp.where(b, x, 1)
        xp.where(x == y, x, x); xp.broadcast_arrays(x, y); xp.broadcast_shapes(x.shape, y.shape)
        xp.broadcast_to(x, (2, *x.shape)); xp.concat([x, x]); xp.concat((x, x), axis=-1)
        xp.concat([x, x], axis=None); xp.expand_dims(x, axis=0); xp.expand_dims(x, axis=-1)
        xp.expand_dims(x, axis=(0, -1)); xp.expand_dims(x); xp.flip(x); xp.flip(x, axis=0)
        xp.flip(x, axis=(0, -1)); xp.moveaxis(x, 0, -1); xp.moveaxis(x, (0, 1), (-1, 0))
        xp.permute_dims(x, tuple(range(x.ndim))[::-1]); xp.permute_dims(x, (-1, 0))
        xp.repeat(x, 2)
        xp.repeat(x, 2, axis=-1); xp.repeat(x, xp.asarray([1, 2, 3]), axis=0); xp.reshape(x, (-1,))
        xp.reshape(x, x.shape); xp.reshape(x, (-1,), copy=True); xp.roll(x, k)
        xp.unique_values(x); xp.unique_counts(x).values; xp.unique_counts(x).counts
        xp.unique_inverse(x).values; xp.unique_inverse(x).inverse_indices
        xp.unique_all(x).indices; xp.unique_all(x).inverse_indices; xp.unique_all(x).counts
        xp.isin(x, y); xp.isin(x, 1)
        xp.roll(x, k, axis=0)
        xp.roll(x, (k, 1), axis=(0, -1)); xp.squeeze(xp.expand_dims(x, axis=0), axis=0)
        xp.squeeze(x[None, ..., None], axis=(0, -1)); xp.stack([x, x]); xp.stack((x, x), axis=-1)
        xp.tile(x, (2,)); xp.tile(x, (1, 2)); xp.unstack(x); xp.unstack(x, axis=-1)
        xp.take(x, xp.asarray([0, 1]), axis=0); xp.take(x, xp.asarray([-1, 0, 0]), axis=-1)
        xp.take(x, xp.asarray([0])); xp.nonzero(x); xp.count_nonzero(x)
        xp.count_nonzero(x, axis=0)
        xp.count_nonzero(x, axis=(0, -1), keepdims=True); xp.all(x); xp.any(x); xp.all(x, axis=0)
        xp.any(x, axis=-1, keepdims=True); xp.all(x, axis=(0, 1)); xp.any(x, axis=())
        xp.matrix_transpose(x); x.mT; x.T; x.shape; x.ndim; x.size; x.dtype; x.to_device(x.device)
        x[...]; x[None]; x[0]; x[-1]; x[k:]; x[::-1]; x[..., ::2]; x[()]; x[0, ...]; x[:, None, :]
        x[b]; x[..., 0]; x[1:-1, k]; x[xp.asarray([0, 1]), 0]; x[xp.asarray([0]), xp.asarray([-1])]
        xp.diff(x, append=x) if x.dtype != xp.bool else x; x.__array_namespace__() is xp
        bool(xp.all(x == x)); len(x)""",
    "bool": """
        xp.logical_and(x, y); xp.logical_or(x, y); xp.logical_xor(x, y); xp.logical_not(x)
        xp.bitwise_and(x, y); xp.bitwise_or(x, y); xp.bitwise_xor(x, y); xp.bitwise_invert(x); ~x
        x & y; x | y; x ^ y; x & True; False | x; x ^ True; bool(xp.any(x))""",
    "integers": """
        xp.bitwise_and(x, y); xp.bitwise_or(x, y); xp.bitwise_xor(x, y); xp.bitwise_invert(x); ~x
        xp.bitwise_left_shift(x, xp.abs(y) % 7); xp.bitwise_right_shift(x, xp.abs(y) % 7); x & y
        x | y
        x ^ y; x << (xp.abs(y) % 7); x >> (xp.abs(y) % 7); x & 1; 1 | x; x << 1; x >> 1
        2 << (x % 5)
        xp.pow(x, xp.abs(y) % 3); x ** 2; x ** (xp.abs(y) % 4); int(xp.max(x))
        range(5)[xp.max(x) % 5]""",
    "numbers": """
        xp.sort(x); xp.sort(x, axis=0); xp.sort(x, descending=True); xp.sort(x, stable=True)
        xp.argsort(x); xp.argsort(x, axis=0); xp.argsort(x, axis=-1, descending=True)
        xp.abs(x); xp.add(x, y); xp.ceil(x); xp.floor(x); xp.trunc(x); xp.round(x); xp.conj(x)
        xp.subtract(x, y); xp.multiply(x, y); xp.negative(x); xp.positive(x); xp.square(x)
        xp.sign(x)
        xp.maximum(x, y); xp.minimum(x, y); xp.less(x, y); xp.less_equal(x, y); xp.greater(x, y)
        xp.greater_equal(x, y); xp.isfinite(x); xp.isinf(x); xp.isnan(x); xp.clip(x, 1, 3)
        xp.clip(x, min=1); xp.clip(x, max=2); xp.clip(x, y, y + 1); xp.clip(x); xp.clip(x, None, y)
        xp.maximum(x, 1); xp.add(x, 2); xp.subtract(3, x); xp.less(x, 2); xp.where(b, 1, x)
        xp.floor_divide(x, y + (y == 0)); xp.remainder(x, y + (y == 0)); abs(x); -x; +x; x + y
        x - y
        x * y; x // (y + (y == 0)); x % (y + (y == 0)); x < y; x <= y; x > y; x >= y; x + 1
        1 + x; x - 1
        1 - x; x * 2; 2 * x; x // 2; x % 3; x < 1; x >= 2; xp.argmax(x); xp.argmin(x); xp.max(x)
        xp.argmax(x, axis=0); xp.argmin(x, axis=-1, keepdims=True); xp.argmax(x, keepdims=True)
        xp.min(x); xp.max(x, axis=0); xp.min(x, axis=-1, keepdims=True); xp.max(x, axis=(0, 1))
        xp.min(x, axis=()); xp.prod(x); xp.sum(x); xp.sum(x, axis=0)
        xp.prod(x, axis=-1, keepdims=True)
        xp.sum(x, axis=(0, -1)); xp.sum(x, dtype=xp.float64); xp.prod(x, axis=())
        xp.sum(x, keepdims=True)
        xp.cumulative_sum(x, axis=0); xp.cumulative_sum(x, axis=-1, include_initial=True)
        xp.cumulative_prod(x, axis=0); xp.cumulative_prod(x, axis=0, include_initial=True)
        xp.cumulative_sum(xp.reshape(x, (-1,))); xp.cumulative_sum(x, axis=0, dtype=xp.float64)
        xp.diff(x); xp.diff(x, axis=0); xp.diff(x, n=2); xp.diff(x, prepend=x, axis=0)
        xp.diff(x, n=0)
        xp.take_along_axis(x, xp.argmax(x, axis=-1, keepdims=True), axis=-1)
        xp.take_along_axis(x, xp.argmin(x, axis=0, keepdims=True), axis=0)
        xp.vecdot(x, x); xp.vecdot(x, x, axis=-1)
        xp.matmul(xp.reshape(x, (-1,)), xp.reshape(x, (-1,)))
        xp.matmul(x, xp.matrix_transpose(y)); x @ xp.matrix_transpose(y); xp.tensordot(x, y)
        xp.tensordot(x, y, axes=0); xp.tensordot(x, y, axes=1)
        xp.tensordot(x, y, axes=((0,), (0,))); xp.tensordot(x, y, axes=((-1,), (-1,)))
        xp.linalg.matmul(x, xp.matrix_transpose(y)); xp.linalg.tensordot(x, y, axes=0)
        xp.linalg.vecdot(x, y); xp.linalg.matrix_transpose(x); xp.linalg.trace(x)
        xp.linalg.trace(x, offset=1); xp.linalg.diagonal(x, offset=k)
        xp.linalg.outer(xp.reshape(x, (-1,)), xp.reshape(y, (-1,)))
        xp.linalg.cross(xp.stack([x, y, x]), xp.stack([y, x, x]), axis=0)
        float(xp.max(x)); xp.linspace(0, 1, 5); x.device == xp.asarray(x).device""",
    "floats": """
        xp.acos(x); xp.acosh(x); xp.asin(x); xp.asinh(x); xp.atan(x); xp.atanh(x); xp.atan2(x, y)
        xp.fft.rfft(x / 9); xp.fft.ihfft(x / 9); xp.fft.rfftn(x / 9); xp.fft.fftfreq(4, d=0.5)
        xp.fft.rfftfreq(5); xp.copysign(x, y); xp.cos(x); xp.cosh(x)
        xp.divide(x, y); xp.exp(x); xp.expm1(x)
        xp.hypot(x, y)
        xp.log(x); xp.log1p(x); xp.log2(x); xp.log10(x); xp.logaddexp(x, y); xp.nextafter(x, y)
        xp.pow(x, y); xp.reciprocal(x); xp.signbit(x); xp.sin(x); xp.sinh(x); xp.sqrt(x); xp.tan(x)
        xp.tanh(x); x / y; x / 2; 1 / x; x ** 2; x ** y; 2 ** x; x ** 0.5; x + 0.5; xp.hypot(x, 1)
        xp.mean(x); xp.mean(x, axis=0); xp.mean(x, axis=(0, -1), keepdims=True); xp.std(x)
        xp.var(x)
        xp.std(x, axis=0, correction=1); xp.var(x, axis=-1, keepdims=True, correction=0.5)
        xp.var(x, axis=(0, 1)); xp.where(b, x, 0.5); xp.clip(x, 0.25, 0.75); xp.finfo(x.dtype).bits
        xp.finfo(x).eps; xp.finfo(x.dtype).smallest_normal; xp.floor_divide(x, y)
        xp.remainder(x, y); xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), xp.reshape(y, (-1,)))
        xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), xp.reshape(y, (-1,)), side="right")""",
    "none": """
        xp.arange(5); xp.arange(1, 7, 2); xp.arange(5.0); xp.arange(4, dtype=xp.uint8)
        xp.arange(5, 0, -2)
        xp.arange(0, 1, 0.25); xp.arange(0); xp.asarray(1); xp.asarray(1.5); xp.asarray(True)
        xp.asarray([1, 2]); xp.asarray([[1.0], [2.0]]); xp.asarray([True, False]); xp.asarray([])
        xp.asarray((1, 2), dtype=xp.float32); xp.asarray(3, dtype=xp.int8); xp.empty((2, 3)).shape
        xp.empty(3, dtype=xp.int16).dtype; xp.eye(3); xp.eye(2, 4); xp.eye(3, k=1, dtype=xp.int8)
        xp.eye(2, 3, k=-1); xp.full((2,), 3); xp.full((), 1.5); xp.full((2, 2), True)
        xp.full(3, 2, dtype=xp.float32); xp.linspace(0, 1, 5)
        xp.linspace(1, -1, 4, dtype=xp.float32)
        xp.linspace(0, 5, 5, endpoint=False); xp.linspace(0, 1, 0); xp.linspace(2, 3, 1)
        xp.ones(3)
        xp.ones((2, 3), dtype=xp.bool); xp.ones(()); xp.zeros(3); xp.zeros((2, 0))
        xp.zeros((), dtype=xp.int8)
        xp.can_cast(xp.int8, xp.int16); xp.can_cast(xp.float64, xp.float32)
        xp.result_type(xp.int8, xp.uint8)
        xp.iinfo(xp.int8).max; xp.iinfo(xp.uint64).min; xp.iinfo(xp.int32).bits
        xp.finfo(xp.float32).max
        xp.finfo(xp.float64).min; xp.finfo(xp.float32).dtype; xp.iinfo(xp.int16).dtype
        xp.isdtype(xp.int8, xp.int8)
        xp.e; xp.pi; xp.inf; xp.newaxis; xp.nan != xp.nan; xp.broadcast_shapes((2, 1), (3,))
        xp.tril(xp.ones((3, 4)))
        xp.meshgrid(xp.arange(3), xp.arange(2)); xp.real(xp.ones(3)) ; xp.__array_api_version__
        xp.float32 == xp.asarray(1.0, dtype=xp.float32).dtype; xp.uint16 == xp.uint16
        xp.int64 != xp.int32
        xp.__array_namespace_info__().default_dtypes()['real floating'] == xp.float64
        sorted(xp.__array_namespace_info__().dtypes(kind='integral'))
        xp.triu(xp.ones((2, 3)), k=1)
        sorted(xp.__array_namespace_info__().dtypes(kind=('bool', 'real floating')))
        xp.__array_namespace_info__().default_device() in xp.__array_namespace_info__().devices()
        sorted(xp.__array_namespace_info__().capabilities()); xp.uint8 == xp.iinfo(xp.uint8).dtype
        float(xp.asarray(2)); int(xp.asarray(2.5)); bool(xp.asarray(0)); complex(xp.asarray(1.5))
        [1, 2, 3][xp.asarray(1)]; int(xp.asarray(True)); float(xp.asarray(False))
        xp.uint32 in (xp.uint32,)""",
}
# `CALLS` has them in its other keys, too; here is what complex numbers have of their own or share.
CALLS["complex"] = """
    xp.real(x); xp.imag(x); xp.conj(x); xp.abs(x); abs(x); +x; -x; x + y; x - y; x * y; x + 1; 2 * x
    x * 1j; x - 2.5; 1 - x; x == y; x != y; xp.equal(x, y); xp.not_equal(x, y); xp.add(x, y)
    xp.subtract(x, y); xp.multiply(x, y); xp.negative(x); xp.positive(x); xp.square(x); xp.sum(x)
    xp.sum(x, axis=0); xp.sum(x, axis=-1, keepdims=True); xp.mean(x); xp.mean(x, axis=0)
    xp.vecdot(x, y); xp.isfinite(x); xp.isinf(x); xp.isnan(x); xp.where(b, x, y); xp.concat([x, y])
    xp.stack([x, y], axis=-1); xp.reshape(x, (-1,)); xp.flip(x); xp.roll(x, 1); xp.asarray(x)
    xp.astype(x, xp.complex64); xp.astype(x, xp.complex128); xp.ones_like(x); xp.zeros_like(x)
    xp.full_like(x, 1j); xp.full((2,), 1 + 2j); xp.isdtype(x.dtype, 'complex floating'); x.T; x[0]
    xp.isdtype(x.dtype, 'numeric'); xp.isdtype(x.dtype, 'real floating'); x.dtype; x[..., ::-1]
    xp.result_type(x, y); xp.result_type(x, 1j); xp.result_type(xp.float32, x)
    xp.finfo(x.dtype).eps
    xp.cumulative_sum(x, axis=-1); xp.take(x, xp.asarray([0]), axis=-1); xp.expand_dims(x, axis=0)
    xp.broadcast_to(x, (2, *x.shape)); xp.tril(x); xp.diff(x); xp.any(x); xp.all(x); xp.nonzero(x)
    xp.exp(x / 9); xp.log(x); xp.sqrt(x); xp.sin(x / 9); xp.cos(x / 9); xp.sinh(x / 9); x / y
    xp.divide(x, y); xp.asinh(x); xp.atan(x); xp.reciprocal(x); xp.sign(x); xp.log1p(x / 9); x ** 2
    xp.expm1(x / 9); xp.prod(x / 9); xp.cumulative_prod(x / 9, axis=-1); xp.permute_dims(x, (-1, 0))
    xp.__array_namespace_info__().default_dtypes()['complex floating'] == xp.complex128
    sorted(xp.__array_namespace_info__().dtypes(kind='complex floating')); xp.tile(x, (2,))
    xp.fft.fft(x / 9); xp.fft.ifft(x / 9, n=4); xp.fft.fftn(x / 9); xp.fft.ifftn(x / 9)
    xp.fft.irfft(x / 9); xp.fft.hfft(x / 9, n=4); xp.fft.irfftn(x / 9); xp.fft.fftshift(x)
    xp.fft.ifftshift(x, axes=(-1,))"""

# What is no function here yet, and what fails with it.
LATER: Final[dict[str, str]] = {}
