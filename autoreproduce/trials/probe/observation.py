"""What the probe may have written: the program that it watched could have written in its place."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoreproduce.files.bounded import parse_json

LARGEST = 200_000  # bytes of structure.json; one with 500 layers has 30,000
MOST = 5_000  # entries of one list or mapping
BULKY = ("tensors", "layers")  # of a model

Name = Annotated[str, Field(max_length=300)]
Line = Annotated[str, Field(max_length=1000)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Integer = Annotated[int, Field(ge=-(10**18), le=10**18)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Seed = Annotated[int, Field(ge=-(2**64), le=2**64)]
Seconds = Annotated[float, Field(ge=0, le=1e9)]
Epochs = Annotated[float, Field(ge=0, le=1e15)]
Plain = Name | bool | Integer | Number | Annotated[list[Number], Field(max_length=MOST)]
Settings = Annotated[dict[Name, Plain], Field(max_length=100)]
Shape = Annotated[list[Count], Field(max_length=10)]
Shapes = Annotated[list[Shape], Field(max_length=MOST)]
Dimensions = Annotated[str, Field(pattern=r"^\d{1,15}(x\d{1,15}){0,9}$")]  # 64x3x3x3


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ProbedModel(_Strict):
    """The model: parameters by shape, PyTorch's own layers by type. A journal does without both."""

    kind: Name = Field(alias="class")
    parameters: Count
    tensors: Annotated[dict[Dimensions, Count], Field(max_length=MOST)] = {}
    layers: Annotated[dict[Name, Count], Field(max_length=MOST)] = {}
    inputs: Shapes = []
    outputs: Shapes = []


class ProbedOptimizer(_Strict):
    """The first optimiser, its numbers, and those of each group of parameters."""

    kind: Name = Field(alias="class")
    defaults: Settings
    groups: Annotated[list[dict[Literal["lr", "weight_decay"], Number]], Field(max_length=MOST)]

    def number(self, key: str) -> float | None:
        """A default that is a number; None for any other, or none."""
        value = self.defaults.get(key)
        usable = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if usable else None  # type: ignore[arg-type]


class ProbedSchedule(_Strict):
    """The first learning-rate schedule and its numbers."""

    kind: Name = Field(alias="class")
    numbers: Settings


class ProbedFile(_Strict):
    """A data file that the program opened; `rows` None: they cannot be counted from outside."""

    name: Name
    bytes: Count
    rows: Count | None = None


class ProbedStructure(_Strict):
    """structure.json and observed.json, as the probe writes them."""

    source: Literal["", "training", "running", "build_model"]
    unseen: Annotated[list[Line], Field(max_length=200)]
    model: ProbedModel | None = None
    optimizer: ProbedOptimizer | None = None
    scheduler: ProbedSchedule | None = None
    trained: Count | None = None  # parameters that got a gradient; else those to be trained
    optimizers_made: Count | None = None
    seeds: Annotated[list[Seed], Field(max_length=100)] = []
    steps: Count | None = None
    steps_timed: Count | None = None
    seconds_before: Seconds | None = None
    seconds_stepping: Seconds | None = None
    batch_size: Count | None = None
    batches: Count | None = None
    samples: Count | None = None
    epochs: Epochs | None = None
    losses: Annotated[list[Name], Field(max_length=100)] = []
    files: Annotated[list[ProbedFile], Field(max_length=MOST)] = []
    # by file of the program, the numbers of rows of tables that its functions held, largest first
    held: Annotated[
        dict[Name, Annotated[list[Count], Field(max_length=MOST)]], Field(max_length=MOST)
    ] = {}
    seeds_set: Count | None = None  # different ones that the program's own files set

    @property
    def content(self) -> dict[str, Any]:
        """The checked content by key, without what was not seen."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)

    @property
    def without_layers(self) -> Self:
        """The same without the lists of a model's tensors and layers."""
        if self.model is None:
            return self
        short = self.model.model_dump(by_alias=True, exclude_unset=True, exclude=set(BULKY))
        return self.model_copy(update={"model": ProbedModel.model_validate(short)})


def parse_structure(data: bytes) -> ProbedStructure:
    """The structure in the bytes of structure.json. Raises ValueError if it cannot be compared."""
    return structure_of(parse_json(data, finite=True, largest=LARGEST))


def structure_of(value: object) -> ProbedStructure:
    """A parsed value as a structure. Raises ValueError that names the first wrong place."""
    try:
        return ProbedStructure.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place!a:.80}: {first['msg']}") from None
