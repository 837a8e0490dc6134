"""Source places of code addresses: compilers' real output, and what must not be believed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from corewise._core import DebugInfo
from corewise.data.symbols import elf as symbols_elf
from corewise.data.symbols.addresses import call_site_text, demangled, find_points, find_symbol, object_state
from corewise.data.symbols.names import _by_program

SOURCE = """\
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int inner(int x) {
  return (getenv("SEVEN") != NULL) + x;
}

static inline __attribute__((always_inline)) int middle(int x) {
  int y = x + 1;
  return inner(y) * 2;
}

__attribute__((noinline))
int outer(int x) {
  int z = middle(x);
  puts("outer");
  return z;
}

__attribute__((noinline)) static int hidden(int x) {
  puts("hidden");
  return x;
}

int main(int argc, char** argv) {
  (void)argv;
  return outer(argc) + hidden(argc) > 100;
}
"""
OUTER_LINE = next(i for i, line in enumerate(SOURCE.splitlines(), 1) if line.startswith("int outer"))
PLACES = {"inner": 5, "middle": 10, "outer": 15}
# The call of getenv lies in three functions at once.
FLAGS = ("-O1", "-fno-builtin", "-U_FORTIFY_SOURCE", "-fno-optimize-sibling-calls")


def compiled(folder: Path, *flags: str, source: str = SOURCE, name: str = "prog.c") -> Path:
    (folder / name).write_text(source)
    program = folder / "prog"
    compiler = "g++" if name.endswith(".cpp") else "gcc"
    subprocess.run([compiler, *FLAGS, *flags, "-o", str(program), name], cwd=folder, check=True)
    return program


def offset_of(program: Path, function: str) -> int:
    """The file offset of a function's first byte, by its symbol."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(function)
        return next(elf.address_offsets(int(symbol["st_value"])))


def return_into(program: Path, caller: str, callee: str) -> int:
    """The file offset that a call of `callee` returns to, from the disassembly."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={caller}", str(program)],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    (at,) = [i for i, line in enumerate(listing) if "call" in line and f"<{callee}" in line]
    address = int(listing[at + 1].split(":")[0], 16)
    with program.open("rb") as stream:
        return next(ELFFile(stream).address_offsets(address))


@pytest.mark.parametrize(
    "flags",
    [("-g", "-gdwarf-5", "-fPIE", "-pie"), ("-g", "-gdwarf-4", "-fno-PIE", "-no-pie"), ("-g", "-gdwarf-3"),
     ("-g", "-gz=zlib"), ("-g", "-ffunction-sections"), ("-g", "-gdwarf-5", "-flto")],
)  # fmt: skip
def test_functions_have_their_line_and_calls_their_inlined_functions(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    program = compiled(tmp_path, *flags)
    entry = find_points(str(program), [offset_of(program, "outer")], returns=False)[0]
    assert (entry.function, entry.offset, entry.inlined) == ("outer", 0, ())
    assert (entry.defined_file, entry.defined_line) == (str(tmp_path / "prog.c"), OUTER_LINE)
    back = return_into(program, "outer", "getenv")
    point = find_points(str(program), [back], returns=True)[0]
    assert (point.function, point.inlined) == ("outer", ("inner", "middle"))
    assert (point.file, point.line) == (str(tmp_path / "prog.c"), PLACES["inner"])
    assert call_site_text(str(program), back) == "inner (prog.c:5, inlined into outer)"
    plain = return_into(program, "outer", "puts")
    assert call_site_text(str(program), plain) == "outer (prog.c:16)"


def test_without_debug_information_the_symbol_is_left(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-g0")
    back = return_into(program, "outer", "puts")
    start = offset_of(program, "outer")
    assert call_site_text(str(program), back) == f"outer+0x{back - start:x}"
    assert find_symbol(str(program), back) is not None


def test_a_stripped_program_is_shown_by_offset(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-g")
    back, hidden = return_into(program, "outer", "puts"), return_into(program, "hidden", "puts")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", str(bare), str(program)], check=True)
    assert call_site_text(str(bare), back) == f"bare+0x{back:x}"
    assert call_site_text(str(bare), hidden) == f"bare+0x{hidden:x}"
    assert find_symbol(str(bare), back) is None


@pytest.mark.parametrize("folder", ["", ".debug"])
def test_a_debug_file_beside_it_counts_if_it_fits(tmp_path: Path, folder: str) -> None:
    program = compiled(tmp_path, "-g", "-Wl,--build-id=none")
    back = return_into(program, "hidden", "puts")
    (tmp_path / folder).mkdir(exist_ok=True)
    beside = tmp_path / folder / "bare.debug"
    subprocess.run(["objcopy", "--only-keep-debug", str(program), str(beside)], check=True)
    bare = tmp_path / "bare"
    subprocess.run(
        ["objcopy", "--strip-all", f"--add-gnu-debuglink={beside}", str(program), str(bare)], check=True
    )
    assert call_site_text(str(bare), back) == "hidden (prog.c:21)"
    other = tmp_path / "other"
    other.write_bytes(bare.read_bytes())
    with beside.open("r+b") as stream:  # no longer what the link's checksum says
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last[0] ^ 1]))
    assert call_site_text(str(other), back) == f"other+0x{back:x}"


def test_a_debug_file_is_found_by_build_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(tmp_path, "-g", "-Wl,--build-id=0x0123456789abcdef")
    back = return_into(program, "hidden", "puts")
    beside = tmp_path / "debug" / ".build-id" / "01" / "23456789abcdef.debug"
    beside.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", str(program), str(beside)], check=True)
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", str(bare), str(program)], check=True)
    monkeypatch.setattr(symbols_elf, "DEBUG_ROOT", tmp_path / "debug")
    assert call_site_text(str(bare), back) == "hidden (prog.c:21)"


CPP = """\
#include <cstdio>
namespace halo {
template <class T>
struct Exchange {
  T value;
  __attribute__((noinline)) int send(int peer) {
    return std::puts("x") + peer;
  }
};
namespace {
struct Inside {
  static inline __attribute__((always_inline)) int pack(int n) { return std::puts("y") + n; }
};
}
}
int main(int argc, char**) {
  halo::Exchange<double> exchange{1.0};
  return exchange.send(argc) + halo::Inside::pack(argc) > 1000;
}
"""


def test_cpp_names(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-g", source=CPP, name="prog.cpp")
    symbol = "_ZN4halo8ExchangeIdE4sendEi"
    entry = find_points(str(program), [offset_of(program, symbol)], returns=False)[0]
    assert (entry.function, entry.defined_line) == ("halo::Exchange<double>::send", 6)
    back = return_into(program, "main", "puts")
    assert call_site_text(str(program), back) == "pack (prog.cpp:12, inlined into main)"


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ("main", "main"),
        ("__halo_MOD_exchange", "halo::exchange"),
        ("_ZNK3FoocvbEv", "Foo::operator bool"),
        ("_ZN3FooclEi", "Foo::operator()"),
        ("_ZlsRSoRK3Foo", "operator<<"),
        ("_ZN12_GLOBAL__N_13barEi", "(anonymous namespace)::bar"),
        ("_ZN1AltIiEEbT_", "A::operator< <int>"),
        ("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "std::move<int&>"),
        ("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"),
        ("_ZN3Foo3barEPFviE.cold", "Foo::bar"),
        ("_ZN3lbm5parseB5cxx11Eiv", "lbm::parse"),
        ("_Znwm", "operator new"),
        ("_Z", "_Z"),
    ],
)
def test_demangling(symbol: str, text: str) -> None:
    assert demangled(symbol) == text


def test_the_program_of_binutils_stands_in_for_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corewise.data.symbols.names._cpp_library", lambda: None)
    assert _by_program("_ZN3FooclEi") == "Foo::operator()(int)"


FORTRAN = """\
subroutine relax(n)
  integer :: n
  print *, n
end subroutine
program flow
  call relax(3)
end program
"""


def test_fortran_names(tmp_path: Path) -> None:
    (tmp_path / "flow.f90").write_text(FORTRAN)
    try:
        subprocess.run(["gfortran", "-g", "-O0", "-o", "flow", "flow.f90"], cwd=tmp_path, check=True)
    except OSError:
        pytest.skip("capability: no gfortran here")
    program = tmp_path / "flow"
    entry = find_points(str(program), [offset_of(program, "relax_")], returns=False)[0]
    assert (entry.function, entry.defined_line) == ("relax", 1)
    main = find_points(str(program), [offset_of(program, "MAIN__")], returns=False)[0]
    assert (main.function, main.defined_line) == ("flow", 5)


def test_files_that_are_gone_or_newer_say_so(tmp_path: Path) -> None:
    file = tmp_path / "prog"
    file.write_text("x")
    written = file.stat().st_mtime_ns
    assert object_state(str(file), written + 1) == ""
    assert object_state(str(file), written - 1) == "changed"
    assert object_state(str(file), 0) == ""
    assert object_state(f"{file} (deleted)", written + 1) == "missing"
    assert object_state("[vdso]", 1) == ""


def test_what_is_no_program_has_no_names(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    for path in (str(text), str(tmp_path), str(tmp_path / "none")):
        assert call_site_text(path, 0x40) == f"{Path(path).name}+0x40"
    assert call_site_text("", 0x40) == "0x40"
    assert call_site_text("", 0) == "unknown"


def test_damaged_debug_information_gives_nothing_or_something_never_a_crash(tmp_path: Path) -> None:
    sections = {}
    for flags in (("-gdwarf-5",), ("-gdwarf-4",)):
        program = compiled(tmp_path, "-g", *flags)
        with program.open("rb") as stream:
            elf = ELFFile(stream)
            sections = {each.name: bytes(each.data()) for each in elf.iter_sections() if "debug" in each.name}
            addresses = [int(s["st_value"]) + 9 for s in elf.get_section_by_name(".symtab").iter_symbols()]
        assert any(place.frames for place in DebugInfo(sections).find(addresses))
        generator = random.Random(3)
        for _ in range(300):
            damaged = {name: bytearray(data) for name, data in sections.items()}
            name = generator.choice(sorted(damaged))
            for _ in range(generator.choice([1, 4, 40])):
                damaged[name][generator.randrange(len(damaged[name]))] = generator.randrange(256)
            if generator.random() < 0.3:
                damaged[name] = damaged[name][: generator.randrange(len(damaged[name]))]
            places = DebugInfo({key: bytes(data) for key, data in damaged.items()}).find(addresses)
            assert len(places) == len(addresses)
