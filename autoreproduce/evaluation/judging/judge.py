"""A judge: a model that reads programs and answers in data. Each question is durable: a journal in
a folder of its own.

A question's folder has the digest of all that was asked, so scoring again with the same question
on the same machine costs nothing and with another one it is asked anew. A reply that could not be
used is kept where it is, and the next time the question gets a folder of its own: an unusable reply
is never a score, and never for ever.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import digest
from autoreproduce.content import folder as content_folder
from autoreproduce.errors import ModelError
from autoreproduce.trials.journal import open_journal
from autoreproduce.trials.steps import model_results

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from autoreproduce.config import Settings
    from autoreproduce.models.budget import Budget
    from autoreproduce.trials.steps import Step

Content = TypeVar("Content", bound="BaseModel")
UNUSABLE = "unusable.txt"


@dataclass(frozen=True)
class Reading(Generic[Content]):
    """What came of one question: the verdict, or None and the reason; the last reply as it was
    given.
    """

    judge: str
    repeat: int
    verdict: Content | None
    reason: str
    reply: str
    folder: Path
    steps: list[Step]


@dataclass(frozen=True)
class Judge:
    """One model as a judge. `name` is how it is named in scores; `templates`: the folder of its
    prompts.
    """

    name: str
    model: BaseChatModel
    settings: Settings
    budget: Budget
    templates: str = "judge"

    def prompts(self) -> Prompts:
        """The judge's own templates, with a system message of their own; those of a folder within
        another one come before the outer one's.
        """
        own = content_folder("prompts") / self.templates
        return Prompts(own, own.parent if "/" in self.templates else None)

    def ask(
        self, home: Path, name: str, schema: type[Content], repeat: int, /, **variables: Any
    ) -> Reading[Content]:
        """Ask the question `name` for the `repeat`th time (from 1), below the folder `home`.

        A model that cannot be called or whose replies cannot be used gives a reading without a
        verdict. Raises BudgetError before a call that would pass the budget.
        """
        text = self.prompts().render(name, role="judge", **variables)
        asked = digest([text, self.name, _own_key(self.settings.cache_dir)])
        slug = re.sub(r"[^\w.-]+", "-", self.name).strip("-.") or "judge"
        folder = _folder_for(home / "judge" / slug, f"{name}-{repeat}-{asked[:16]}")
        verdict, reason = None, ""
        with open_journal(folder, self._identity()) as journal:
            journal.phase(name)
            agent = Agent(
                "judge", self.model, self.name, self.prompts(), journal, self.budget, self.settings
            )
            try:
                verdict = agent.structured(name, schema, **variables)
            except ModelError as error:
                reason = str(error)
                journal.write(UNUSABLE, reason + "\n")
        calls = model_results(journal.steps)
        reply = calls[-1].reply if calls else ""
        return Reading(self.name, repeat, verdict, reason, reply, folder, journal.steps)

    def _identity(self) -> dict[str, Any]:
        """What a question's journal is of: the same question to a judge set up otherwise is
        refused.
        """
        return {
            "judge": self.name,
            "temperature": self.settings.model.temperature,
            "prompts": self.prompts().digest(),
        }


def _own_key(cache: Path) -> str:
    """A random word of this machine's, made once. A trial's folder may be somebody else's: no reply
    in it is read again unless its question's folder is named with this word.
    """
    file, made = cache / "judging.key", secrets.token_hex(16)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with file.open("x") as new:
            new.write(made)
    except FileExistsError:
        return file.read_text() or made
    except OSError:  # then each question is asked anew
        return made
    return made


def _folder_for(parent: Path, name: str) -> Path:
    """The question's folder: the first that holds no unusable reply."""
    folder, number = parent / name, 1
    while (folder / UNUSABLE).exists():
        number += 1
        folder = parent / f"{name}.{number}"
    return folder
