"""Noise: what is drawn, and collectives under it, against slow references and closed forms.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from corewise.analysis.noise.collectives import (
    ALL_TO_ALLS,
    COLLECTIVES,
    MOST_PAIRWISE,
    MOST_RANKS,
    Layout,
    Network,
    Program,
    Run,
    bruck_blocks,
    pairwise,
    simulate,
)
from corewise.analysis.noise.quanta import histogram, interruptions, lost_share, spectrum
from corewise.analysis.noise.sources import Events, Exponential, NodeNoise, Silence, Times
from corewise.analysis.noise.spare import FEWEST_CORES, INTERVALS_NS, advise
from corewise.errors import InputError

NETWORK = Network(500, 1500, 0.5, 0.25)
COUNTS = [1, 2, 3, 4, 7, 8, 12, 13, 16, 21, 24]


class Kept:
    """Noise that keeps what it has drawn, for a reference to draw again."""

    text = "kept"

    def __init__(self) -> None:
        self.drawn: list[Times] = []

    def delays(self, random: np.random.Generator, ranks: int, window_ns: float) -> Times:
        """Some thousand nanoseconds."""
        self.drawn.append(random.uniform(0, 3000, ranks))
        return self.drawn[-1]


# ---- a slow reference: one message after the other ---------------------------------------------------------


def cost(layout: Layout, source: int, target: int, size_bytes: float, receivers: int) -> float:
    """Of one message."""
    if source // layout.per_node == target // layout.per_node:
        return 500 + 0.5 * size_bytes
    return 1500 + 0.25 * size_bytes * max(1, min(layout.per_node, receivers / layout.nodes))


def exchange(
    layout: Layout, times: list[float], sources: dict[int, int], size_bytes: float, lost: Times
) -> list[float]:
    """Everybody in `sources` waits for its source's message."""
    after = list(times)
    for place, (rank, source) in enumerate(sources.items()):
        came = max(times[rank], times[source])
        after[rank] = came + cost(layout, source, rank, size_bytes, len(sources)) + lost[place]
    return after


def blocks_with_bit(ranks: int, distance: int) -> int:
    """Blocks whose number has a bit."""
    return sum(1 for block in range(ranks) if block & distance)


def steps_of(name: str, ranks: int, size_bytes: float) -> Iterator[tuple[dict[int, int], float]]:
    """Of the collectives in which all ranks take part in every step."""
    for bit in range((ranks - 1).bit_length() if name != "pairwise" else 0):
        blocks = 1 if name == "dissemination" else blocks_with_bit(ranks, 1 << bit)
        yield {rank: (rank - (1 << bit)) % ranks for rank in range(ranks)}, size_bytes * blocks
    for step in range(1, ranks if name == "pairwise" else 0):
        power = bin(ranks).count("1") == 1
        yield {rank: rank ^ step if power else (rank - step) % ranks for rank in range(ranks)}, size_bytes


def slow(name: str, layout: Layout, size_bytes: float, drawn: Iterator[Times]) -> list[float]:
    """Times of all ranks after one collective."""
    times = [0.0] * layout.ranks
    if name != "by-nodes":
        for sources, amount in steps_of(name, layout.ranks, size_bytes):
            times = exchange(layout, times, sources, amount, next(drawn))
        return times
    group = layout.assumed or layout.per_node
    groups = [list(range(layout.ranks))[i : i + group] for i in range(0, layout.ranks, group)]
    widest = max(map(len, groups))
    for bit in range((widest - 1).bit_length()):
        pairs = [(each[i + (1 << bit)], each[i]) for each in groups
                 for i in range(0, len(each), 2 << bit) if i + (1 << bit) < len(each)]  # fmt: skip
        talk(layout, times, pairs, size_bytes * layout.ranks * (1 << bit), drawn)
    leaders = [each[0] for each in groups]
    for bit in range((len(leaders) - 1).bit_length()):
        sources = {rank: leaders[(i - (1 << bit)) % len(leaders)] for i, rank in enumerate(leaders)}
        amount = size_bytes * group * group * blocks_with_bit(len(leaders), 1 << bit)
        times = exchange(layout, times, sources, amount, next(drawn))
    for bit in reversed(range((widest - 1).bit_length())):
        pairs = [(each[i], each[i + (1 << bit)]) for each in groups
                 for i in range(0, len(each), 2 << bit) if i + (1 << bit) < len(each)]  # fmt: skip
        talk(layout, times, pairs, size_bytes * layout.ranks * (1 << bit), drawn)
    return times


def talk(
    layout: Layout,
    times: list[float],
    pairs: list[tuple[int, int]],
    size_bytes: float,
    drawn: Iterator[Times],
) -> None:
    """Both of a pair are there until the message is."""
    if not pairs:
        return
    of_source, of_target = next(drawn), next(drawn)
    for place, (source, target) in enumerate(pairs):
        ended = max(times[source], times[target]) + cost(layout, source, target, size_bytes, len(pairs))
        times[source], times[target] = ended + of_source[place], ended + of_target[place]


@pytest.mark.parametrize("name", list(COLLECTIVES))
@pytest.mark.parametrize(
    ("nodes", "per_node", "assumed"),
    [*((n, 1, 0) for n in COUNTS), (3, 7, 0), (3, 7, 8), (4, 8, 0), (5, 3, 2)],
)
def test_every_collective_is_the_slow_reference(name: str, nodes: int, per_node: int, assumed: int) -> None:
    layout, noise = Layout(nodes, per_node, assumed), Kept()
    run = Run(layout, noise, NETWORK, seed=3)
    COLLECTIVES[name](run, 64.0)
    drawn = iter(noise.drawn)
    assert run.times.tolist() == pytest.approx(slow(name, layout, 64.0, drawn))
    assert next(drawn, None) is None


@pytest.mark.parametrize("ranks", range(1, 40))
def test_blocks_of_brucks_steps(ranks: int) -> None:
    for distance in (1, 2, 4, 8, 16, 32):
        assert bruck_blocks(ranks, distance) == blocks_with_bit(ranks, distance)


# ---- closed forms ------------------------------------------------------------------------------------------


def test_the_last_of_exponential_delays_is_the_mean_times_a_harmonic_number() -> None:
    ranks, mean_ns, rounds = 512, 20000.0, 400
    run = Run(Layout(1, ranks), Exponential(mean_ns), Network(0, 0, 0, 0), seed=5)
    longest = []
    for _ in range(rounds):
        run.times[:] = 0
        run.compute(1e6)
        longest.append(float(run.times.max()) - 1e6)
    expected = mean_ns * sum(1 / i for i in range(1, ranks + 1))
    spread = mean_ns * math.pi / math.sqrt(6) / math.sqrt(rounds)  # of Gumbel's distribution
    assert abs(np.mean(longest) - expected) < 4 * spread


def test_interruptions_take_their_share_and_hit_ranks_as_often_as_poisson_says() -> None:
    noise, random = Events(100.0, np.array([1000.0])), np.random.default_rng(7)
    delays = np.concatenate([noise.delays(random, 1000, 1e7) for _ in range(100)])
    hits = delays / 1000
    assert np.mean(hits) == pytest.approx(1, abs=0.02)  # 100 a second for 10 ms
    assert np.mean(hits == 0) == pytest.approx(math.exp(-1), abs=0.01)
    assert np.mean(hits >= 3) == pytest.approx(1 - 2.5 * math.exp(-1), abs=0.01)
    assert noise.lost_share == pytest.approx(1e-4)


def test_without_noise_a_barrier_is_its_steps() -> None:
    found = simulate(Program("dissemination", 1000.0), Layout(1, 5), 5, Silence(), iterations=3)
    assert found.iterations_ns.tolist() == pytest.approx([1000 + 3 * 500] * 3)
    fewer = simulate(Program("dissemination", 1000.0), Layout(2, 4), 8, Silence(), iterations=1)
    assert fewer.median_ns == pytest.approx(2000 + 3 * 1500)  # twice the work each


def test_fewer_ranks_have_larger_blocks() -> None:
    noise = Silence()
    flat = Network(0, 0, 1.0, 1.0)
    one = simulate(Program("pairwise", 0.0, 6400.0), Layout(1, 8), 8, noise, iterations=1, network=flat)
    assert one.median_ns == pytest.approx(7 * 100)
    two = simulate(Program("pairwise", 0.0, 6400.0), Layout(1, 4), 8, noise, iterations=1, network=flat)
    assert two.median_ns == pytest.approx(3 * 400)


@pytest.mark.parametrize("name", ["dissemination", "bruck", "by-nodes"])
def test_a_million_ranks(name: str) -> None:
    program = Program(name, 1e5, 0.0)
    noise = Events(10.0, np.array([5e4]))
    layout = Layout(MOST_RANKS // 8, 8)
    found = simulate(program, layout, 8, noise, iterations=1)
    assert len(found.ranks_ns) == MOST_RANKS
    # 10 a second and core in 100 us hit a million ranks a thousand times, so the last one was hit or waited.
    assert found.median_ns > simulate(program, layout, 8, Silence(), iterations=1).median_ns + 5e4 - 1


def test_too_many_ranks_are_refused() -> None:
    with pytest.raises(InputError, match="ranks: found 1000008, allowed: 1 to 1000000"):
        Run(Layout(125001, 8), Silence(), NETWORK, 1)
    with pytest.raises(InputError, match=f"pairwise: found 65544 ranks, allowed: up to {MOST_PAIRWISE}"):
        pairwise(Run(Layout(8193, 8), Silence(), NETWORK, 1), 1.0)


def test_the_same_seed_gives_the_same_times() -> None:
    def times(seed: int) -> list[float]:
        program, noise = Program("bruck", 1e5, 1e4), Events(1000.0, np.array([2e3, 5e3]))
        return simulate(program, Layout(8, 7), 8, noise, iterations=5, seed=seed).iterations_ns.tolist()

    assert times(1) == times(1) != times(2)


def test_a_library_that_takes_other_nodes_for_granted_pays() -> None:
    """The paper's suspicion: groups of eight on nodes of seven are cut across nodes."""
    program = Program("by-nodes", 0.0, 1e6)
    right, wrong = (
        simulate(program, Layout(16, 7, assumed), 8, Silence(), iterations=1).median_ns for assumed in (0, 8)
    )
    assert wrong > 1.05 * right
    assert set(ALL_TO_ALLS) == {"bruck", "pairwise", "by-nodes"}


# ---- an idle core ------------------------------------------------------------------------------------------


def test_nothing_is_claimed_of_few_cores() -> None:
    noise = NodeNoise(Events(10.0, np.array([1e6])), Events(0.0, np.zeros(0)), "made up")
    assert FEWEST_CORES == 8
    few = advise(noise, 7)
    assert few.comparisons == ()
    assert list(few.sentences()) == ["nothing is claimed of a node of 7 cores: it takes 8 and more"]


def test_an_idle_core_pays_where_noise_is_long_and_many_wait() -> None:
    loud = NodeNoise(Events(20.0, np.array([1e6])), Events(0.0, np.zeros(0)), "made up")
    found = advise(loud, 16, nodes=(1, 32), seed=2)
    assert (found.pays_up_to_ns(32) or 0) >= 1e6
    assert any("an idle core pays up to" in line for line in found.sentences())
    quiet = NodeNoise(Events(0.0, np.zeros(0)), Events(0.0, np.zeros(0)), "none")
    still = advise(quiet, 16, nodes=(32,))
    assert still.pays_up_to_ns(32) is None
    assert all(each.gain < 1.0 for each in still.comparisons if each.interval_ns >= INTERVALS_NS[1])
    assert next(iter(still.sentences())).endswith(
        "an idle core does not pay, at 30 us between barriers and more"
    )


# ---- quanta ------------------------------------------------------------------------------------------------


def test_interruptions_by_hand() -> None:
    quanta = np.array([1000.0] * 8 + [1020.0, 3000.0])
    found = interruptions([quanta, np.full(10, 500.0)])
    assert found.lengths_ns.tolist() == [2000]
    assert found.rate_per_s == pytest.approx(1 / 17.02e-6)
    assert lost_share([quanta]) == pytest.approx(2020 / 12020)
    assert interruptions([np.full(4, 10.0)]).rate_per_s == 0 == lost_share([np.full(4, 10.0)])


def test_histograms_have_three_bins_a_decade() -> None:
    bins = histogram(np.array([1500.0, 1600.0, 9000.0]))
    assert [each.count for each in bins] == [2, 0, 1]
    assert (bins[0].low_ns, bins[0].high_ns) == (pytest.approx(1000), pytest.approx(10 ** (10 / 3)))
    assert histogram(np.zeros(0)) == []


def test_a_spectrum_finds_what_comes_back() -> None:
    quantum = np.arange(2000)
    steps = 1000.0 - 300 * (np.cos(2 * np.pi * quantum / 20) > 0.95)  # every 20 quanta of 0.5 ms: 100 Hz
    lines = spectrum(steps, 5e5)
    assert {round(line.frequency_hz) % 100 for line in lines} == {0}
    assert 100 in {round(line.frequency_hz) for line in lines}
    assert spectrum(np.full(100, 7.0), 5e5) == []
