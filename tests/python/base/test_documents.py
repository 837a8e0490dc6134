"""The one reader: what it opens, what it takes for a document, and how it says what is wrong with a field.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from corewise import InputError
from corewise.base.documents import Fields, parse_csv, parse_json, parse_toml
from corewise.base.files import read_bytes, read_text, staged_file

# --- files ------------------------------------------------------------------------------------------------


def one_line(error: InputError) -> str:
    """The message; it is one line, and short whatever the input was."""
    message = str(error)
    assert "\n" not in message and len(message) < 400
    return message


@pytest.mark.parametrize("name", ["folder", "pipe", "/dev/zero", "/dev/full", "missing", "link"])
def test_only_a_regular_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(InputError) as error:
        read_text(tmp_path / name)
    words = {"folder": "a folder", "pipe": "a pipe", "missing": "No such file"}.get(name, "a device")
    assert words in one_line(error.value) and str(tmp_path / name) in str(error.value)


def test_a_file_of_proc_is_read_though_its_size_is_zero() -> None:
    assert b"VmSize" in read_bytes(Path("/proc/self/status"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate((1 << 20) + 1)
    assert len(read_bytes(path, (1 << 20) + 1)) == (1 << 20) + 1
    with pytest.raises(InputError, match="large: found more than 1 MiB"):
        read_bytes(path, 1 << 20)


@pytest.mark.parametrize(
    ("content", "words"), [(b"a\xffb", "not UTF-8 text (byte 1)"), (b"abc\0", "not text (byte 3 is 0)")]
)
def test_what_is_no_text_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError) as error:
        read_text(tmp_path / "file")
    assert words in one_line(error.value)


def test_a_byte_order_mark_and_the_ends_of_lines_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r")
    assert read_text(tmp_path / "file") == "one\ntwo\n"


# --- documents --------------------------------------------------------------------------------------------

DEEP = 50_000
NO_DOCUMENTS = {
    "open list": (parse_json, "[" * DEEP, "not JSON: brackets lie in each other too deep"),
    "open objects": (parse_json, '{"a":' * DEEP, "not JSON: brackets lie in each other too deep"),
    "deep list": (parse_json, '{"a":' + "[" * 40 + "]" * 40 + "}", "more than 32 deep"),
    "deep table": (parse_toml, "a" + ".a" * DEEP + "=1", "more than 32 parts"),
    "deep table, quoted": (parse_toml, "a" + ' . "b c"' * DEEP + "=1", "more than 32 parts"),
    "open brackets": (parse_toml, "a=" + "[" * DEEP, "not TOML: brackets lie in each other too deep"),
    "no object": (parse_json, "[1]", "field '(document)': found [1], allowed: an object"),
    "empty": (parse_json, "", "not JSON"),
    "no number": (parse_json, '{"a": NaN}', "NaN is no number"),
    "a name twice": (parse_json, '{"b": {"a": 1, "a": 2}}', "the name 'a' stands twice"),
    "a long name twice": (parse_json, f'{{"{"a" * 10**5}": 1, "{"a" * 10**5}": 2}}', "stands twice"),
    "a name twice, TOML": (parse_toml, "a = 1\na = 2", "not TOML: Cannot overwrite"),
    "digits": (parse_json, '{"a": ' + "9" * 10**5 + "}", "not JSON"),
    "digits, TOML": (parse_toml, "a = " + "9" * 10**5, "not TOML"),
}


@pytest.mark.parametrize("name", NO_DOCUMENTS)
def test_what_is_no_document_is_refused_in_one_line(name: str) -> None:
    parse, text, words = NO_DOCUMENTS[name]
    with pytest.raises(InputError) as error:
        parse(text, "some.file")
    assert one_line(error.value).startswith("some.file: ") and words in str(error.value)


# --- fields -----------------------------------------------------------------------------------------------

TOML = f"""
whole = 7
large = 9223372036854775808
number = 1.5
endless = inf
text = "word"
blank = " "
long = "{"y" * 10**5}"
flag = true
mixed = [1, "a"]
wholes = [1, 2]
numbers = [0.5, 2]
zero = [0.5, 0]
[table]
inside = "x"
[[tables]]
count = 0x{"f" * 10**4}
"""

WRONG: dict[str, tuple[Callable[[Fields], object], str]] = {
    "no whole": (lambda f: f.whole("number", 0), "'number': found 1.5, allowed: a whole number from 0"),
    "flag no whole": (lambda f: f.whole("flag", 0), "'flag': found True"),
    "below": (lambda f: f.whole("whole", 8), "'whole': found 7, allowed: a whole number from 8"),
    "above": (lambda f: f.whole("whole", 1, 6), "'whole': found 7, allowed: a whole number from 1 to 6"),
    "64 bits": (lambda f: f.whole("large", 0), "'large': found 9223372036854775808"),
    "10^4 digits": (lambda f: f.tables("tables")[0].whole("count", 0), "'tables[0].count': found a number"),
    "absent": (lambda f: f.whole("other", 0), "'other': found nothing"),
    "endless": (lambda f: f.number("endless", 0), "'endless': found inf, allowed: a number from 0"),
    "no number": (lambda f: f.number("text", 0, 5.0), "found 'word', allowed: a number from 0 to 5"),
    "blank": (lambda f: f.text("blank"), "'blank': found ' ', allowed: a text"),
    "long": (lambda f: f.one_of("long", ("a", "b")), "yyy', allowed: a or b"),
    "no flag": (lambda f: f.flag("whole"), "'whole': found 7, allowed: true or false"),
    "no wholes": (lambda f: f.wholes("mixed", 0), "'mixed': found [1, 'a'], allowed: one or more whole"),
    "too few": (lambda f: f.positives("numbers", 3, "size"), "found [0.5, 2], allowed: 3 positive numbers"),
    "not over 0": (lambda f: f.positives("zero", 2, "size"), "found [0.5, 0], allowed: 2 positive numbers"),
    "no positive": (lambda f: f.positive("endless"), "'endless': found inf, allowed: a positive number"),
    "no texts": (lambda f: f.texts("mixed"), "'mixed': found [1, 'a'], allowed: texts"),
    "no table": (lambda f: f.table("text"), "'text': found 'word', allowed: a table"),
    "no tables": (lambda f: f.tables("wholes"), "'wholes': found [1, 2], allowed: tables"),
    "inside": (lambda f: f.table("table").whole("inside", 0), "'table.inside': found 'x'"),
    "unknown": (lambda f: f.table("table").only(()), "'table.inside': found an unknown field"),
    "required": (lambda f: f.table("table").only(("inside", "more")), "'table.more': found nothing"),
    "header": (lambda f: f.header("ours", 1), "'format': found nothing, allowed: ours"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_field_is_named_with_what_was_found_and_is_allowed(name: str) -> None:
    ask, words = WRONG[name]
    with pytest.raises(InputError) as error:
        ask(parse_toml(TOML, "some.toml"))
    assert one_line(error.value).startswith("some.toml: field ") and words in str(error.value)


def test_fields_hand_out_what_was_asked_for() -> None:
    fields = parse_toml(TOML)
    assert (fields.whole("whole", 7, 7), fields.number("whole", 0), fields.flag("flag")) == (7, 7.0, True)
    assert (fields.wholes("wholes", 1), fields.positives("numbers", 2, "size")) == ((1, 2), (0.5, 2.0))
    assert fields.table("table").text("inside") == "x"
    assert (fields.whole("other", 5, default=0), fields.text("other", ""), fields.texts("other", ())) == (
        0,
        "",
        (),
    )
    assert "other" not in fields and "whole" in fields


# --- CSV --------------------------------------------------------------------------------------------------

CSV = """# host = a processor
# version = 2

name,ranks,sizes,fast
"a, b",4,16 32,true
# a remark
c,,8,
"""


def test_rows_of_csv_are_fields() -> None:
    table = parse_csv(CSV, "t.csv", ("name", "ranks"), ("sizes", "fast"))
    first, second = table.rows
    assert (table.head.text("host"), table.head.whole("version", 1)) == ("a processor", 2)
    assert (first.text("name"), first.whole("ranks", 1), first.wholes("sizes", 1)) == ("a, b", 4, (16, 32))
    assert first.flag("fast") and "fast" not in second
    with pytest.raises(InputError, match=r"t\.csv:7: field 'ranks': found nothing, allowed: a whole"):
        second.whole("ranks", 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "name,ranks",
            "name",
            "t.csv:4: field 'ranks': found no such column, allowed: name, ranks, sizes",
        ),
        ("name,", "name,name,", "t.csv:4: field 'name': found a column a second time"),
        ("sizes", "size", "t.csv:4: field 'size': found an unknown column"),
        ("8,\n", "8\n", "t.csv:7: field 'row': found 3 cells, allowed: 4, as in the header"),
        ('"a, b"', '"a, b', "t.csv:5: not CSV"),
        ("c,,8", f"{'c' * 200_000},,8", "t.csv:7: not CSV: field larger than field limit"),
        ("# version", "# host", "t.csv:2: field 'host': found the name a second time, allowed: once"),
        (CSV, "", "t.csv: field 'header': found nothing, allowed: name,ranks"),
    ],
)
def test_what_is_no_csv_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        parse_csv(CSV.replace(old, new), "t.csv", ("name", "ranks"), ("sizes", "fast"))
    assert words in one_line(error.value)


@pytest.mark.parametrize("text", ["4.0", "0x4", " ", "4 4", "٤" * 20, "9" * 50, "nan"])
def test_a_cell_that_is_no_whole_number_is_refused(text: str) -> None:
    (row,) = parse_csv(f"ranks,x\n{text},1", "t.csv", ("ranks", "x")).rows
    with pytest.raises(InputError, match="'ranks': found "):
        row.whole("ranks", 0)


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "a", "1,5"])
def test_a_cell_that_is_no_finite_number_is_refused(text: str) -> None:
    (row,) = parse_csv(f'x\n"{text}"', "t.csv", ("x",)).rows
    with pytest.raises(InputError, match="'x': found "):
        row.number("x", 0)


def test_shared_memory_is_no_device(tmp_path: Path) -> None:
    """A file there is replaced in one step, as anywhere."""
    target = Path("/dev/shm") / f"corewise-{tmp_path.name}-{os.getpid()}"
    target.write_text("as it was")
    try:
        with pytest.raises(RuntimeError), staged_file(target) as staged:
            staged.write_text("half")
            raise RuntimeError
        assert target.read_text() == "as it was"
    finally:
        target.unlink()
