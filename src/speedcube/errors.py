"""Every exception speedcube raises, one tree.

    SpeedcubeError
    ├── ShapeError          (ValueError)       shapes, sizes, reshape, broadcast
    │   └── ShapeTypeError  (also TypeError)   a size that is no integer
    ├── AxisError           (NumPy's AxisError)  an axis or an index out of range
    │   └── AxisTypeError   (also TypeError)   an axis that is no integer
    ├── MatrixError         (NumPy's LinAlgError)  a matrix that is singular, or none
    ├── DTypeError          (TypeError)        a dtype that is unknown or not supported there
    │   └── RangeError          (also OverflowError)  a Python integer that its dtype cannot hold
    ├── UnsupportedError    (TypeError)        a keyword or NumPy function that there is not
    ├── MissingError        (AttributeError)   a name that NumPy's object has and ours cannot
    ├── ParameterError      (ValueError)       a parameter outside its domain
    │   ├── ParameterTypeError (also TypeError)  a parameter that is not of a type it can have
    │   └── ParameterZeroError (also ZeroDivisionError)  weights that sum to 0
    ├── LawError            (ValueError)       what no law covers, where that is refused
    ├── UnsafeFileError     (ValueError)       a file that would have to be unpickled
    ├── RungError           (RuntimeError)     a rung that this machine lacks
    ├── SchedulerError      (ConnectionError)  a Dask scheduler that cannot be reached
    ├── WorkerError         (RuntimeError)     a worker that cannot run our tasks
    ├── MemoryLimitError    (MemoryError)      a result or working set that does not fit
    ├── KernelError         (RuntimeError)     a kernel that does not verify or compile
    ├── CheckpointError     (RuntimeError)     a checkpoint that cannot be written or read
    ├── DataFileError       (ValueError)       a data file that does not hold what it should
    └── TrainError          (RuntimeError)     a job that cannot start or go on
        ├── RankError                          a rank that died, hung or cannot tell its exception
        ├── StoppedError                       a job that was asked to stop, and did
        └── NonFiniteError  (also ArithmeticError)  a metric that is NaN or infinite, where asked

Each message says what was asked, what is possible, and what to do. Shown as text, it holds no
control characters of what it quotes, and no line longer than `shown.LONG`; ``args`` are as given.
"""

from __future__ import annotations

import numpy as np

from .shown import lines


class SpeedcubeError(Exception):
    """The root of the tree."""

    def __str__(self) -> str:
        return lines(super().__str__())


class ShapeError(SpeedcubeError, ValueError):
    """Shapes that do not fit together, or a size that is not one."""


class ShapeTypeError(ShapeError, TypeError):
    """A size that is no integer; NumPy raises ValueError for some, TypeError for others."""


class AxisError(SpeedcubeError, np.exceptions.AxisError):
    """An axis or an index outside its array; NumPy's is an IndexError and a ValueError."""

    axis: int | None = None  # not in slots, as NumPy's are: those who pickle tracebacks miss them
    ndim: int | None = None

    def __init__(self, *args: object) -> None:
        """What is said is in ``args``, as of every other error."""

    def __str__(self) -> str:
        return lines(Exception.__str__(self))


class AxisTypeError(AxisError, TypeError):
    """An axis that is no integer."""


class MatrixError(SpeedcubeError, np.linalg.LinAlgError):
    """What is no matrix, not square, or singular; NumPy's is a ValueError."""


class DTypeError(SpeedcubeError, TypeError):
    """A dtype that is unknown, or that the operation or device cannot take."""


class RangeError(DTypeError, OverflowError):
    """A Python integer that the dtype of its operation cannot hold."""


class UnsupportedError(SpeedcubeError, TypeError):
    """A keyword that a function has not, or a NumPy function without a twin here."""


class ParameterError(SpeedcubeError, ValueError):
    """A parameter outside its domain."""


class ParameterZeroError(ParameterError, ZeroDivisionError):
    """Weights that sum to 0, a period of 0: for these NumPy raises ZeroDivisionError."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter of a wrong type; NumPy raises ValueError for some, TypeError for others."""


class MissingError(SpeedcubeError, AttributeError):
    """A name that NumPy's object has and ours cannot have."""


class LawError(SpeedcubeError, ValueError):
    """What no law covers, in a block that is strict."""


class UnsafeFileError(SpeedcubeError, ValueError):
    """A file that could only be read by running code it contains."""


class RungError(SpeedcubeError, RuntimeError):
    """A rung that this machine does not have."""


class SchedulerError(SpeedcubeError, ConnectionError):
    """A Dask scheduler that does not answer."""


class WorkerError(SpeedcubeError, RuntimeError):
    """A worker without the package, or with another version of it."""


# MemoryError first: it has a __new__ of its own, by which others make what travels to them.
class MemoryLimitError(MemoryError, SpeedcubeError):
    """Something that does not fit in memory."""


class KernelError(SpeedcubeError, RuntimeError):
    """A kernel that is not legal, or that a compiler refused."""


class CheckpointError(SpeedcubeError, RuntimeError):
    """A checkpoint that cannot be written, or a directory that holds none that is valid."""


class DataFileError(SpeedcubeError, ValueError):
    """A data file that does not hold what it should; the message names file, line and reason."""


class TrainError(SpeedcubeError, RuntimeError):
    """A training job that cannot start or cannot go on."""


class RankError(TrainError):
    """A rank that died, was stopped, hung, or raised what cannot be sent."""


class StoppedError(TrainError):
    """A job whose ranks were asked to stop, and did, all at the same step."""


class NonFiniteError(TrainError, ArithmeticError):
    """A metric that became NaN or infinite in a job that was to stop there."""
