"""What speaks against a number."""

from pydantic import BaseModel


class IntegrityFinding(BaseModel):
    """In words, and the numbers that show it."""

    kind: str
    text: str
    numbers: dict[str, float] = {}
    void: bool = False
