"""A PDF's text corrected: ligatures, accents by their letters, exponents, hyphens at line ends."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

_COMBINING = {
    "¨": "\u0308",
    "´": "\u0301",
    "˜": "\u0303",
    "ˇ": "\u030c",
    "ˆ": "\u0302",
    "˚": "\u030a",
    "¯": "\u0304",
}
_ACCENT = re.compile(rf"([{''.join(_COMBINING)}])([A-Za-zı])")
_BROKEN = re.compile(r"(\w+)(?:\ufffe\s*|-\n(?=[a-z]))(\w+)")


def plain(text: str) -> str:
    """One line without ligatures and control characters, with accents on their letters."""
    text = re.sub(r"[\ufb00-\ufb06]", lambda found: unicodedata.normalize("NFKC", found[0]), text)
    text = accented(text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f\u00ad\ufffd\uffff]|\s+",
        lambda found: " " if found[0].isspace() else "",
        text,
    ).strip()


def with_exponents(characters: Sequence[tuple[str, bool]]) -> str:
    """The text of characters that are raised or not, raised ones after ^ as in 10^6. The th of 5th
    stays as it is.
    """
    text = ""
    for raised, run in groupby(characters, key=lambda one: one[1]):
        part = "".join(character for character, _ in run)
        exponent = raised and part not in {"st", "nd", "rd", "th"}
        text = f"{text}^{part}" if exponent else after_exponent(text, part)
    return text


def after_exponent(text: str, more: str) -> str:
    """`text` and `more`; an exponent at its end is in braces if more follows at once: 2^{n}-1."""
    if re.match(r"[\w+−-]", more):
        text = re.sub(r"\^([^\s{}^]+)$", r"^{\1}", text)
    return text + more


def join_hyphens(text: str) -> str:
    """Join words broken at line ends; the hyphen stays if the text has it elsewhere too."""
    compounds = {found.lower() for found in re.findall(r"\w+-\w+", text)}
    words = {found.lower() for found in re.findall(r"\w{4,}", text)}

    def joined(found: re.Match[str]) -> str:
        before, after = found[1], found[2]
        whole, compound = (before + after).lower(), f"{before}-{after}".lower()
        return (
            f"{before}-{after}" if compound in compounds and whole not in words else before + after
        )

    return _BROKEN.sub(joined, text).replace("\ufffe", "")


def gather_bits(text: str) -> str:
    """Put the bits of a formula, which a PDF gives one symbol a line, on one line."""
    return re.sub(r"(?m)^(\S{1,3})\n+(?=\S{1,3}$)", r"\1 ", text)


def accented(text: str) -> str:
    """Accents on their letters: many PDFs spell Rösinger R¨osinger. A stray accent is dropped."""
    return re.sub(r"\s[¨´˜ˇ˚](?=\s)", "", _ACCENT.sub(_composed, text))


def _composed(found: re.Match[str]) -> str:
    letter = "i" if found[2] == "ı" else found[2]
    one = unicodedata.normalize("NFC", letter + _COMBINING[found[1]])
    # ẅ is a stray mark, not a letter of a name.
    return one if len(one) == 1 and ord(one) < 0x180 else found[0]
