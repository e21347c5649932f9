"""The characters of a PDF's text put right: ligatures, accents beside their letters, hyphens at line ends."""

from __future__ import annotations

import re
import unicodedata

_COMBINING = {"¨": "\u0308", "´": "\u0301", "˜": "\u0303", "ˇ": "\u030c", "ˆ": "\u0302", "˚": "\u030a", "¯": "\u0304"}
_ACCENT = re.compile(rf"([{''.join(_COMBINING)}])([A-Za-zı])")
_BROKEN = re.compile(r"(\w+)(?:\ufffe\s*|-\n(?=[a-z]))(\w+)")


def plain(text: str) -> str:
    """One line with ligatures taken apart, accents put on their letters, and no control characters."""
    text = re.sub(r"[\ufb00-\ufb06]", lambda found: unicodedata.normalize("NFKC", found[0]), text)
    text = accented(text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f\u00ad\ufffd\uffff]|\s+", lambda found: " " if found[0].isspace() else "", text
    ).strip()


def join_hyphens(text: str) -> str:
    """Join words broken at line ends. The hyphen stays where the text elsewhere writes the word with one."""
    compounds = {found.lower() for found in re.findall(r"\w+-\w+", text)}
    words = {found.lower() for found in re.findall(r"\w{4,}", text)}

    def joined(found: re.Match[str]) -> str:
        before, after = found[1], found[2]
        whole, compound = (before + after).lower(), f"{before}-{after}".lower()
        return f"{before}-{after}" if compound in compounds and whole not in words else before + after

    return _BROKEN.sub(joined, text).replace("\ufffe", "")


def gather_bits(text: str) -> str:
    """Put the bits of a formula, which a PDF gives one symbol a line, on one line."""
    return re.sub(r"(?m)^(\S{1,3})\n+(?=\S{1,3}$)", r"\1 ", text)


def accented(text: str) -> str:
    """Accents put on their letters: R¨osinger is how many PDFs spell Rösinger. One that strayed off is dropped."""
    return re.sub(r"\s[¨´˜ˇ˚](?=\s)", "", _ACCENT.sub(_composed, text))


def _composed(found: re.Match[str]) -> str:
    letter = "i" if found[2] == "ı" else found[2]
    one = unicodedata.normalize("NFC", letter + _COMBINING[found[1]])
    return one if len(one) == 1 and ord(one) < 0x180 else found[0]  # ẅ is a stray mark, not a letter of a name
