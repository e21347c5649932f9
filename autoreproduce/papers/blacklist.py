"""Addresses whose code no attempt at a paper may use: mostly the authors' own repository."""

import re
from collections.abc import Iterator, Mapping, Sequence


def used_addresses(texts: Mapping[str, str], blacklist: Sequence[str]) -> Iterator[str]:
    """`NAME: ADDRESS` for each address of the blacklist that a text names; `texts`: by name."""
    patterns = {address: _address_pattern(address) for address in blacklist}
    for name, text in texts.items():
        yield from (f"{name}: {address}" for address in blacklist if patterns[address].search(text))


def blacklisted(address: str, blacklist: Sequence[str]) -> str:
    """The entry of the blacklist that `address` is, or lies below; "" for none."""
    return next((each for each in blacklist if _address_pattern(each).search(address)), "")


def _address_pattern(address: str) -> re.Pattern[str]:
    """The address however it is written (git@HOST:PATH too), and not one that only begins with
    it.
    """
    bare = (address.partition("://")[2] or address).rstrip("/").removesuffix(".git")
    return re.compile(re.escape(bare).replace("/", "[/:]", 1) + r"(?![\w-])", re.IGNORECASE)
