"""YAML whose errors name file, line and field.

PyYAML's own loader forgets the lines of values. So the file is composed to nodes first, which know
their lines, and a field that the schema refuses is looked up among them.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import yaml_value

Content = TypeVar("Content", bound=BaseModel)
Place = tuple[int | str, ...]


class YamlFile:
    """One YAML file: its content, and the line of each field. Raises UsageError if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8")
            self.content: Any
            self._node, self.content = yaml_value(text)
            self._refuse_twice(self._node, ())
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{path} cannot be read ({error})", fix="name a suite's YAML file"
            ) from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark else ""
            what = getattr(error, "problem", None) or str(error)
            raise UsageError(f"{path}{line} is not YAML ({what})", fix="fix the file") from None
        except ValueError as error:
            raise UsageError(f"{path} isn't a suite ({error})", fix="fix the file") from None

    def read(self, schema: type[Content]) -> Content:
        """The content under a schema. Raises UsageError with the line of all that does not fit."""
        if not isinstance(self.content, dict):
            raise UsageError(self.at((), "isn't a mapping of fields: begin with name and tasks"))
        try:
            return schema.model_validate(self.content)
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise UsageError(
                f"{self.path} isn't a suite ({error.reason})", fix="fix the file"
            ) from None
        except ValidationError as error:
            raise UsageError(
                "; ".join(
                    self.at(item["loc"], _error_text(item, schema)) for item in error.errors()
                )
            ) from None

    def at(self, place: Place, what: str) -> str:
        """As "file, line 7: variants.a.k: what"."""
        field = ".".join(map(str, place)) or "the whole file"
        return f"{self.path}, line {self.line(place)}: {field}: {what}"

    def line(self, place: Place) -> int:
        """The line of a field, from 1 on, or of the innermost part of it that exists."""
        node, line = self._node, 1
        for part in place:
            found = _child(node, part)
            if found is None:
                break
            node, line = found
        return line

    def _refuse_twice(self, node: Any, place: Place) -> None:
        """A key given twice is an error: YAML would silently take the last."""
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self._refuse_twice(item, (*place, number))
        if isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.value in seen:
                    field = ".".join(map(str, (*place, key.value)))
                    raise UsageError(
                        f"{self.path}, line {line}: {field}: is in line {seen[key.value]} too",
                        fix="remove one",
                    )
                seen[key.value] = line
                self._refuse_twice(value, (*place, key.value))


def _child(node: Any, part: int | str) -> tuple[Any, int] | None:
    """The node of a field and the line where it begins; a mapping's field begins with its key."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None


def _error_text(item: Any, schema: type[BaseModel]) -> str:
    if item["type"] == "extra_forbidden":
        close = get_close_matches(str(item["loc"][-1]), _fields(schema), 1)
        return f"this field does not exist{f', did you mean {close[0]}?' if close else ''}"
    if item["type"] == "missing":
        return "is missing: add it"
    if item["type"] == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    return f"{in_plain_words(item)} (it is {item['input']!r})"


KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "a mapping, key: value",
    "model": "a mapping, key: value",
}


def in_plain_words(item: Any) -> str:
    """What pydantic says is wrong, without its words for types."""
    kind, _, how = item["type"].partition("_")
    if kind in KINDS and how in ("type", "parsing", "from_float", "attributes_type"):
        return f"must be {KINDS[kind]}"
    return str(item["msg"]).replace("Input should be", "must be")


def _fields(schema: type[BaseModel]) -> set[str]:
    """The names of all fields of a schema, also of those below it."""
    found = schema.model_json_schema()
    below = found.get("$defs", {}).values()
    return {name for each in (found, *below) for name in each.get("properties", ())}
