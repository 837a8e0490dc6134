"""Tunings of copies: files are read as written and refused by field, and this processor's is found.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy_copy_tuning import TUNING

from corewise import _core
from corewise.bench.copy.races import (
    kernels_here,
)
from corewise.data.copy_hosts import find_copy_tuning, host_name
from corewise.data.copy_tuning import (
    KERNELS,
    CopyRow,
    CopyTuning,
    copy_tuning_text,
    load_copy_tuning,
    parse_copy_tuning,
    save_copy_tuning,
)
from corewise.data.tuning import bundled_tunings, tuning_directory
from corewise.errors import InputError

# ---- this host's tuning ----------------------------------------------------------------------------------


def test_a_tuning_of_exactly_this_processor_is_found_and_others_are_told(tmp_path):
    kept, bundled = tmp_path / "kept", tmp_path / "bundled"
    for folder in (kept, bundled):
        folder.mkdir()
    ours = replace(TUNING, host="A (family 1, model 2)")
    save_copy_tuning(replace(TUNING, host="A (family 1, model 3)"), kept / "copy-a.toml")
    save_copy_tuning(ours, bundled / "copy-a.toml")
    (bundled / "copy-broken.toml").write_text("[", encoding="utf-8")
    (bundled / "collectives-a.toml").write_text("[", encoding="utf-8")
    found = find_copy_tuning("A (family 1, model 2)", (kept, bundled))
    assert (found.tuning, found.path) == (ours, bundled / "copy-a.toml")
    assert found.ignored[0] == (kept / "copy-a.toml", "is for A (family 1, model 3)")
    assert found.ignored[1][0].name == "copy-broken.toml"
    assert len(found.ignored) == 2
    save_copy_tuning(ours, kept / "copy-b.toml")
    assert find_copy_tuning("A (family 1, model 2)", (kept, bundled)).path == kept / "copy-b.toml"
    none = find_copy_tuning("B", (kept,))
    assert none.tuning is None
    assert none.text().startswith("none for B; ignored: copy-a.toml is for A")


def test_a_processor_is_named_with_its_makers_numbers(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text(
        "processor : 0\ncpu family : 25\nmodel : 17\nmodel name : A CPU\nstepping : 1\nmodel name : B\n",
        encoding="utf-8",
    )
    assert host_name(info) == "A CPU (family 25, model 17, stepping 1)"
    assert host_name(tmp_path / "none")


def test_bundled_copy_tunings_are_readable_and_no_collectives():
    for path in tuning_directory().glob("copy-*.toml"):
        tuning = load_copy_tuning(path)
        assert tuning.rows
        assert tuning.messages
        assert path not in bundled_tunings()
    assert all(path.name.startswith("collectives-") for path in bundled_tunings())
    assert bundled_tunings()


def test_a_user_without_a_home_keeps_no_tunings(monkeypatch):
    def unknown(number):
        raise KeyError(number)

    for variable in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    found = find_copy_tuning("no processor")
    assert found.tuning is None
    assert {path.parent for path, _ in found.ignored} == {tuning_directory()}


# ---- tuning files ----------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "copy.toml"
    save_copy_tuning(TUNING, path)
    assert load_copy_tuning(path) == TUNING
    assert copy_tuning_text(load_copy_tuning(path)) == path.read_text(encoding="utf-8")


def test_the_knob_is_what_the_core_reads():
    knob = TUNING.knob()
    assert "self.same=memcpy,naive@256,four_stream@1024,memcpy@2048;" in knob
    assert knob.endswith("nobody.aliasing=memcpy,naive@4096,memcpy@8192")
    assert _core.check_copy_tuning(knob) == knob


def test_a_gap_between_rows_is_memcpy():
    rows = (
        CopyRow("self", "same", 128, 256, "naive", (128,), (1.0,), (2.0,)),
        CopyRow("self", "same", 512, 1024, "naive", (512,), (1.0,), (2.0,)),
    )
    knob = CopyTuning("h", "w", "w", "c", rows).knob()
    assert knob.startswith("self.same=memcpy,naive@128,memcpy@256,naive@512,memcpy@1024;")


def test_a_kernel_of_another_processor_may_be_read_but_not_used():
    absent = next(name for name in KERNELS if name not in kernels_here())
    row = CopyRow("self", "same", 128, 256, absent, (128,), (1.0,), (2.0,))
    text = copy_tuning_text(CopyTuning("h", "w", "w", "c", (row,)))
    tuning = parse_copy_tuning(text)
    with pytest.raises(InputError, match=absent):
        _core.set_copy_tuning(tuning.knob())


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ('format = "corewise-copy-tuning"', 'format = "other"', "format"),
        ("version = 1", "version = 2", "version"),
        ('host = "a processor"', 'host = ""', "host"),
        ('who = "corewise 0.0.0"\n', "", "who"),
        ("version = 1", "version = 1\nmore = 2", "more"),
        ('audience = "nobody"', 'audience = "all"', "row[2].audience"),
        ('alignment = "aliasing"', 'alignment = "none"', "row[2].alignment"),
        ("bytes_from = 256", "bytes_from = 300", "row[0].bytes_from"),
        ("bytes_from = 4096", "bytes_from = 8192", "row[2].bytes_to"),
        ("bytes_from = 1024", "bytes_from = 512", "row[1].bytes_from"),
        ('kernel = "four_stream"', 'kernel = "five_stream"', "row[1].kernel"),
        ("measured_bytes = [256, 384]", "measured_bytes = []", "row[0].measured_bytes"),
        ("ours_ns = [10.0, 11.0]", "ours_ns = [10.0]", "row[0].ours_ns"),
        ("memcpy_ns = [20.0, 21.5]", "memcpy_ns = [20.0, -1.0]", "row[0].memcpy_ns"),
        ('way = "pipeline"', 'way = "pigeon"', "message[0].way"),
        ("chunk = 8192", "chunk = 0", "message[0].chunk"),
        ("slot_ns = 6000.0", "slot_ns = true", "message[0].slot_ns"),
        ("bytes = 32768", "bytes = 1.5", "message[0].bytes"),
    ],
)
def test_what_is_wrong_in_a_tuning_file_is_named(tmp_path, before, after, field):
    text = copy_tuning_text(TUNING)
    assert text.count(before) >= 1
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_copy_tuning(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert field in str(raised.value)


def test_text_that_is_no_toml_is_refused():
    with pytest.raises(InputError, match="not TOML"):
        parse_copy_tuning("a = = 1", "file")
