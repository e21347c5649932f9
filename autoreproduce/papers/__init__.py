"""Reading papers: from arXiv or a file, to Markdown with formulas, tables, figures and references."""
