"""The tables of a paper, from LaTeX, Markdown or HTML, as cells with all their headings.

A reader of one format (`latex` with `latex_bodies`, `markup`) gives a table's pieces as they are;
`headings` makes `cells` of them; `places` finds the cells that a claim's names lead to.
"""
