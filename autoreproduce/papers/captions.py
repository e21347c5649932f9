"""Lines that caption a table, in the numberings and languages of papers.

"Table 2: …", "TABLE II", "Tab.3 …", "Table S4. …", "Supplementary Table 9", "表2：…", in a list,
in HTML's spans, between stars or underscores.
"""

import html
import re

from autoreproduce.papers.plain import plain

_WORD = (
    r"(?:(?:supplementary|supplemental|supp\.|suppl\.|extended\s+data|appendix|online)\s+)?"
    r"(?:e?table|tabelle|tableau|tabla|tabella|tabela|tabell?|tabulka|tablo|taulukko|πίνακας|таблица"
    r"|exhibit|tab\.|tbl\.|tab(?=\s*\d))"
)
_NUMBER = (
    r"[IVXL]+(?![^\W_])"
    # "1 6:": a reader of PDFs put a blank into the number
    r"|[A-Za-z]{0,2}[.-]?\d+(?:\s(?=\d+\s*(?:[:|：]|\.\s))\d+)?(?:[.-]\d+)*[a-z]?(?![^\W_])"
)
_LABEL = r"[\w-]+:[\w:.+-]*?\w(?=\s*:\s|\s*$)"
_CAPTION = re.compile(
    rf"^\W*?(?:{_WORD}[\s~\u00a0]*(?P<name>{_NUMBER}|[A-Z](?=\s*[:.|]\s)|{_LABEL}|(?=:))"
    rf"|(?:附|续|補)?表格?\s*(?P<cjk>[A-Z]?[.-]?\d+(?:[.-]\d+)*))"
    r"[\s*_]*(?P<sign>[:.|\]：．—–-])?[\s*_]*(?P<caption>.*?)[\s*_]*$",
    re.IGNORECASE,
)
_MAY_BE_ONE = re.compile(rf"{_WORD}|表", re.IGNORECASE)
_SAYS = re.compile(  # "Table 2 shows …" is a sentence
    r"(?:and|or|to|we|also|further|below|above|in|for|with|of|on|from|is|are|was|were|has|have|can"
    r"|shows?|lists?|reports?|presents?|gives?|summari[sz]es|compares?|contains|provides"
    r"|illustrates|demonstrates|details|describes|displays|includes|indicates|reveals|confirms)\b"
)
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50}


def caption_parts(line: str) -> tuple[tuple[str, ...], str] | None:
    """(names, caption) of a line "Table 2: …"; None for any other line."""
    shown = line if len(line) < 2000 and _MAY_BE_ONE.search(line) else ""
    shown = re.sub(r"</?[a-zA-Z][^<>]*>", " ", html.unescape(shown)).strip(" \t*_#>-•")
    found = _CAPTION.match(shown)
    if found is None:
        return None
    name = (found["name"] or found["cjk"] or "").strip(".:")
    if not found["sign"] and _SAYS.match(found["caption"]):
        return None
    if name.isalpha() and len(name) < 6 and not name.isupper():
        return None  # "table in", "table a": words
    names = (re.sub(r"\s", "", name),) if name else ()
    return names, plain(found["caption"])


def table_number(name: str) -> str:
    """How a table's number is compared: "2" for II, 2a and 2(b), "s4" for S4; "" for a label."""
    if re.fullmatch(r"[IVXL]+", name):
        values = [_ROMAN[letter] for letter in name]
        pairs = zip(values, [*values[1:], 0], strict=True)
        return str(sum(-one if one < after else one for one, after in pairs))
    found = re.match(r"([a-z]{0,2})[.-]?(\d+(?:[.-]\d+)*)[ (]*[a-z]?\)?$", name.casefold())
    return found[1] + found[2] if found else ""
