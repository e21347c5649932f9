"""A plan of a repository's files, as those who write one for a whole paper reply it."""

from pathlib import PurePosixPath

from pydantic import BaseModel, Field, field_validator

SCRIPT = "reproduce.sh"
MOST_FILES = 30


class PlannedFile(BaseModel):
    """A file of the repository: its path, and what it is to hold."""

    path: str = Field(min_length=1, max_length=200)
    contents: str = Field(min_length=1)

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or path.endswith("/"):
            raise ValueError("give a path of a file below the repository's root, without ..")
        return str(pure)


class RepositoryPlan(BaseModel):
    """The files of the repository, in the order in which they are written."""

    files: list[PlannedFile] = Field(min_length=2, max_length=MOST_FILES)

    @field_validator("files")
    @classmethod
    def _complete(cls, files: list[PlannedFile]) -> list[PlannedFile]:
        paths = [file.path for file in files]
        if len(set(paths)) < len(paths):
            raise ValueError("each path comes once")
        if SCRIPT not in paths or not any(path.endswith(".py") for path in paths):
            raise ValueError(f"there must be {SCRIPT} and at least one .py file")
        return files
