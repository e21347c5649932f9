"""What `--fetch` may take, and of whom: options alone, so that a command's help loads no client."""

from dataclasses import dataclass

LIMIT_MB = 1_000.0


@dataclass(frozen=True)
class Fetch:
    """At most so many MB, and these hosts of the user's own network."""

    limit_mb: float = LIMIT_MB
    hosts: tuple[str, ...] = ()
