"""Philox4x32-10 against the public vectors, in NumPy and in IR; keys pinned."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.math.streams import stream
from speedcube.philox import MULTIPLIERS, ROUNDS, WEYL, derive_key, philox4x32, round_keys

ONES = 0xFFFFFFFF
# Random123's kat_vectors, philox4x32 with 10 rounds: (counter, key, result).
VECTORS = {
    "zeros": (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    "ones": (
        (ONES, ONES, ONES, ONES),
        (ONES, ONES),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    "pi": (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}


def words(counter: tuple[int, ...], key: int) -> tuple[int, ...]:
    return tuple(int(w) for w in philox4x32([np.uint64(c) for c in counter], key))


def scalar_philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """The paper's definition on Python integers."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & ONES, (p0 >> 32) ^ c[3] ^ k1, p0 & ONES]
        k0, k1 = (k0 + 0x9E3779B9) & ONES, (k1 + 0xBB67AE85) & ONES
    return tuple(c)


def test_constants_are_those_of_cpp26() -> None:
    assert MULTIPLIERS == (0xD2511F53, 0xCD9E8D57)
    assert WEYL == (0x9E3779B9, 0xBB67AE85)
    assert ROUNDS == 10


@pytest.mark.parametrize("name", VECTORS)
def test_known_answer(name: str) -> None:
    counter, (k0, k1), result = VECTORS[name]
    assert words(counter, k0 | k1 << 32) == result


def test_cpp26_ten_thousandth_value() -> None:
    # std::philox4x32 promises that its 10000th output from the default seed is 1955073260: the
    # last word of block 2499, key (20111115, 0).
    assert words((2499, 0, 0, 0), 20111115)[3] == 1955073260


@given(
    st.tuples(*[st.integers(0, ONES)] * 4),
    st.tuples(*[st.integers(0, ONES)] * 2),
)
def test_numpy_form_is_the_papers(counter: tuple[int, ...], key: tuple[int, int]) -> None:
    assert words(counter, key[0] | key[1] << 32) == scalar_philox(counter, key)


@pytest.mark.parametrize("words_out", [False, True], ids=["A-B", "w0-w3"])
def test_ir_phase_gives_the_vectors(words_out: bool) -> None:
    """The stage fixes the counter's upper words at 0: checked over blocks and a pinned one."""
    dtype = "float32" if words_out else "float64"
    stage = stream("uniform", dtype, 0, False).bodies[0]
    blocks = [0, 1, 511, 512, 2499, ONES, ONES + 1, 2**53 - 1, 2**64 - 1]
    for key in (0, 20111115, 2**64 - 1, 0x299F31D0A4093822):
        params = np.array([*round_keys(key), 0, 0], np.uint64)
        out = evaluate(stage, {"block": np.array(blocks, np.uint64)}, params)
        for k, block in enumerate(blocks):
            wanted = scalar_philox((block & ONES, block >> 32, 0, 0), (key & ONES, key >> 32))
            if words_out:
                words_of_block = tuple(int(out[f"w{w}"][k]) for w in range(4))
            else:
                a, b = int(out["A"][k]), int(out["B"][k])
                words_of_block = (a & ONES, a >> 32, b & ONES, b >> 32)
            assert words_of_block == wanted, f"block {block}, key {key:#x}"


def test_ir_stage_gives_the_public_zero_vector() -> None:
    stage = stream("uniform", "float32", 0, False).bodies[0]
    params = np.array([*round_keys(0), 0, 0], np.uint64)
    out = evaluate(stage, {"block": np.zeros(1, np.uint64)}, params)
    assert tuple(int(out[f"w{k}"][0]) for k in range(4)) == VECTORS["zeros"][2]


def test_round_keys_wrap_in_32_bits() -> None:
    keys = round_keys(0xFFFFFFFF_FFFFFFFF)
    assert len(keys) == 20
    assert keys[:4] == (ONES, ONES, 0x9E3779B8, 0xBB67AE84)
    assert max(keys) <= ONES


PINNED_KEYS = {
    ((0,), (), 0): 0x37713418DFF125C5,
    ((0,), (), 1): 0xF6A6DCB32B8799AB,
    ((1, 2), (), 0): 0x80CE45787287D9BC,
    ((12,), (), 0): 0xF83EA5E6717DCF8C,
    ((0,), (3, 1), 7): 0x9C69A6A552573442,
    ((2**128 - 1,), (), 0): 0x9A70AEA7D7F597D5,
}


@pytest.mark.parametrize("parts", PINNED_KEYS, ids=str)
def test_keys_are_pinned(parts: tuple[tuple[int, ...], tuple[int, ...], int]) -> None:
    assert derive_key(*parts) == PINNED_KEYS[parts]


def test_key_is_the_documented_hash() -> None:
    digest = hashlib.blake2b(b"1,2|3|4", digest_size=8, person=b"speedcube v1").digest()
    assert derive_key((1, 2), (3,), 4) == int.from_bytes(digest, "little")


def test_generators_take_keys_by_call_and_spawn() -> None:
    rng = sc.random.default_rng(5)
    first, second = rng.random(3), rng.random(3)
    (child,) = rng.spawn(1)
    inner = child.random(3)
    keys = [a._expr.source.key for a in (first, second, inner)]
    assert keys == [derive_key((5,), (), 0), derive_key((5,), (), 1), derive_key((5,), (0,), 0)]
    assert len(set(keys)) == 3


def test_spawning_twice_gives_new_children() -> None:
    rng = sc.random.default_rng(5)
    keys = [g.random(1)._expr.source.key for g in (*rng.spawn(3), *rng.spawn(2))]
    assert len(set(keys)) == 5
