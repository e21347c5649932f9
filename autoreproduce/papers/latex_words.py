"""The LaTeX macros and environments that matter to a reader: their arguments and their meaning."""

import re

HEADINGS = {"part": 2, "chapter": 2, "section": 2, "subsection": 3, "subsubsection": 4}
BOLD_HEADS = ("paragraph", "subparagraph")
WRAPS = {"textbf": "**", "emph": "*", "textit": "*", "textsl": "*", "texttt": "`"}
CITES = [
    "cite",
    "citep",
    "citet",
    "citealp",
    "citealt",
    "citeauthor",
    "citeyear",
    "citeyearpar",
    "parencite",
    "textcite",
    "autocite",
    "footcite",
    "citeA",
    "Citet",
    "Citep",
    "shortcite",
    "fullcite",
    "supercite",
    "newcite",
    "citenum",
    "onlinecite",
]
REFS = ["ref", "eqref", "cref", "Cref", "autoref", "pageref", "nameref", "vref", "subref"]
JOINED = {
    "sfrac": "/",
    "diagbox": " / ",
    "qty": " ",
    "numrange": "–",
    "SIrange": "–",
    "qtyrange": "–",
}  # two arguments
SYMBOLS = {  # that pylatexenc does not know, or gives as a character that parts a word
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textunderscore": "_",
    "slash": "/",
    "-": "",
    "checkmark": "✓",
    "ddagger": "‡",
    "degree": "°",
    "percent": "%",
    "gets": "←",
}
DINGS = {"51": "✓", "52": "✓", "55": "✗", "56": "✗"}
# what these macros take, in pylatexenc's notation; those in DROPPED are left out with all they take
TAKES = {
    **dict.fromkeys([*HEADINGS, *BOLD_HEADS, "caption"], "*[{"),
    **dict.fromkeys(CITES, "*[[{"),
    **dict.fromkeys(REFS, "*{"),
    "captionof": "{[{",
    "includegraphics": "*[[{",
    "textcolor": "[{{",
    "colorbox": "{{",
    "raisebox": "{[[{",
    "resizebox": "*{{{",
    "scalebox": "{[{",
    "rotatebox": "[{{",
    "makebox": "[[{",
    "parbox": "[[[{{",
    "multicolumn": "{{{",
    "multirow": "[{[{[{",
    "makecell": "*[{",
    "shortstack": "[{",
    "thead": "[{",
    "href": "{{",
    "url": "{",
    "footnote": "[{",
    "footnotetext": "[{",
    "item": "[",
    "label": "{",
    "adjustbox": "{{",
    "texorpdfstring": "{{",
    "hyperref": "[{",
    "foreignlanguage": "{{",
    "multirowcell": "{[[{",
    "num": "[{",
    "ding": "{",
    "textsuperscript": "{",
    "textsubscript": "{",
    **dict.fromkeys(JOINED, "[{{"),
}
DROPPED = {  # and all they take
    "vspace": "*{",
    "hspace": "*{",
    "vskip": "",
    "setlength": "{{",
    "addtolength": "{{",
    "setcounter": "{{",
    "addtocounter": "{{",
    "color": "[{",
    "bibliographystyle": "{",
    "bibliography": "{",
    "usepackage": "[{",
    "thispagestyle": "{",
    "pagestyle": "{",
    "pagenumbering": "{",
    "rule": "[{{",
    "cmidrule": "[{",
    "cline": "{",
    "rowcolor": "[{",
    "rowfont": "[{",
    "cellcolor": "[{",
    "columncolor": "[{",
    "addcontentsline": "{{{",
    "captionsetup": "[{",
    "thanks": "{",
    "footnotemark": "[",
    "renewcommand": "{[[{",
    "newtheorem": "*{[{[",
    "hypersetup": "{",
    "graphicspath": "{",
    "title": "[{",
    "author": "[{",
    "date": "{",
    "affil": "[{",
    "maketitle": "",
    "index": "{",
    "phantom": "{",
    "hypertarget": "{{",
    "printbibliography": "[",
    "nocite": "{",
    "arraystretch": "",
    "xspace": "",
    "tabcolsep": "",
    "specialrule": "{{{",
    "addlinespace": "[",
    "noalign": "{",
    "icmltitlerunning": "{",
    "icmlauthor": "{{",
    "icmlaffiliation": "{{",
    "icmlcorrespondingauthor": "{{",
    "icmlkeywords": "{",
    "icmlsetsymbol": "{{",
    "printAffiliationsAndNotice": "{",
    "label": "{",
    "hphantom": "{",
    "vphantom": "{",
    "fontsize": "{{",
    "linespread": "{",
    "bibinfo": "{",
    "DeclareMathOperator": "*{{",
    "newlength": "{",
    "allowdisplaybreaks": "[",
}
MATH = re.compile(
    r"(equation|align|alignat|gather|multline|eqnarray|flalign|displaymath|math|dmath|IEEEeqnarray)\*?"
)
VERBATIM = re.compile(r"(verbatim|lstlisting|minted|alltt|Verbatim)\*?")
PROGRAM = re.compile(r"(algorithm|algorithm2e|algorithmic|algorithmicx|pseudocode)\*?")
DRAWING = re.compile(r"(tikzpicture|pgfpicture|picture|tikzcd|axis|filecontents\*?|CCSXML)")
STATEMENT = re.compile(
    r"(theorem|lemma|proposition|corollary|definition|remark|example|assumption|claim|proof|conjecture)\w*\*?",
    re.I,
)
LISTS = [
    "itemize",
    "enumerate",
    "description",
    "compactitem",
    "compactenum",
    "inparaenum",
    "itemize*",
    "enumerate*",
]
SPACES = [
    "\\",
    "newline",
    "linebreak",
    "par",
    "quad",
    "qquad",
    "hfill",
    "newpage",
    "clearpage",
    *",;:! ",
]
CAPTIONS = ["caption", "captionof"]
NOTES = ["footnote", "footnotetext"]
ONE_FORMULA = re.compile(r"(equation|displaymath|math)\*?")
FLOAT = re.compile(
    r"(figure|wrapfigure|table|wraptable|subfigure|subtable|SCfigure|teaserfigure|sidewaystable)\*?"
)
