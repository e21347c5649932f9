"""Tokens counted without a network.

tiktoken fetches its vocabulary at first use, and hangs if it cannot: so it is used only if the file
is in its cache already. `rough_tokens` is the same on every machine: what decides the content of a
prompt must use it, or a tape replayed elsewhere would see other prompts.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoreproduce.config import ModelSettings

_VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
PICTURE = 5_000  # tokens of one picture, rather too many: providers count by its size
_LONG = 400_000  # characters; above this the exact count takes seconds


def rough_tokens(text: str) -> int:
    """About how many tokens, rather too many: a third of the bytes, rounded up.

    Against o200k_base: +8 % on a paper full of formulas, +5 % and +38 % on code. A quarter, the
    usual rule, is 19 % too low on that paper, and a budget that reserves too little is exceeded.
    """
    return -(-len(text.encode("utf-8", "replace")) // 3)


def count_tokens(text: str) -> int:
    """Tokens by o200k_base if tiktoken has it cached and the text is not huge; else rough ones."""
    encoding = _encoding(str(_cached_file())) if len(text) <= _LONG else None
    return rough_tokens(text) if encoding is None else len(encoding.encode_ordinary(text))


def picture_tokens(content: Any) -> int:
    """The most that the pictures in a message's content may count."""
    parts = content if isinstance(content, list) else ()
    kinds = [part.get("type") for part in parts if isinstance(part, dict)]
    return PICTURE * kinds.count("image_url")


def reply_tokens(model: ModelSettings) -> int:
    """Tokens that one reply may take: of a known context a quarter at most."""
    most = model.max_output_tokens
    return most if model.context_tokens is None else min(most, model.context_tokens // 4)


def prompt_tokens(model: ModelSettings) -> int | None:
    """Tokens that a prompt may take, None if the context is not known."""
    return None if model.context_tokens is None else model.context_tokens - reply_tokens(model)


def _cached_file() -> Path:
    """The file of the vocabulary in tiktoken's cache, by its own rules."""
    return _vocabulary_file(
        os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    )


@cache
def _vocabulary_file(chosen: str | None) -> Path:
    folder = Path(tempfile.gettempdir(), "data-gym-cache") if chosen is None else Path(chosen)
    return folder / hashlib.sha1(_VOCABULARY.encode()).hexdigest()


@cache
def _encoding(file: str) -> Any:
    """The encoding, None if its file is missing or not whole: tiktoken would fetch it."""
    path = Path(file)
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
        return None
    import tiktoken

    return tiktoken.get_encoding("o200k_base")
