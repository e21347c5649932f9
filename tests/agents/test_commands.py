"""The command grammar: by example, by its laws, and under ten thousand mangled replies."""

from __future__ import annotations

import random
import string
import time
from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoreproduce.agents.command_lines import NEW_FILE
from autoreproduce.agents.commands import (
    Add,
    Bash,
    Cannot,
    Command,
    Edit,
    NewFile,
    Parsed,
    ShowSection,
    Submit,
    Update,
)
from autoreproduce.agents.listing import (
    EditStat,
    apply_edit,
    apply_edits,
    edit_stat,
    file_lines,
    number,
)
from autoreproduce.agents.parsing import parse
from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import fence_of

ALL = {"EDIT", "ADD", "UPDATE", "SUBMIT", "SECTION", "BASH"}


def error_of(reply: str, allowed: set[str] = ALL) -> str:
    with pytest.raises(CommandError) as caught:
        parse(reply, allowed)
    return str(caught.value)


# EDIT
# ---------------------------------------------------------------------------------------------------


def test_an_edit_after_prose():
    parsed = parse("The loss is wrong.\n\nEDIT 3 5\n```python\nx = 1\n\ny = 2\n```\n", {"EDIT"})
    assert parsed == Parsed(Edit(3, 5, "x = 1\n\ny = 2\n"), "The loss is wrong.", ())


@pytest.mark.parametrize(
    "line",
    [
        "EDIT 3 5",
        "**EDIT 3 5**",
        "**EDIT** 3 5",
        "`EDIT 3 5`",
        "### EDIT 3 5",
        "EDIT 3-5",
        "EDIT 3:5",
        "EDIT 3–5",
        "EDIT 3, 5",
        "EDIT lines 3 5",
        "EDIT lines 3-5",
        "EDIT lines 3 to 5",
        "EDIT: 3 5",
        "EDIT 3 5:",
        "  EDIT 3 5 ",
    ],
)
def test_ways_of_writing_an_edit(line):
    assert parse(f"{line}\n```\nx\n```", {"EDIT"}).command == Edit(3, 5, "x\n")


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("1 2 model.py", "model.py"),
        ("1 2 src/a_b.py:", "src/a_b.py"),
        ("1-2 `conf/x.yaml`", "conf/x.yaml"),
        ("1 2 ./a.py", "a.py"),
    ],
)
def test_an_edit_names_a_file(rest, path):
    assert parse(f"EDIT {rest}\n```\nx\n```", {"EDIT"}).command == Edit(1, 2, "x\n", path)


@pytest.mark.parametrize(
    "path",
    ["../a.py", "/etc/passwd", "a/../../b", "~/x", "a/", "..", "a\\b", "$HOME", "a;b", "x\0y"],
)
def test_a_path_outside_is_refused(path):
    assert "path to a file" in error_of(f"EDIT 1 2 {path}\n```\nx\n```")


@pytest.mark.parametrize("body", ["```\n```", "", "\n\n", "```python\n```\nThese lines are dead."])
def test_an_empty_replacement_deletes(body):
    assert parse(f"EDIT 3 5\n{body}", {"EDIT"}).command == Edit(3, 5, "")


def test_a_blank_line_is_not_a_deletion():
    assert parse("EDIT 3 5\n```\n\n```", {"EDIT"}).command == Edit(3, 5, "\n")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("EDIT 5\n```\nx\n```", "the first and the last line"),
        ("EDIT 3 x\n```\nx\n```", "the first and the last line"),
        ("EDIT 3 -1\n```\nx\n```", "the first and the last line"),
        (f"EDIT 1 {'9' * 5000}\n```\nx\n```", "the first and the last line"),
        ("EDIT 5 3\n```\nx\n```", "isn't a range"),
        ("EDIT 0 3\n```\nx\n```", "isn't a range"),
        ("EDIT 3 5\nx = 1", "is not followed by its fenced block"),
        ("EDIT 3 5\nx = 1\n```\ny\n```", "is not followed by its fenced block"),
        ("EDIT 3 2", "is not followed by its fenced block"),
        ("EDIT 3 5\n```python\nx = 1", "cut off"),
        ("EDIT 3 5\n```python\n", "cut off"),
        ("EDIT 3 5\n````python\nx = 1\n```", "a line ```` is missing"),
        (
            "EDIT 3 5\n```python\nx = 1\n\nEDIT 7 9\n```python\ny\n```",
            "not closed before `EDIT 7 9`",
        ),
        ("EDIT 3 5\n```\nx = 1\n\nEDIT 7 9\n```\ny\n```", "not closed before `EDIT 7 9`"),
        ("edit 3 5\n```\nx\n```", "not of the form expected"),
        ("EDIT the file so that it runs.", "not of the form expected"),
        ("```\nEDIT 3 5\n```", "is inside a code fence"),
        ("", "The reply is empty"),
        (" \n\n", "The reply is empty"),
        ("I see no fault.", "holds no command"),
        ("a \ud800 b", "character"),
    ],
)
def test_what_cannot_be_done_is_said(reply, words):
    assert words in error_of(reply, {"EDIT"})


def test_an_error_shows_what_is_expected():
    said = error_of("I see no fault.", {"UPDATE", "SUBMIT"})
    assert "UPDATE or SUBMIT" in said and "## Feedback" in said and "EDIT" not in said


NESTED = {
    "a docstring with a bare fence": '"""Doc.\n\n```\nexample\n```\n"""\nx = 1\n',
    "a docstring with an info string": '"""Doc.\n\n```python\nexample\n```\n"""\nx = 1\n',
    "two bare blocks in a docstring": '"""Doc.\n\n```\na\n```\n\n```\nb\n```\n"""\nx = 1\n',
    "an indented docstring": 'def f():\n    """Doc.\n\n    ```\n    a\n    ```\n    """\n',
    "an indented docstring that ends on its fence": 'def f():\n    """Doc.\n    ```\n    a\n    ```"""\n',
    "a docstring that ends on its fence": '"""Doc.\n```\na\n```"""\nx = 1\n',
    "single quotes": "'''Doc.\n```\na\n```\n'''\n",
    "a string with fences": 'PROMPT = """\n```json\n{}\n```\n"""\n',
    "tildes within": '"""\n~~~\na\n~~~\n"""\n',
    "one lone tilde fence": "# see\n~~~\nx = 1\n",
    "the end of a docstring": 'more words.\n"""\nx = 1\n',
    "a command in a string": '"""\nEDIT 3 5\nSUBMIT\n"""\n',
    "a fence marked in a comment": "# ``` is no fence\nx = '```'\n",
}


@pytest.mark.parametrize("inner", NESTED.values(), ids=NESTED.keys())
@pytest.mark.parametrize(
    "after", ["", "\n", "\nThis fixes it.\n", "\n\nEDIT 9 9\n```\nz\n```\n", "\nSUBMIT"]
)
def test_nested_fences_survive(inner, after):
    assert parse(f"EDIT 3 5\n```python\n{inner}```{after}", {"EDIT", "SUBMIT"}).command == Edit(
        3, 5, inner
    )


def test_an_edit_that_begins_inside_a_docstring_is_never_cut_short():
    inner = 'more words\n```\nexample\n```\nend."""\nx = 1\n'
    for tail in ("", "\nSUBMIT"):
        assert parse(f"EDIT 3 5\n```python\n{inner}```{tail}", ALL).command == Edit(3, 5, inner)
    assert "longer fence" in error_of(f"EDIT 3 5\n```python\n{inner}```\n\nThis fixes it.\n")


@pytest.mark.parametrize("mark", ["````", "`````", "~~~", "~~~~"])
def test_longer_fences_and_tildes_hold_shorter_ones(mark):
    inner = "# Title\n```\na\n```\nend\n```\n"
    assert parse(f"EDIT 1 1\n{mark}markdown\n{inner}{mark}\n", {"EDIT"}).command == Edit(
        1, 1, inner
    )


def test_a_markdown_file_between_three_backticks():
    inner = "# Title\n\n```\npip install x\n```\n\nText.\n\n```\nrun\n```\nEnd.\n"
    assert parse(f"EDIT 1 1 README.md\n```markdown\n{inner}```", {"EDIT"}).command == Edit(
        1, 1, inner, "README.md"
    )


def test_an_indented_block_loses_its_indentation():
    assert parse("EDIT 1 1\n   ```\n   a\n     b\n   ```", {"EDIT"}).command == Edit(
        1, 1, "a\n  b\n"
    )


def test_a_block_of_prose_before_the_command_is_no_command():
    parsed = parse("As in\n```\nEDIT 1 1\n```\nso:\n\nEDIT 2 2\n```\nx\n```", {"EDIT"})
    assert parsed.command == Edit(2, 2, "x\n") and parsed.notes == ()


def test_windows_line_ends_in_a_reply():
    assert parse("EDIT 1 1\r\n```\r\na\r\nb\r\n```\r\n", {"EDIT"}).command == Edit(1, 1, "a\nb\n")


def test_copied_line_numbers_are_taken_off():
    parsed = parse("EDIT 3 5\n```\n   3|def f():\n   4|\n   5|    return 1\n```", {"EDIT"})
    assert (
        parsed.command == Edit(3, 5, "def f():\n\n    return 1\n")
        and "line numbers" in parsed.notes[0]
    )
    assert parse("EDIT 3 3\n```\n3|x\n```", {"EDIT"}).command == Edit(3, 3, "x\n")


@pytest.mark.parametrize("body", ["1|a\n5|b\n", "7|x\n", "1|a\nb\n", "a|1\n", "\n"])
def test_what_only_looks_like_a_listing_stays(body):
    assert parse(f"EDIT 3 3\n```\n{body}```", {"EDIT"}).command == Edit(3, 3, body)


# the other commands
# -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "ADD a.py src/b.py",
        "ADD a.py, src/b.py",
        "ADD a.py\nADD src/b.py",
        "ADD\na.py\nsrc/b.py",
        "ADD a.py\n- `src/b.py`\nboth matter",
        "ADD:\n\n- a.py\n- src/b.py\n",
        "ADD\n```\na.py\nsrc/b.py\n```",
        "ADD a.py a.py 'src/b.py'",
        "ADD a.py\n\nand then\n\nADD src/b.py",
    ],
)
def test_files_asked_for(reply):
    assert parse(reply, {"ADD"}).command == Add(("a.py", "src/b.py"))


@pytest.mark.parametrize(
    ("reply", "words"),
    [("ADD", "names no file"), ("ADD ../x.py", "a path"), ("ADD the missing layer", "form")],
)
def test_files_that_cannot_be_asked_for(reply, words):
    assert words in error_of(reply, {"ADD"})


def test_an_update_with_a_summary_that_has_headings_and_fences():
    summary = "# Method\n\n## Loss\n```\n## Feedback\n```\nRelative L2.\n\n### Summary\nend"
    parsed = parse(
        f"I compared.\n\nUPDATE\n## Feedback\nUse L2.\n## Summary\n{summary}\n",
        {"UPDATE", "SUBMIT"},
    )
    assert parsed == Parsed(Update("Use L2.", summary), "I compared.", ())


@pytest.mark.parametrize(
    "summary",
    [
        "",
        "## Summary\nunchanged",
        "## Summary\nUnchanged.\n",
        "## Summary\n\n",
        "**Summary:**\n_unchanged_",
    ],
)
def test_an_update_that_leaves_the_summary(summary):
    assert parse(f"UPDATE\n### feedback:\nUse L2.\n{summary}", {"UPDATE"}).command == Update(
        "Use L2."
    )


def test_sections_come_in_any_order():
    assert parse("UPDATE\n## Summary\nnew\n## Feedback\nmore\nlines", {"UPDATE"}).command == Update(
        "more\nlines", "new"
    )


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("UPDATE\n", "found none"),
        ("UPDATE\n## Summary\nUse L2.", "found none"),
        ("UPDATE\n## Feedback\n\n## Summary\nx", "found an empty one"),
        ("UPDATE\n## Feedback\n```\nx\n## Summary\ny", "is not closed"),
    ],
)
def test_updates_that_are_not_whole(reply, words):
    assert words in error_of(reply, {"UPDATE"})


def test_submit_keeps_its_reason():
    assert parse("fine\nSUBMIT.\n\nAll items match.", {"SUBMIT"}) == Parsed(
        Submit("All items match."), "fine", ()
    )
    assert "not of the form" in error_of("SUBMIT or UPDATE? I am not sure", {"SUBMIT"})


@pytest.mark.parametrize(
    "reply",
    [
        "Bash pip install x",
        "BASH pip install x",
        "**Bash** pip install x",
        "`Bash pip install x`",
        "Bash `pip install x`",
        "Bash\n```bash\npip install x\n```",
        "Bash: pip install x",
        "```bash\nBash pip install x\n```",
        "It is missing:\n\n```\n\nBash `pip install x`\n```\nThen it runs.",
    ],
)
def test_bash(reply):
    assert parse(reply, {"BASH"}).command == Bash("pip install x")


def test_bash_in_a_fence_counts_only_if_it_stands_there_alone():
    assert "Expected Bash" in error_of("```bash\nBash pip install x\nls\n```", {"BASH"})
    fenced = "```\nBash ls\n```\nEDIT 1 1\n```\na\n```"
    assert parse(fenced, {"BASH", "EDIT"}).command == Edit(1, 1, "a\n")


def test_bash_without_a_command():
    assert "not followed" in error_of("Bash\n```\n```", {"BASH"}) and "not followed" in error_of(
        "Bash\nls", {"BASH"}
    )


def test_the_first_command_counts_and_the_others_are_named():
    parsed = parse("EDIT 1 1\n```\na\n```\nSUBMIT\n\nBash ls", ALL)
    assert parsed.command == Edit(1, 1, "a\n") and parsed.more == ()
    assert len(parsed.notes) == 1 and "EDIT was taken, 2 after it ignored" in parsed.notes[0]


def test_all_edits_of_a_reply_are_taken():
    parsed = parse("EDIT 1 1\n```\na\n```\n\nEDIT 2 2\n```\nb\n```\nSUBMIT", {"EDIT", "SUBMIT"})
    assert parsed.edits == (Edit(1, 1, "a\n"), Edit(2, 2, "b\n"))
    assert "the first and the last line" in error_of("EDIT 1 1\n```\n```\nEDIT 3 x\n```\nb\n```")
    with pytest.raises(CommandError, match="one EDIT"):
        parsed.whole_file()


FILES = {NEW_FILE, "EDIT"}


def test_a_new_file_is_an_add_with_its_content_beside_edits():
    reply = (
        "Two files.\n\nADD src/a.py\n~~~~python\nx = 1\n~~~~\n\n"
        "EDIT 2 2 b.py\n```\ny\n```\n**ADD `c.md`**\n```markdown\n# C\n```sh\nls\n```\n```\n"
    )
    parsed = parse(reply, FILES)
    assert parsed.new_files == (
        NewFile("src/a.py", "x = 1\n"),
        NewFile("c.md", "# C\n```sh\nls\n```\n"),
    )
    assert parsed.edits == (Edit(2, 2, "y\n", "b.py"),) and parsed.thought == "Two files."
    for text in ("", "a\n", "~~~~\n```\nADD b.py\n"):
        new = NewFile("src/a.py", text)
        assert parse(format_command(new), FILES).command == new


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("ADD src/a.py", "isn't a new file"),
        ("ADD a.py b.py\n```\nx\n```", "isn't a new file"),
        ("ADD ../a.py\n```\nx\n```", "path to a file below"),
        ("ADD a.py\n```\nx", "cut off"),
        ("UPDATE", "UPDATE cannot be used in this step. Expected EDIT or ADD"),
    ],
)
def test_what_is_no_new_file_is_told(reply, problem):
    assert problem in error_of(reply, FILES)


def test_where_files_are_only_asked_for_code_below_their_path_is_passed_over():
    assert parse("ADD a.py\n```\nx = f(1)\n```", {"ADD"}).command == Add(("a.py",))


def test_several_edits_count_by_the_same_listing():
    text = "a\nb\nc\nd\n"
    edits = [Edit(4, 4, "D\n"), Edit(1, 1, "A\nA\n"), Edit(3, 2, "x\n"), Edit(3, 2, "y\n")]
    assert apply_edits(text, edits) == "A\nA\nb\nx\ny\nc\nD\n"
    for overlapping in ([Edit(1, 3), Edit(2, 2)], [Edit(1, 2), Edit(2, 1, "x\n")]):
        with pytest.raises(CommandError, match="overlap"):
            apply_edits(text, overlapping)


def test_a_command_that_this_step_lacks_is_passed_over_and_told():
    parsed = parse("Bash pip install x\n\nEDIT 1 1\n```\na\n```", {"EDIT"})
    assert parsed.command == Edit(1, 1, "a\n") and "Bash" in parsed.notes[0]
    assert "SUBMIT cannot be used in this step" in error_of("SUBMIT", {"EDIT"})


def test_sentences_are_no_commands():
    reply = "ADD a norm layer here, then\nUPDATE the loss and\nSUBMIT it.\nEDIT as follows:\n\nEDIT 1 1\n```\na\n```"
    assert parse(reply, ALL).command == Edit(1, 1, "a\n")


# laws
# ---------------------------------------------------------------------------------------------------

texts = st.lists(
    st.text(alphabet=string.ascii_letters + " \t`~|#\x0c\u2028é", max_size=8), max_size=8
)
ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[str], str]:
    """A file's text with its lines and line end. Without a final newline the last line is not
    empty.
    """
    lines, end = draw(texts), draw(ends)
    final = draw(st.booleans()) or not lines or not lines[-1]
    return end.join(lines) + (end if final and lines else ""), lines, end


@settings(deadline=None)
@given(files(), texts, st.data())
def test_an_edit_is_slice_assignment(file, new, data):
    text, lines, end = file
    first = data.draw(st.integers(1, len(lines) + 1))
    last = data.draw(st.integers(first - 1, len(lines)))
    after = apply_edit(text, Edit(first, last, "".join(f"{line}\n" for line in new)))
    expected = list(lines)
    expected[first - 1 : last] = new
    assert file_lines(after) == expected
    assert (
        "\r" not in after
        if end == "\n" or "\r" not in text
        else after.count("\r") == after.count("\n")
    )
    final = not lines or text.endswith("\n") or (bool(expected) and not expected[-1])
    assert after == "" if not expected else after.endswith("\n") is final


@settings(deadline=None)
@given(files(), texts, st.data())
def test_insert_then_delete_is_nothing(file, new, data):
    text, lines, _ = file
    assume(text.endswith("\n") or not text)
    first = data.draw(st.integers(1, len(lines) + 1))
    inserted = apply_edit(text, Edit(first, first - 1, "".join(f"{line}\n" for line in new)))
    back = apply_edit(inserted, Edit(first, first - 1 + len(new)))
    assert file_lines(back) == lines
    assert back == text or not text


@settings(deadline=None)
@given(files(), st.integers(-3, 20), st.integers(-3, 20))
def test_a_range_that_is_not_there_is_refused(file, first, last):
    text, lines, _ = file
    fits = 1 <= first <= len(lines) + 1 and first - 1 <= last <= len(lines)
    if fits:
        apply_edit(text, Edit(first, last))
        return
    with pytest.raises(CommandError) as caught:
        apply_edit(text, Edit(first, last))
    assert "isn't a range" in str(caught.value) or f"has {len(lines)} lines" in str(caught.value)


@settings(deadline=None)
@given(files())
def test_the_listing_shows_the_lines_that_count(file):
    text, lines, _ = file
    listed = number(text).split("\n") if lines else []
    assert [line.split("|", 1)[1] for line in listed] == lines
    assert [int(line.split("|", 1)[0]) for line in listed] == list(range(1, len(lines) + 1))


def test_mixed_line_ends_and_single_lines():
    assert apply_edit("a\r\nb\nc\r\n", Edit(2, 2, "x\n")) == "a\r\nx\r\nc\r\n"
    assert apply_edit("a\nb", Edit(3, 2, "c\n")) == "a\nb\nc"
    assert apply_edit("a\nb", Edit(2, 2)) == "a"
    assert apply_edit("", Edit(1, 0, "a\nb\n")) == "a\nb\n"
    assert apply_edit("a\n", Edit(1, 1)) == ""
    assert number("a\n" * 12).split("\n")[-1] == "  12|a"


def test_edit_stat_counts_what_differs():
    text = "a\nb\nc\nd\n"
    assert edit_stat(text, Edit(2, 3, "b\nx\ny\n")) == EditStat(1, 2)
    assert edit_stat(text, Edit(1, 4)) == EditStat(4, 0)
    assert edit_stat(text, Edit(5, 4, "e\n")) == EditStat(0, 1)
    with pytest.raises(CommandError, match="4 lines"):
        edit_stat(text, Edit(5, 5))


# parse . format = identity
# ------------------------------------------------------------------------------

line_texts = st.text(
    alphabet=string.printable.replace("\n", "").replace("\r", "") + "é`~|#", max_size=30
)
fence_lines = st.sampled_from(
    ["```", "````", "```python", "~~~", "   ```", '"""', "EDIT 3 5", "SUBMIT", "", '```"""']
)
code = st.lists(st.one_of(line_texts, fence_lines), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
paths = st.from_regex(r"[a-z]{1,5}(/[a-z_]{1,5}){0,2}\.py", fullmatch=True)
prose = st.text(alphabet=string.ascii_lowercase + " \n.", min_size=1).map(str.strip).filter(bool)


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    first = draw(st.integers(1, 999))
    return Edit(first, draw(st.integers(first - 1, 1500)), draw(code), draw(st.none() | paths))


commands = st.one_of(
    edits(),
    st.builds(Add, st.lists(paths, min_size=1, max_size=5, unique=True).map(tuple)),
    st.builds(
        Update,
        prose,
        st.none() | prose.filter(lambda text: text.strip(". \n") not in {"", "unchanged"}),
    ),
    st.builds(Submit, st.just("") | prose),
    st.builds(ShowSection, st.sampled_from(["4.1", "Training", "3 Method and data", "A.2"])),
    st.builds(Bash, prose.map(lambda text: f"pip {text}")),
)


def looks_listed(text: str) -> bool:
    return any(
        part.strip().isdigit()
        for line in text.split("\n")
        for part in [line.partition("|")[0]]
        if "|" in line
    )


def format_command(command: Command) -> str:
    """The reply that `parse` reads as `command`."""
    match command:
        case Edit(first, last, replacement, path):
            reply = _with_block(f"EDIT {first} {last} {path or ''}".rstrip(), replacement)
        case Add(paths):
            reply = "\n".join(f"ADD {path}" for path in paths)
        case NewFile(path, text):
            reply = _with_block(f"ADD {path}", text)
        case Update(feedback, summary, choices):
            summary = "unchanged" if summary is None else summary
            reply = f"UPDATE\n## Feedback\n{feedback}\n## Summary\n{summary}"
            reply += f"\n## Choices\n{choices}" if choices else ""
        case Submit(reason):
            reply = f"SUBMIT\n{reason}".rstrip()
        case ShowSection(heading):
            reply = f"SECTION: {heading}"
        case Cannot(reason):
            reply = f"CANNOT: {reason}"
        case Bash(text):
            inline = "\n" not in text and "`" not in text
            reply = f"Bash {text}" if inline else _with_block("Bash", f"{text}\n")
    return reply


def _with_block(line: str, text: str) -> str:
    marks = [fence.mark for line in text.split("\n") if (fence := fence_of(line))]
    fence = "`" * max(3, *(len(mark) + 1 for mark in marks), 3)
    return f"{line}\n{fence}\n{text}{fence}"


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(commands, prose)
def test_what_is_formatted_is_read_back(command, thought):
    assume(not (isinstance(command, Edit) and looks_listed(command.replacement)))
    parsed = parse(f"{thought}\n\n{format_command(command)}\n", ALL)
    assert parsed.command == command and parsed.thought == thought and parsed.notes == ()


# fuzz
# ---------------------------------------------------------------------------------------------------

SEEDS = [
    "Thought.\n\nEDIT 3 5\n```python\nx = 1\n```\nmore",
    'EDIT 1 0 src/a.py\n````python\n"""Doc\n```\na\n```\n"""\n````\n\nEDIT 7 9\n```\ny\n```',
    "ADD a.py src/b.py\nADD c.py",
    "UPDATE\n## Feedback\nUse L2.\n```\nx\n```\n## Summary\nnew",
    "SUBMIT\nreason",
    "Bash\n```bash\npip install x\n```",
    "EDIT 3 3\n```\n   3|x\n```",
    "EDIT 9 9\n~~~\n```\n~~~\nSUBMIT",
]
PIECES = [
    "```",
    "````",
    "~~~",
    "\n",
    "\r\n",
    "EDIT",
    "EDIT 1 2",
    "ADD ",
    "UPDATE\n",
    "SUBMIT\n",
    "Bash ",
    "## Feedback\n",
    "## Summary\n",
    '"""',
    "'''",
    "|",
    "\0",
    "\ud800",
    "\u2028",
    "-1",
    "99999999999999999999",
    "**",
    "`",
    "../",
    "\t",
    "é",
]


def mangled(rng: random.Random) -> str:
    text = rng.choice(SEEDS)
    for _ in range(rng.randint(1, 8)):
        i, j = sorted(rng.randint(0, len(text)) for _ in range(2))
        match rng.randint(0, 5):
            case 0:
                text = text[:i] + text[j:]
            case 1:
                text = text[:i] + rng.choice(PIECES) + text[i:]
            case 2:
                text = text[:i] + text[i:j] * 2 + text[j:]
            case 3:
                text = text[:j]
            case 4:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
            case _:
                text = text + "\n" + rng.choice(SEEDS)
    return text


@pytest.mark.slow
def test_ten_thousand_mangled_replies():
    rng = random.Random(20240711)
    outcomes = {"parsed": 0, "refused": 0}
    document = "".join(f"line {n}\n" for n in range(8))
    for _ in range(10_000):
        reply = mangled(rng)
        allowed = set(rng.sample(sorted(ALL), rng.randint(1, 5)))
        try:
            parsed = parse(reply, allowed)
            assert isinstance(parsed, Parsed) and type(parsed.command).__name__.upper() in allowed
            if isinstance(parsed.command, Edit):
                assert parsed.command.replacement in {""} or parsed.command.replacement.endswith(
                    "\n"
                )
                assert "\ud800" not in apply_edit(document, parsed.command)
            outcomes["parsed"] += 1
        except CommandError as error:
            assert len(str(error)) > 20
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 1000, outcomes


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        "```\n" * 16_000,
        "EDIT 1 1\n" + "```\n" * 16_000,
        'EDIT 1 1\n```\n"""\n' + "```\n" * 16_000 + "x",
        "EDIT 1 1\n```\na\n```\n" * 3000,
        "EDIT 1 1\n```\na\n```\nand\n" * 3000,
        "EDIT 1 1\n```\na\n" * 3000,
        "EDIT 1 1\n" * 7000,
        "EDIT 3" + " " * 60_000 + "x",
        "UPDATE\n## Feedback" + " " * 60_000 + "x",
        "```" + " " * 60_000 + "x",
        " " * 60_000,
        "\n" * 60_000,
        "ADD " + "a " * 30_000,
        "ADD " + "a" * 60_000,
        "ADD a.py\n" * 6000,
        "EDIT 1 1\n```\n" + "    1|x\n" * 8000 + "```",
        "`" * 60_000,
        "**" * 30_000 + "EDIT 1 1",
    ],
)
def test_long_replies_are_read_in_time(reply):
    began = time.perf_counter()
    with suppress(CommandError):
        parse(reply, ALL)
    assert time.perf_counter() - began < 5.0
