"""Read the files of profiles, and join each profile with the one it extends."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from memnet.catalog_files import RELEASED, Reading, part_of, read_digests
from memnet.domain.catalog.overlay import Overlay, bases_first, check_joined, in_overlay, join
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.profile_check import check_profile
from memnet.domain.catalog.rules_check import CatalogNames
from memnet.domain.catalog.schema import Schema, check_released
from memnet.domain.core.canonical_json import parse
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.violations import Problem

NOUN = "profile"


@dataclass(slots=True)
class ProfileFiles:
    """The profiles of a directory, joined with their bases, and how their problems are reported."""

    reading: Reading
    directory: Path
    profiles: dict[str, Profile] = field(default_factory=dict)
    overlays: dict[str, Profile] = field(default_factory=dict)
    """The files of the profiles that extend another, as they are."""
    found: dict[str, list[Problem]] = field(default_factory=dict)

    def path(self, profile_id: str) -> Path:
        """Return the file of a profile."""
        return self.directory / f"{profile_id}.json"

    def report(self, profile: Profile, *problems: Problem) -> None:
        """Report problems at the file that adds what is wrong: those that the base has too, at the base alone."""
        self.found.setdefault(profile.profile_id, []).extend(problems)
        own = problems
        if profile.extends is not None:
            known, overlay = self.found.get(profile.extends, []), self.overlays[profile.profile_id]
            base = self.path(profile.extends).as_posix()
            own = tuple(in_overlay(one, overlay, profile, base) for one in problems if one not in known)
        self.reading.report(self.path(profile.profile_id), *own)


def read_profiles(
    reading: Reading,
    directory: Path,
    schemas: Mapping[tuple[str, str], Schema],
    unusable: frozenset[tuple[str, str]],
    named: CatalogNames,
) -> ProfileFiles:
    """Read, join and check the profiles of a directory; every fault is reported.

    A profile whose base has a fault is not joined: the fault is reported at the base.
    """
    files, start = ProfileFiles(reading, directory), len(reading.problems)
    given = dict(_given(reading, directory))
    order, problems = bases_first({name: profile.extends for name, profile in given.items()})
    for name, problem in problems.items():
        reading.report(files.path(name), problem)
    for name in order:
        profile = _joined(files, given[name], named)
        if profile is not None:
            files.profiles[name] = profile
            files.report(profile, *check_profile(profile, schemas, named, unusable))
            reading.report_texts(files.path(name), parse(given[name].text))
    reading.problems[start:] = sorted(reading.problems[start:], key=lambda problem: problem.file)
    files.profiles = {name: files.profiles[name] for name in given if name in files.profiles}
    reading.report(directory / RELEASED, *_changed(files, given))
    return files


def _given(reading: Reading, directory: Path) -> Iterator[tuple[str, Profile]]:
    """Yield the profiles as in their files, by id."""
    paths = [path for path in reading.files(directory) if path.name != RELEASED]
    if directory.is_dir() and not paths:
        reading.report(directory, Problem("", "holds no profile"))
    for path in paths:
        body = reading.json(path)
        model = Overlay if isinstance(body, dict) and body.get("extends") is not None else Profile
        profile = None if body is None else part_of(reading, path, body, model, NOUN)
        if profile is None:
            continue
        if profile.profile_id != path.stem:
            reason = f'must be "{path.stem}", as the file\'s name says'
            remedy = f"write that id, or rename the file to {profile.profile_id}.json"
            reading.report(path, Problem("/profile_id", reason, remedy))
        yield profile.profile_id, profile


def _joined(files: ProfileFiles, given: Profile, named: CatalogNames) -> Profile | None:
    """Return the profile joined with its base; None if it contradicts the base, or the base is not usable."""
    if given.extends is None:
        return given
    base = files.profiles.get(given.extends)
    if base is None:
        return None
    path, base_path = files.path(given.profile_id), files.path(given.extends)
    body, problems = join(given, base, base_path.as_posix())
    if problems:
        files.reading.report(path, *problems)
        return None
    joined = part_of(files.reading, path, body, Profile, NOUN)
    if joined is not None:
        files.overlays[given.profile_id] = given
        files.reading.report(path, *check_joined(joined, base, named.cues, base_path.as_posix()))
    return joined


def _changed(files: ProfileFiles, given: Mapping[str, Profile]) -> Iterator[Problem]:
    """Yield the released versions with another text. The text of an overlay is the joined one."""
    profiles = {f"{profile.profile_id}/{profile.version}": profile for profile in files.profiles.values()}
    unusable = [f"{one.profile_id}/{one.version}" for name, one in given.items() if name not in files.profiles]
    digests = {name: profile.sha256 for name, profile in profiles.items()}
    released = read_digests(files.reading, files.directory)
    for problem in check_released(released, digests, unusable, kind=NOUN, stays=False):
        changed = profiles[pointer(problem.pointer)[0]]
        if changed.extends is None:
            yield problem
        else:
            remedy = f"raise version in {changed.profile_id}.json: the profile or its base {changed.extends} is another"
            yield replace(problem, reason="is released and was changed since", remedy=remedy)
