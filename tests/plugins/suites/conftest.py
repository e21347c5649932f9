"""The sandboxes' word to find a test's own processes by."""

from sandbox_fixtures import token

__all__ = ["token"]
