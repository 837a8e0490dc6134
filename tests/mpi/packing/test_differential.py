"""The packing library against each MPI's own engine, byte for byte, on types that hypothesis invents.

Every constructor of MPI, nested, with negative and zero strides, blocks of no length, resized bounds,
absolute addresses and large-count forms. Three witnesses: the MPI alone, the MPI under the packing library,
and what follows from where the MPI's own MPI_Pack finds each byte of the type. All bytes of every buffer are
compared, gaps and guards included, and one side of each buffer is a page that nobody may touch.

The examples are the same in every run; ``COREWISE_TRIALS=2000`` asks for that many, and for others each time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import atexit
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import packing_runs
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from packing_runs import DEBIAN, MPI_NAMES, Engine

atexit.register(packing_runs.end_session)
NAMES = (*MPI_NAMES, DEBIAN)
TRIALS = int(os.environ.get("COREWISE_TRIALS", "0"))
PROFILE = settings(
    max_examples=TRIALS or 100,
    derandomize=TRIALS == 0,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
Words = tuple[int, ...]
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
# As in engine.c: bytes of data and of extent of the basic types, pairs last.
BASIC_BYTES = (1, 1, 2, 4, 8, 4, 8, 1, 8, 16, 12, 6, 12, 8, 8, 2, 16)
BASICS = len(BASIC_BYTES)
GUARD = 64
MOST_SPAN = 16000
TRUNCATE_SEEN = "the message is longer than the receive"


@dataclass(frozen=True)
class Typed:
    """A datatype as engine.c reads it, and the only basic type in it, where there is one."""

    words: Words
    basic: int | None


def _same_basic(parts: list[Typed]) -> int | None:
    found = {part.basic for part in parts}
    return found.pop() if len(found) == 1 else None


BASIC = st.integers(0, BASICS - 1).map(lambda index: Typed((0, index), index))
SMALL = st.integers(0, 4)
PLACES = st.integers(-12, 40)


def _of(kind: int, *numbers: int, old: Typed) -> Typed:
    return Typed((kind, *numbers, *old.words), old.basic)


def _repeated(old: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    contiguous = st.builds(lambda n, t: _of(1, n, old=t), st.integers(0, 5), old)
    vector = st.builds(
        lambda n, b, s, t: _of(2, n, b, s, old=t), st.integers(0, 9), SMALL, st.integers(-6, 8), old
    )
    hvector = st.builds(
        lambda n, b, s, t: _of(3, n, b, s, old=t), st.integers(0, 9), SMALL, st.integers(-70, 130), old
    )
    return contiguous | vector | hvector


@st.composite
def _indexed(draw: Callable[..., int], old: st.SearchStrategy[Typed]) -> Typed:
    kind, n = draw(st.integers(4, 7)), draw(st.integers(0, 6))
    # Increasing displacements often, so that many types may receive; any order and overlap else.
    if draw(st.booleans()):
        steps = [draw(st.integers(1, 30)) * (1 if kind % 2 == 0 else 8) for _ in range(n)]
        places = list(itertools.accumulate(steps))
    else:
        places = [draw(PLACES) for _ in range(n)]
    blocks = [draw(SMALL) for _ in range(n if kind <= 5 else 1)]
    return _of(kind, n, *blocks, *places, old=draw(old))  # type: ignore[arg-type]


@st.composite
def _structure(draw: Callable[..., int], old: st.SearchStrategy[Typed]) -> Typed:
    n = draw(st.integers(0, 4))
    places, end = [], draw(st.integers(-64, 64))
    for _ in range(n):
        places.append(end if draw(st.integers(0, 5)) else draw(st.integers(-200, 200)))
        end += draw(st.integers(0, 160))
    parts: list[Typed] = [draw(old) for _ in range(n)]  # type: ignore[misc]
    words = (8, n, *[draw(st.integers(0, 3)) for _ in range(n)], *places)
    return Typed((*words, *itertools.chain(*(part.words for part in parts))), _same_basic(parts))


@st.composite
def _subarray(draw: Callable[..., int], old: st.SearchStrategy[Typed]) -> Typed:
    n = draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 7)) for _ in range(n)]
    parts = [draw(st.integers(1, size)) for size in sizes]
    starts = [draw(st.integers(0, size - part)) for size, part in zip(sizes, parts, strict=True)]
    return _of(9, n, *sizes, *parts, *starts, draw(st.integers(0, 1)), old=draw(old))  # type: ignore[arg-type]


@st.composite
def _darray(draw: Callable[..., int], old: st.SearchStrategy[Typed]) -> Typed:
    n = draw(st.integers(1, 3))
    sizes = [draw(st.integers(1, 8)) for _ in range(n)]
    how = [draw(st.integers(0, 2)) for _ in range(n)]
    grid = [1 if kind == 0 else draw(st.integers(1, 3)) for kind in how]
    blocks = []
    for size, kind, wide in zip(sizes, how, grid, strict=True):
        least = -(-size // wide) if kind == 1 else 1  # a block distribution must cover the array
        blocks.append(-1 if kind == 0 or draw(st.booleans()) else draw(st.integers(least, least + 2)))
    processes = int(np.prod(grid))
    words = (n, processes, draw(st.integers(0, processes - 1)), *sizes, *how, *blocks, *grid)
    return _of(10, *words, draw(st.integers(0, 1)), old=draw(old))  # type: ignore[arg-type]


def _nested(old: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    bounds = st.builds(
        lambda lb, ex, t: _of(11, lb, ex, old=t), st.integers(-40, 40), st.integers(-60, 200), old
    )
    twin = st.builds(lambda t: _of(12, old=t), old)
    arrays = _subarray(old) | _darray(old)
    return st.one_of(_repeated(old), _repeated(old), _indexed(old), _structure(old), arrays, bounds, twin)


TYPES = st.recursive(BASIC, _nested, max_leaves=5)


def numbers(answer: bytes, count: int) -> tuple[list[int], bytes]:
    """The first integers of an answer, and the rest of it."""
    return [int.from_bytes(answer[8 * i : 8 * i + 8], "little", signed=True) for i in range(count)], answer[
        8 * count :
    ]


def pattern(low: int, high: int, seed: int) -> Bytes:
    """What engine.c fills offsets [low, high) with."""
    offset = np.arange(low, high, dtype=np.int64)
    return (offset * 131 + (offset >> 8) * 17 + seed * 29).astype(np.uint8)


@dataclass(frozen=True)
class Layout:
    """Where the packed bytes of ``count`` items come from, relative to the buffer's address."""

    sources: np.ndarray[tuple[int], np.dtype[np.int64]]
    count: int
    words: Words

    @property
    def low(self) -> int:
        return int(self.sources.min()) if self.sources.size else 0

    @property
    def high(self) -> int:
        return int(self.sources.max()) + 1 if self.sources.size else 0

    @property
    def bytes(self) -> int:
        return int(self.sources.size)

    @property
    def may_receive(self) -> bool:
        """No byte twice."""
        return np.unique(self.sources).size == self.sources.size

    @property
    def operand(self) -> Words:
        """As engine.c reads a count, its bounds and a type."""
        return (self.count, self.low, self.high, *self.words)


def describe(engine: Engine, typed: Words, count: int, large: bool) -> Layout | None:
    """The layout of ``count`` items by the MPI's own MPI_Pack; none where it is too big to test."""
    (answer,) = engine.ask((0, int(large), count, *typed))
    head, rest = numbers(answer, 6)
    if not head[0]:
        return None
    sources = np.zeros(0, np.int64)
    for shift in range(3):
        (size,), rest = numbers(rest, 1)
        part = np.frombuffer(rest[:size], np.uint8).astype(np.int64) << (8 * shift)
        sources = part if shift == 0 else sources + part
        rest = rest[size:]
    layout = Layout(sources - (1 << 18), count, typed)
    return layout if layout.high - layout.low <= MOST_SPAN else None


def around(low: int, high: int, fence: int) -> tuple[int, int]:
    """The bytes that an answer shows of a buffer: guards where there is no fence."""
    return low - (0 if fence == 1 else GUARD), high + (0 if fence == 0 else GUARD)


def packed_bytes(layout: Layout, seed: int) -> Bytes:
    """The stream that packing a buffer of a pattern gives."""
    return pattern(layout.low, layout.high, seed)[layout.sources - layout.low]


def with_items(layout: Layout, fence: int, seed: int, stream: Bytes) -> bytes:
    """A buffer of a pattern after unpacking a stream, or its beginning, into it."""
    low, high = around(layout.low, layout.high, fence)
    buffer = pattern(low, high, seed)
    buffer[layout.sources[: stream.size] - low] = stream
    return buffer.tobytes()


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[str], tuple[Engine, Engine]]]:
    """An MPI's engine, plain and under the packing library; started once."""
    made: dict[str, tuple[Engine, Engine]] = {}

    def pair(name: str) -> tuple[Engine, Engine]:
        if name == DEBIAN:
            packing_runs.require_debian()
        if name not in made:
            program = packing_runs.engine_program(name)
            made[name] = (
                Engine(name, program, {}),
                Engine(name, program, packing_runs.packing_environment(name)),
            )
        return made[name]

    yield pair
    for engine in itertools.chain(*made.values()):
        engine.end()


def both(pair: tuple[Engine, Engine], *lines: Words) -> list[bytes]:
    """The answers of the plain engine, which the other one must give too."""
    plain = pair[0].ask(*lines)
    packed = pair[1].ask(*lines)
    for rank, (theirs, ours) in enumerate(zip(plain, packed, strict=True)):
        if theirs != ours:
            at = next((i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), -1)
            pytest.fail(
                f"rank {rank}, byte {at} of the answer: alone {theirs[at - 8 : at + 8].hex(' ')}, "
                f"packing {ours[at - 8 : at + 8].hex(' ')}; asked: {lines[rank]}"
            )
    return plain


LARGE = st.booleans()
FENCE = st.integers(0, 2)
COUNTS = st.integers(0, 4)


@pytest.mark.parametrize("name", NAMES)
def test_pack_and_unpack(name: str, engines: Callable[[str], tuple[Engine, Engine]]) -> None:
    """MPI_Pack and MPI_Unpack at a position of a buffer, from and to any type."""
    pair = engines(name)

    @PROFILE
    @given(TYPES, COUNTS, LARGE, FENCE, st.booleans(), st.integers(0, 9), st.integers(0, 9))
    def check(
        typed: Typed, count: int, large: bool, fence: int, bottom: bool, prefix: int, spare: int
    ) -> None:
        layout = describe(pair[0], typed.words, count, large)
        assume(layout is not None)
        assert layout is not None
        unpacks = layout.may_receive
        line = (1, int(large), fence, int(bottom), int(unpacks), prefix, spare, layout.bytes, *layout.operand)
        (answer, _) = both(pair, line, (0, 0, 0, 0, 0))
        (code, position), rest = numbers(answer, 2)
        assert (code, position) == (0, prefix + layout.bytes)
        room = prefix + layout.bytes + spare
        low, high = around(0, room, (fence + 1) % 3)
        stream = pattern(low, high, 2)
        stream[prefix - low : prefix - low + layout.bytes] = packed_bytes(layout, 1)
        untouched = with_items(layout, fence, 1, np.zeros(0, np.uint8))
        assert rest.startswith(stream.tobytes() + untouched)
        if unpacks:
            (code, position), rest = numbers(rest[stream.size + len(untouched) :], 2)
            assert (code, position) == (0, prefix + layout.bytes)
            given_stream = pattern(0, room, 3)[prefix : prefix + layout.bytes]
            assert rest.startswith(with_items(layout, fence, 1, given_stream))

    check()


@st.composite
def _pairs(draw: Callable[..., object]) -> tuple[Typed, int, int, str]:
    """A type, the items on either side, and what the other side uses."""
    typed: Typed = draw(TYPES)  # type: ignore[assignment]
    sent, received = draw(COUNTS), draw(COUNTS)
    other = draw(st.sampled_from(("same", "same", "packed there", "packed here", "flat")))
    return typed, sent, received, str(other)  # type: ignore[return-value]


def _sides(
    pair: tuple[Engine, Engine], case: tuple[Typed, int, int, str], large: bool
) -> tuple[Layout, Layout]:
    """What rank 0 sends and rank 1 receives into."""
    typed, sent, received, other = case
    here, there = (describe(pair[0], typed.words, count, large) for count in (sent, received))
    assume(here is not None and there is not None)
    assert here is not None and there is not None
    if other == "packed there":
        there = Layout(np.arange(here.bytes + received), here.bytes + received, (-1,))
    elif other == "packed here":
        here = Layout(np.arange(here.bytes), here.bytes, (-1,))
    elif other == "flat":
        # As many basic elements as fit, and not always whole items.
        assume(typed.basic is not None)
        basic = typed.basic or 0
        flat = describe(pair[0], (0, basic), there.bytes // BASIC_BYTES[basic] * 2 // 3, large)
        assert flat is not None
        here = flat
    assume(there.may_receive)
    return here, there


@pytest.mark.parametrize("name", NAMES)
def test_messages(name: str, engines: Callable[[str], tuple[Engine, Engine]]) -> None:
    """In eight ways and nine: by the same type, as MPI_PACKED, by elements; too many, too few."""
    pair = engines(name)

    @PROFILE
    @given(_pairs(), LARGE, FENCE, FENCE, st.booleans(), st.booleans(), st.integers(0, 7), st.integers(0, 8))
    def check(
        case: tuple[Typed, int, int, str],
        large: bool,
        fence: int,
        other_fence: int,
        bottom: bool,
        other_bottom: bool,
        sending: int,
        receiving: int,
    ) -> None:
        here, there = _sides(pair, case, large)
        lines = (
            (2, int(large), fence, int(bottom), sending, receiving, *here.operand),
            (2, int(large), other_fence, int(other_bottom), sending, receiving, *there.operand),
        )
        if here.bytes > there.bytes:
            check_truncated(pair, lines, there, other_fence)
            return
        sent, received = both(pair, *lines)
        assert sent == bytes(8) + with_items(here, fence, 4, np.zeros(0, np.uint8))
        (code, source, tag, _, _, size), rest = numbers(received, 6)
        assert (code, source, tag, size) == (0, 0, 5, here.bytes)
        assert rest == with_items(there, other_fence, 5, packed_bytes(here, 4))

    check()


def check_truncated(
    pair: tuple[Engine, Engine], lines: tuple[Words, Words], there: Layout, fence: int
) -> None:
    """Both say so, and neither writes anything that is not the receiver's data."""
    low, high = around(there.low, there.high, fence)
    kept = np.ones(high - low, bool)
    kept[there.sources - low] = False
    codes = []
    for engine in pair:
        sent, received = engine.ask(*lines)
        (code,), rest = numbers(received, 1)
        codes.append(code)
        assert sent.startswith(bytes(8))
        buffer = np.frombuffer(rest, np.uint8)
        assert (buffer[kept] == pattern(low, high, 5)[kept]).all(), (
            f"{engine.ranks_env}: {TRUNCATE_SEEN}: {lines}"
        )
    assert codes[0] == codes[1] != 0, f"{TRUNCATE_SEEN}: {codes}: {lines}"


@pytest.mark.parametrize("name", NAMES)
def test_exchange_in_place(name: str, engines: Callable[[str], tuple[Engine, Engine]]) -> None:
    """MPI_Sendrecv_replace of each other's items."""
    pair = engines(name)

    @settings(PROFILE, max_examples=max(1, PROFILE.max_examples // 4))
    @given(TYPES, COUNTS, FENCE, FENCE, st.booleans())
    def check(typed: Typed, count: int, fence: int, other_fence: int, bottom: bool) -> None:
        layout = describe(pair[0], typed.words, count, large=False)
        assume(layout is not None and layout.may_receive)
        assert layout is not None
        answers = both(
            pair,
            (3, 0, fence, int(bottom), *layout.operand),
            (3, 0, other_fence, int(bottom), *layout.operand),
        )
        for rank, (answer, its_fence) in enumerate(zip(answers, (fence, other_fence), strict=True)):
            (code, source, tag, *_), rest = numbers(answer, 6)
            assert (code, source, tag) == (0, 1 - rank, 5)
            assert rest == with_items(layout, its_fence, 6 + rank, packed_bytes(layout, 7 - rank))

    check()
