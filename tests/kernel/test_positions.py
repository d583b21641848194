"""Where a position's number lies in the stream: the page's formula, and the words of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.math.positions import SEGMENT, block_of, blocks_of_segment, value_at
from speedcube.kernel.math.streams import stream

POSITIONS = np.array(
    [*range(1300), *(2**k + d for k in range(11, 63) for d in (-1, 0, 1)), 2**63 - 1], np.int64
)


@pytest.mark.parametrize("per_block", [1, 2, 4])
def test_a_positions_block_is_that_of_the_page(per_block: int) -> None:
    width = 1024 // per_block
    blocks = evaluate(block_of(per_block), {"position": POSITIONS})["block"]
    assert blocks.dtype == np.uint64
    assert blocks.tolist() == [p // 1024 * width + p % width for p in POSITIONS.tolist()]


@pytest.mark.parametrize("per_block", [1, 2, 4])
def test_a_position_takes_its_own_of_its_blocks_values(per_block: int) -> None:
    width = 1024 // per_block
    inputs = {f"v{k}": np.full(POSITIONS.shape, k, np.int64) for k in range(per_block)}
    values = evaluate(value_at(per_block, "int64"), {"position": POSITIONS, **inputs})["x"]
    assert values.tolist() == [p % 1024 // width for p in POSITIONS.tolist()]


@pytest.mark.parametrize("per_block", [1, 2, 4])
def test_the_positions_of_a_segment_share_its_blocks(per_block: int) -> None:
    """Each value of each block of the segment belongs to one position."""
    positions = np.arange(5 * SEGMENT, 6 * SEGMENT)
    blocks = evaluate(block_of(per_block), {"position": positions})["block"]
    numbers, counts = np.unique(blocks, return_counts=True)
    assert len(numbers) == blocks_of_segment(per_block) == SEGMENT // per_block
    assert (numbers[0], set(counts.tolist())) == (5 * SEGMENT // per_block, {per_block})


@pytest.mark.parametrize(
    ("distribution", "dtype"), [("normal", "float64"), ("uniform", "float32"), ("integers", "int8")]
)
def test_a_streams_bodies_lead_from_a_position_to_a_value(distribution: str, dtype: str) -> None:
    bodies = stream(distribution, dtype, 0, False).from_position
    assert [name for name, _ in bodies[0].inputs] == ["position"]
    assert bodies[-1].output_type("x") == dtype
    known = {"position"}
    for body in bodies:
        assert {name for name, _ in body.inputs} <= known
        known |= {name for name, _ in body.outputs}
