"""The settings as a TypedDict, for editors and type checkers, of `config.Settings`: `python
tests/tools/setting_options.py > autoreproduce/setting_options.py`.
"""

from types import UnionType
from typing import Literal, get_args, get_origin

from autoreproduce.config import FLAGS

HEAD = '''"""The settings by the names that users write, as a Python function takes them (`budget="5"`).

Made of `config.Settings` by `tests/tools/setting_options.py`; a test compares the two.
"""

from pathlib import Path
from typing import Literal, TypedDict


class SettingOptions(TypedDict, total=False):
    """Each setting; None leaves one to the environment, autoreproduce.toml and its default."""

'''


def words(hint: object) -> str:
    """A field's type as it is written; a path may be given as text."""
    if isinstance(hint, UnionType):
        return " | ".join(words(each) for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Literal:
        choices = ", ".join(f'"{each}"' for each in get_args(hint))
        return f"Literal[{choices}]"
    name = getattr(hint, "__name__", str(hint))
    return {"Path": "str | Path", "SecretStr": "str"}.get(name, name)


def setting_options() -> str:
    """The module."""
    fields = [f"    {name}: {words(one.field.annotation)} | None\n" for name, one in FLAGS.items()]
    return HEAD + "".join(fields)


if __name__ == "__main__":
    print(setting_options(), end="")
