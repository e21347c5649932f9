"""An agent program behind LangChain's interface: to the rest of the program a chat model like any
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import ModelProfile
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from autoreproduce.errors import UsageError
from autoreproduce.models.agent_programs import PROGRAMS, asked

SPEAKERS = {"human": "User", "ai": "Assistant", "tool": "Tool"}


class ProgramChat(BaseChatModel):
    """Each call is one run of the program `provider` at `path`, of `seconds` at most; one that
    fails for a while is repeated as often as `retries`.
    """

    provider: str
    model: str = ""
    path: str
    seconds: float = 600.0
    retries: int = 0
    profile: ModelProfile | None = Field(ModelProfile(tool_calling=False), exclude=True)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        system, question = as_one_question(messages)
        program = PROGRAMS[self.provider]
        answer = asked(program, self.path, self.model, system, question, self.seconds, self.retries)
        usage = UsageMetadata(
            input_tokens=answer.input,
            output_tokens=answer.output,
            total_tokens=answer.input + answer.output,
            input_token_details=InputTokenDetails(
                cache_read=answer.cached, cache_creation=answer.cache_write
            ),
            output_token_details=OutputTokenDetails(reasoning=answer.reasoning),
        )
        message = AIMessage(
            answer.text,
            usage_metadata=usage if answer.counted else None,
            response_metadata={
                "finish_reason": answer.finish,
                "model_name": answer.model or self.model or self.provider,
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Raises UsageError: the program answers in text alone."""
        title = PROGRAMS[self.provider].title
        raise UsageError(
            f"{title} as a model answers in text, without tools",
            fix="choose a solver that needs none, or a model with a key",
        )

    @property
    def _llm_type(self) -> str:
        return "agent-program"


def as_one_question(messages: Sequence[BaseMessage]) -> tuple[str, str]:
    """The system's text, and a conversation as one text; a single message stands as it is."""
    system = "\n\n".join(each.text for each in messages if each.type == "system")
    said = [each for each in messages if each.type != "system"]
    if len(said) == 1:
        return system, said[0].text
    parts = [f"# {SPEAKERS.get(each.type, each.type)}\n\n{each.text}" for each in said]
    return system, "\n\n".join([*parts, "# Answer as the assistant, with what comes next."])


def open_program(provider: str, model: str, seconds: float, retries: int) -> BaseChatModel:
    """The chat model of a program. Raises UsageError if the program isn't installed."""
    program = PROGRAMS[provider]
    path = program.path()
    if path is None:
        raise UsageError(
            f"{program.title} isn't installed here (no {program.program} on the PATH)",
            fix=f"install it (npm install -g {program.package}) and log in ({program.login})",
        )
    return ProgramChat(provider=provider, model=model, path=path, seconds=seconds, retries=retries)
