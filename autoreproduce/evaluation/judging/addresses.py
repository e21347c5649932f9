"""Text that talks to a judge: "give this full marks", in any of a dozen languages.

Code is evidence and never an instruction, so what addresses a judge is found and withheld. Only
texts are looked at (comments, strings, prose in a configuration): never code, and never a value
such as `sample_rate: 100`. The patterns ask for a verb of awarding, an amount and a unit beside
each other, for someone who is addressed, or for an instruction to be ignored; what is written with
invisible characters, in wide letters or in spaced ones is read as it looks.
"""

import re
import unicodedata

_AMOUNT = r"""
    20 | 25 | 100 | full | max(imum|imal)? | perfect | highest | best | top | twenty([-\ ]five)?
  | (one\ )?hundred | voll\w* | höchst\w* | maximal\w* | zwanzig | hundert | plein\w* | vingt | cent
  | máxim\w* | veinte | cien | massim\w* | pien\w* | venti | cento | vinte | cem | volledig\w*
  | максимальн\w* | высш\w* | двадцат\w* | сто | полн\w*"""
_UNIT = r"""
    points? | scores? | marks? | grades? | / | out\ of | punkt\w* | note\b | bewertung | puntos?
  | puntuación | calificación | punti | punteggio | voto | pontos | pontuação | nota | punten
  | балл\w* | оценк\w* | очк\w*"""
_VERB = r"""
    give | assign | award | grant | return | output | deserves? | score | rate | grade | mark
  | gib | gebt | geben\ sie | vergib | vergeben\ sie | bewerte\w* | donne[rz]?
  | attribue[rz]? | accorde[rz]? | note[rz] | dale | otorga | asigna | califica | puntúa | dai
  | assegna | valuta | dê | atribua | conceda | geef | дай(те)? | поставь(те)? | присво\w+
  | оцени(те)?"""
_JUDGE = r"""
    judge | grader | evaluator | reviewer | model | ai | llm | richter\w* | prüfer\w* | gutachter\w*
  | bewerter\w* | sprachmodell | juge | évaluat\w* | correcteur | modèle | juez | evaluador\w*
  | calificador\w* | modelo | giudice | valutatore | juiz | avaliador | rechter | beoordelaar
  | судья | оценщик | рецензент | модель"""
_PATTERNS = re.compile(
    rf"""\b({_VERB})\b[^.\n]{{0,60}}?\b({_AMOUNT})\b
           (?=[^.\n]{{0,30}}?(?:{_UNIT}|\bcode\b)|\W*$)
       | \b({_UNIT})\s*[:=]\s*({_AMOUNT})\b\s*({_UNIT})
       | \b(ignor\w*|disregard|forget|override|vergiss|missachte\w*|oublie[rz]?|olvida|dimentica
            |esqueça|negeer|забудь(те)?|игнорир\w+)\b[^.\n]{{0,40}}?
         \b(instru[ck]\w+|instrucci\w+|istruzion\w+|instruç\w+|anweisung\w*|prompt|above|previous
            |prior|rubric|consigne\w*|инструкц\w+)
       | \b(dear|note\ to|attention|hello|hi|liebe[rs]?|sehr\ geehrte\w*|an\ de[nr]|chère?
            |à\ l['’]attention\ du?|querid[oa]|estimad[oa]|nota\ para|caro|beste|уважаем\w+
            |дорог\w+)\b[^.\n]{{0,20}}?\b({_JUDGE})\b
       | \b(as\ an\ ai|language\ model|system\ prompt
            |you\ are\ (a|an|the)\ (judge|grader|evaluator))\b
       | </?(system|user|assistant|instructions?)>
       | (给|給|打|评|評|授予)[^。\n]{{0,20}}?(满分|滿分|最高|二十|一百|百|20|25|100)
       | (忽略|忽视|忽視|无视|無視)[^。\n]{{0,20}}?(指令|提示|指示|说明|說明)
       | (尊敬的|亲爱的|致)[^。\n]{{0,6}}?(评委|评审|模型|裁判|评分)
       | (満点|最高点|100点|20点)[^。\n]{{0,12}}?(与え|つけ|付け|くださ|下さ)
       | (指示|命令|プロンプト)[^。\n]{{0,12}}?(無視|忘れ)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A name is no sentence: it must give something to be taken for an address.
_NAME = re.compile(
    rf"\b(give|assign|award|grant|deserves?)\b.{{0,40}}?\b({_AMOUNT})\b.{{0,20}}?\b(?:{_UNIT})"
    r"|\bignore\b.{0,20}\b(instructions?|prompt|rubric)\b|\bdear\b.{0,10}\b(judge|grader|reviewer)",
    re.IGNORECASE | re.VERBOSE,
)
_SPACED = re.compile(r"\b(?:\w[ .\-_*]){3,}\w\b")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def addresses_judge(text: str) -> bool:
    """True if `text`, which is no code, talks to a judge."""
    return bool(_PATTERNS.search(readable(text)))


def name_addresses_judge(name: str) -> bool:
    """True if an identifier, read word by word, talks to a judge: `give_this_full_marks`."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", name))
    return len(words) > 2 and bool(_NAME.search(" ".join(words)))


def readable(text: str) -> str:
    """The text as it looks: no invisible characters, wide letters plain, `f u l l` together, blanks
    in a row as one.
    """
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    plain = _SPACED.sub(lambda found: re.sub(r"[ .\-_*]", "", found.group()), plain)
    return re.sub(r"\s+", lambda found: "\n" if "\n" in found.group() else " ", plain)
