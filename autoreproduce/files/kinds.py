"""What the files of a program are by their names, and which folders nobody wrote: each set once.

A kind is an ending in small letters, or the name of a file without one.
"""

from pathlib import PurePosixPath

# Folders: those that git and Python make again, and all that no person wrote.
REMADE = frozenset({".git", "__pycache__"})
NOT_WRITTEN = REMADE | {".venv", "venv", "node_modules", ".ipynb_checkpoints", "site-packages"}

PYTHON = frozenset({".py", ".pyx", ".ipynb"})
SHELL = frozenset({".sh", ".bash", ".zsh", ".bat", ".cmd", ".ps1", ".slurm", ".sbatch", "makefile"})
# Languages that are neither, as they are called.
LANGUAGES = {
    ".r": "R", ".rmd": "R", ".rnw": "R", ".qmd": "R", ".jl": "Julia", ".m": "MATLAB",
    ".do": "Stata", ".java": "Java", ".scala": "Scala", ".c": "C", ".cc": "C++", ".cpp": "C++",
    ".cxx": "C++", ".cu": "CUDA", ".rs": "Rust", ".go": "Go", ".js": "JavaScript",
    ".ts": "TypeScript", ".lua": "Lua", ".pl": "Perl", ".f": "Fortran", ".f90": "Fortran",
}  # fmt: skip
# Beside Python: what reviewers meet in artifacts.
CODE = PYTHON | SHELL | LANGUAGES.keys() - {".rnw"} | {
    ".h", ".hpp", ".cuh", ".stan", ".smk", ".nf", "dockerfile", "snakefile",
}  # fmt: skip
SETTINGS = (".yaml", ".yml", ".toml", ".json", ".cfg", ".ini")  # in files of any program
CONFIGURATION = (*SETTINGS, ".gin", ".jsonnet", ".libsonnet", ".conf")
JUDGED = frozenset({".py", ".ipynb", ".sh", *SETTINGS})  # what a judge reads: a program's digest
KINDS = CODE | {*CONFIGURATION}  # what is read of a program to see what it does
PROSE = frozenset({".md", ".rst", "readme"})  # texts for people, of which the commands are read
DOCUMENTS = frozenset({".md", ".rst", ".txt"})
STATING = DOCUMENTS | {".tex", ".html", ".log", ".out", ""}  # what may state results


def ending(name: str) -> str:
    """Of a file, in small letters."""
    return PurePosixPath(name).suffix.lower()


def kind_of(path: str) -> str:
    """The ending of a file, or its name if it has none; of a README in whatever form (README.txt,
    readme.en) "readme".
    """
    name = PurePosixPath(path)
    known = KINDS | {".md", ".rst"}  # by these a README is found anyway
    if name.name.lower().startswith("readme") and ending(path) not in known:
        return "readme"
    return ending(path) or name.name.lower()
