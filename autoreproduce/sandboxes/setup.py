"""Where the commands of one trial or one job run: all that opening a sandbox needs but the folder.

An attempt opens one for its workspace; whoever measures it opens fresh ones by the same settings,
with the same data and packages, over clean copies.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.config import digest
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.sandboxes.counted_run import CountedData, TrialSandbox

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox

NO_ISOLATION = "no isolation: the programs could read your files and use the network"


@dataclass(frozen=True)
class SandboxSetup:
    """The sandbox's settings, the data it sees, the packages installed for it, a label.

    `counted`: what the run that counts sees, of a draw or of a new one; None: the same data.
    `files`: patterns of the data's files that a program sees, where one is given.
    `trusted`: the code that runs came with the package. `note` gets each line once, however many
    sandboxes are opened. `starts` is held while a container starts.
    """

    settings: Settings
    packages: Path
    data_dir: Path | None = None
    label: str = "autoexperiment"
    trusted: bool = False
    note: Callable[[str], None] = lambda _: None
    starts: AbstractContextManager[Any] | None = None
    counted: Callable[[str], CountedData] | None = None
    files: tuple[str, ...] = ("*",)
    noted: set[str] = field(default_factory=set)
    unisolated: set[str] = field(default_factory=set)  # names of those opened that isolate nothing

    @classmethod
    def of_trial(
        cls, folder: Path, settings: Settings, data_dir: Path | None, **more: Any
    ) -> SandboxSetup:
        """Those of the trial in `folder`, which holds its packages and by which it's labelled."""
        real = folder.resolve()
        return cls(settings, real / "packages", data_dir, label=digest(str(real)), **more)

    def open(self, workspace: Path) -> TrialSandbox:
        """A sandbox for a workspace. Raises SandboxError where none works."""
        sandbox = self._open(workspace, self.data_dir, self.settings)
        chosen = self.settings.sandbox.model_copy(update={"name": sandbox.name})
        same = self.settings.model_copy(update={"sandbox": chosen})  # packages lie by its name

        def over(folder: Path) -> Sandbox:
            return self._open(workspace, folder, same)

        return TrialSandbox(sandbox, self.data_dir, self.counted, over, self.files)

    def of_draw(self, draw: str) -> SandboxSetup:
        """The same, and each run that counts sees this draw; as it is for ""."""
        counted = self.counted
        if not draw or counted is None:
            return self
        return replace(self, counted=lambda _: counted(draw))

    def _open(self, workspace: Path, data_dir: Path | None, settings: Settings) -> Sandbox:
        sandbox = open_sandbox(
            settings,
            workspace,
            data_dir=data_dir,
            packages=self.packages,
            label=self.label,
            trusted=self.trusted,
            note=self.note_once,
            starts=self.starts,
        )
        if not getattr(sandbox, "isolated", True):
            self.unisolated.add(sandbox.name)
        return sandbox

    def note_once(self, text: str) -> None:
        """Note a line that was not noted yet."""
        if text not in self.noted:
            self.noted.add(text)
            self.note(text)
