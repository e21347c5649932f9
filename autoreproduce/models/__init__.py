"""Chat models: opening one, retries, tokens, prices, budgets, tapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autoreproduce.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Role = Literal["research", "code"]


@dataclass(frozen=True)
class Models:
    """The chat models of the two agents, often the same one, and their names as the user gave them.

    None where the solver needs no model.
    """

    research: BaseChatModel | None = None
    code: BaseChatModel | None = None
    research_name: str = ""
    code_name: str = ""

    def chat(self, role: Role) -> BaseChatModel:
        """The model of an agent. Raises UsageError if the solver does not say that it needs one."""
        model = self.research if role == "research" else self.code
        if model is None:
            raise UsageError(
                "the solver asks for a model but doesn't declare that it needs one",
                fix='add "model" to its class\'s needs',
            )
        return model

    def name(self, role: Role) -> str:
        """The name of that model."""
        return self.research_name if role == "research" else self.code_name
