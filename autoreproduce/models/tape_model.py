"""The chat model that replays a tape: to the rest of the program a LangChain model like any other.

It answers by place and order. A prompt other than the recorded one is no error, since timings and
measured numbers differ between two real runs; it is counted as drift, numbers apart from words. A
call that the tape does not contain is an error: the replay took another course than the recording.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from autoreproduce.errors import TapeError
from autoreproduce.models.tape import (
    CallSite,
    Drift,
    Tape,
    TapeEntry,
    TapeHead,
    prompt_digests,
    read_tape,
)


class TapeModel(BaseChatModel):
    """Replays `tape`; a call's place is in `config={"metadata": {"role", "phase", "name"}}`."""

    tape: Tape
    path: str = ""
    _calls: Counter[CallSite] = PrivateAttr(default_factory=Counter)
    _drift: list[Drift] = PrivateAttr(default_factory=list)
    _replies: dict[tuple[CallSite, int], TapeEntry] = PrivateAttr(default_factory=dict)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def open(cls, path: Path) -> TapeModel:
        """A model at the beginning of the tape. Raises UsageError if the tape is damaged."""
        return cls(tape=read_tape(path), path=str(path))

    def model_post_init(self, context: Any, /) -> None:
        """Index the replies by place and number."""
        super().model_post_init(context)
        self._replies.update({(entry.place, entry.step): entry for entry in self.tape.entries})

    @property
    def head(self) -> TapeHead:
        """What was recorded: model, date, task, profile, settings."""
        return self.tape.head

    @property
    def drift(self) -> list[Drift]:
        """The calls so far whose prompt was not the recorded one."""
        return list(self._drift)

    @property
    def left(self) -> int:
        """How many recorded replies were not used (yet)."""
        return len(self.tape.entries) - sum(self._calls.values())

    def skip(self, role: str, phase: str, name: str) -> None:
        """Skip one reply: a resumed trial has it in its journal."""
        self._next(CallSite(role, phase, name))

    def _next(self, place: CallSite) -> TapeEntry:
        with self._lock:
            step = self._calls[place] + 1
            entry = self._replies.get((place, step))
            if entry is None:
                fix = "replay with the recording's task, settings and version, or record anew"
                if "debug" in place.name:
                    fix = (
                        "a program failed that ran then: if its time was up, run the same command "
                        "with --time-limit-minutes 60"
                    )
                raise TapeError(
                    f"the tape {self.path} has no reply for call {step} of {'/'.join(place)}: the "
                    "replay took another course than the recording",
                    fix=fix,
                )
            self._calls[place] = step
        return entry

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The tape itself: which tools are called is recorded."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        metadata = run_manager.metadata if run_manager else {}
        place = CallSite(*(str(metadata.get(key, "")) for key in CallSite._fields))
        entry = self._next(place)
        prompt, shape = prompt_digests((message.type, message.content) for message in messages)
        if entry.prompt and entry.prompt != prompt:
            with self._lock:
                self._drift.append(Drift(place, entry.step, numbers_only=entry.shape == shape))
        return ChatResult(generations=[ChatGeneration(message=self._message(entry))])

    def _message(self, entry: TapeEntry) -> AIMessage:
        used = entry.usage
        usage = UsageMetadata(
            input_tokens=used.get("input", 0),
            output_tokens=used.get("output", 0),
            total_tokens=used.get("input", 0) + used.get("output", 0),
            input_token_details=InputTokenDetails(
                cache_read=used.get("cached", 0), cache_creation=used.get("cache_write", 0)
            ),
            output_token_details=OutputTokenDetails(reasoning=used.get("reasoning", 0)),
        )
        metadata = {"finish_reason": entry.finish, "model_name": self.head.model, "replayed": True}
        return AIMessage(
            content=entry.reply,
            tool_calls=[
                ToolCall(name=call["name"], args=call["args"], id=call.get("id"))
                for call in entry.tool_calls
            ],
            usage_metadata=usage,
            response_metadata=metadata,
        )

    @property
    def _llm_type(self) -> str:
        return "tape"
