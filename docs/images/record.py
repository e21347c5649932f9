"""Records the demo in a terminal and draws it: `python docs/images/record.py CAST [-- COMMAND…]`.

With a command it runs that in a terminal of 96 × 30 and writes an asciicast (v2) to CAST; then it
draws what stood on the screen as docs/images/demo.svg, a few frames, with long waits cut short.
Needs `pyte`, which reads terminals (`pip install pyte`).
"""

import fcntl
import html
import json
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pyte

COLUMNS, ROWS = 96, 30
WIDTH, HEIGHT = 8.0, 17.0  # pixels of a character
PAUSE = 10.0
FRAMES, LEAST, LONGEST, LAST = 14, 0.9, 1.6, 6.0  # how many; seconds that one stands
COLOURS = {"green": "#7ee787", "cyan": "#79c0ff", "brown": "#e3b341", "red": "#ff7b72"}
Line = tuple[tuple[str, str, bool], ...]  # text, colour, bold


def record(cast: Path, command: list[str]) -> None:
    """Run a command in a terminal, and write what it prints with its times."""
    child, terminal = pty.fork()
    if not child:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began = time.monotonic()
    with cast.open("w", encoding="utf-8") as file:
        head = {"version": 2, "width": COLUMNS, "height": ROWS, "command": " ".join(command)}
        file.write(json.dumps(head) + "\n")
        while True:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:
                break
            event = [round(time.monotonic() - began, 3), "o", data.decode(errors="replace")]
            file.write(json.dumps(event) + "\n")
            file.flush()
    os.waitpid(child, 0)


def screens(cast: Path) -> Iterator[list[Line]]:
    """The screen every PAUSE seconds of the recording, and at its end."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream, due, held = pyte.Stream(screen), PAUSE, ""
    for text in cast.read_text(encoding="utf-8").splitlines()[1:]:
        at, _, printed = json.loads(text)
        if at >= due:
            stream.feed(held)
            yield [_line(screen, row) for row in range(ROWS)]
            due, held = at + PAUSE, ""
        held += printed
    stream.feed(held)
    yield [_line(screen, row) for row in range(ROWS)]


def _line(screen: pyte.Screen, row: int) -> Line:
    """One row, neighbours of one look together."""
    parts: list[tuple[str, str, bool]] = []
    for column in range(COLUMNS):
        one = screen.buffer[row][column]
        look = (COLOURS.get(one.fg, "#c9d1d9"), bool(one.bold))
        if parts and parts[-1][1:] == look:
            parts[-1] = (parts[-1][0] + one.data, *look)
        else:
            parts.append((one.data, *look))
    return tuple(parts)


def chosen(found: list[list[Line]]) -> list[list[Line]]:
    """FRAMES of the screens, even over those that changed below their first line, which has the
    clock; the first and the last are among them.
    """
    text = [["".join(part for part, _, _ in line) for line in screen[1:17]] for screen in found]
    changed = [one for n, one in enumerate(found) if not n or _told(text[n]) != _told(text[n - 1])]
    if len(changed) <= FRAMES:
        return changed
    return [changed[round(n * (len(changed) - 1) / (FRAMES - 1))] for n in range(FRAMES)]


def _told(lines: list[str]) -> list[str]:
    """The lines without those that count the time."""
    return [line for line in lines if "running for" not in line]


def drawn(frames: list[list[Line]], title: str) -> str:
    """An SVG that shows the frames in turn; without animation, the last one."""
    stands = [max(LEAST, LONGEST - n * 0.05) for n in range(len(frames) - 1)] + [LAST]
    whole, at, rules, groups = sum(stands), 0.0, [], []
    for number, (frame, seconds) in enumerate(zip(frames, stands, strict=True)):
        begin, end = 100 * at / whole, 100 * (at + seconds) / whole
        at += seconds
        before = f"0%,{begin:.2f}%{{opacity:0}}" if number else ""
        after = f"{end:.2f}%,100%{{opacity:0}}" if end < 99.99 else "100%{opacity:1}"
        rules.append(f"@keyframes f{number}{{{before}{begin + 0.01:.2f}%{{opacity:1}}{after}}}")
        rules.append(f"#f{number}{{animation:f{number} {whole:.1f}s step-end infinite}}")
        hidden = "" if number == len(frames) - 1 else ' opacity="0"'
        lines = [_text(line, row) for row, line in enumerate(frame)]
        groups.append(f'<g id="f{number}"{hidden}>{"".join(lines)}</g>')
    width, height = COLUMNS * WIDTH + 32, ROWS * HEIGHT + 56
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{html.escape(title)}"><style>text{{font:13px ui-monospace,Menlo,Consolas,'
        f"monospace;white-space:pre}}{''.join(rules)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
        f'<text x="16" y="24" fill="#8b949e">$ {html.escape(title)}</text>{"".join(groups)}</svg>\n'
    )


def _text(line: Line, row: int) -> str:
    spans = "".join(
        f'<tspan fill="{colour}"{" font-weight=" + chr(34) + "700" + chr(34) if bold else ""}>'
        f"{html.escape(text)}</tspan>"
        for text, colour, bold in line
    )
    if not "".join(text for text, _, _ in line).strip():
        return ""
    return f'<text x="16" y="{48 + row * HEIGHT:g}" xml:space="preserve">{spans}</text>'


def main() -> None:
    """Record where a command is given, then draw."""
    cast, *command = [each for each in sys.argv[1:] if each != "--"]
    if command:
        record(Path(cast), command)
    frames = chosen(list(screens(Path(cast))))
    title = "autoreproduce --arxiv 2301.12664 --task Darcy --model tape"
    Path(__file__).with_name("demo.svg").write_text(drawn(frames, title), encoding="utf-8")


if __name__ == "__main__":
    main()
