"""Reads a Dockerfile as far as ours go, and lays its last stage out in a directory as COPY would."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FROM = re.compile(r"(?P<image>\S+)(?: AS (?P<name>\S+))?")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its name in capitals, and what follows, with continued lines joined."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The arguments, in exec form or as a shell splits them."""
        found = json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)
        assert all(isinstance(word, str) for word in found)
        return list(found)

    @property
    def is_exec_form(self) -> bool:
        return self.text.startswith("[")


@dataclass
class Stage:
    """The instructions from one FROM to the next."""

    image: str
    name: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        return [instruction for instruction in self.instructions if instruction.name == name]

    def last(self, name: str) -> Instruction:
        return self.all(name)[-1]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ENV sets; those of the base image are not known."""
        pairs = (word.partition("=") for instruction in self.all("ENV") for word in instruction.words)
        return {name: value for name, _, value in pairs}

    @property
    def directory(self) -> str:
        return self.last("WORKDIR").text

    @property
    def command(self) -> list[str]:
        """What runs: ENTRYPOINT and CMD together."""
        return [word for name in ("ENTRYPOINT", "CMD") for found in self.all(name)[-1:] for word in found.words]

    @property
    def health_check(self) -> list[str]:
        """The command of HEALTHCHECK, in exec form."""
        _, _, command = self.last("HEALTHCHECK").text.partition("CMD ")
        return [str(word) for word in json.loads(command)]


class Dockerfile:
    """A Dockerfile of docker/, whose context is the root of the repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text("utf-8")

    @cached_property
    def stages(self) -> list[Stage]:
        stages: list[Stage] = []
        for instruction in _instructions(self.text):
            if instruction.name == "FROM":
                found = FROM.fullmatch(instruction.text)
                assert found, instruction
                stages.append(Stage(found["image"], found["name"]))
            else:
                stages[-1].instructions.append(instruction)
        return stages

    @property
    def final(self) -> Stage:
        return self.stages[-1]

    def context_sources(self) -> list[str]:
        """Every path that any stage copies from the context."""
        return [source for stage in self.stages for sources, _ in _copies(stage) for source in sources]

    def lay_out(self, directory: Path) -> Path:
        """Copy what the last stage copies from the context to below `directory`; return where WORKDIR is there."""
        place = Path(self.final.directory)
        for sources, target in _copies(self.final):
            to = directory / (place / target).relative_to("/")
            for source in sources:
                # A directory's content goes into the target, a file to it, or into it if it ends with a slash.
                if (ROOT / source).is_dir():
                    _copy_directory(source, to)
                else:
                    end = to / Path(source).name if target.endswith("/") else to
                    end.parent.mkdir(parents=True, exist_ok=True)
                    if is_in_context(source):
                        shutil.copyfile(ROOT / source, end)
        return directory / place.relative_to("/")


def _instructions(text: str) -> list[Instruction]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    pairs = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [Instruction(name.upper(), rest.strip()) for name, rest in pairs]


def _copies(stage: Stage) -> list[tuple[list[str], str]]:
    """The sources and the target of each COPY from the context."""
    found = [instruction.words for instruction in stage.all("COPY") if "--from=" not in instruction.text]
    return [(words[:-1], words[-1]) for words in found]


def _copy_directory(source: str, to: Path) -> None:
    for file in sorted((ROOT / source).rglob("*")):
        name = file.relative_to(ROOT).as_posix()
        if file.is_file() and is_in_context(name):
            end = to / file.relative_to(ROOT / source)
            end.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, end)


def is_in_context(name: str) -> bool:
    """Whether .dockerignore lets a path through: of the patterns that match it or a directory above, the last one says.

    "Dockerfile reference, .dockerignore file": `*` stops at slashes, `**` does not, `!` takes an exclusion back.
    """
    parts = name.split("/")
    paths = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    ignored = False
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            matches = _pattern(pattern.removeprefix("!").strip("/"))
            if any(matches.fullmatch(path) for path in paths):
                ignored = not pattern.startswith("!")
    return not ignored


def _pattern(text: str) -> re.Pattern[str]:
    steps = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    return re.compile("".join(steps.get(part) or re.escape(part) for part in parts))
