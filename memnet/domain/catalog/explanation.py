"""A profile in sentences: who may write, what waits, what happens to contradictions, and what a model reads."""

from collections.abc import Iterable, Iterator

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.retention_policy import Kind, RetentionPolicy
from memnet.domain.catalog.rules import SectionUpkeep

_WHO = {"user": "the user", "tenant": "an administrator of the tenant", None: "any principal that may confirm"}


def explain(profile: Profile, retention: RetentionPolicy) -> Iterator[str]:
    """Yield some sentences on the profile; `retention` has the limits of the organisation."""
    yield _principals(profile)
    if profile.extends is not None:
        yield f"It extends {profile.extends}, whose rules for its own documents apply unchanged."
    yield from _reading(profile)
    yield from _writing(profile)
    yield from _confirming(profile)
    yield from _statements(profile)
    yield from _limits(profile)
    yield from _extraction(profile)
    yield from _upkeep(profile)
    if profile.retracted_by == "another_principal":
        yield "A retraction is applied by another principal than the one that planned it."
    yield _retention(profile, retention)


def _principals(profile: Profile) -> str:
    name = f"Profile {profile.profile_id}, version {profile.version}"
    if profile.allowed_principals is None:
        return f"{name}: any principal of a tenant may use it, with the roles of its token."
    return f"{name}: only {_and(profile.allowed_principals)} may use it."


def _reading(profile: Profile) -> Iterator[str]:
    ordered = sorted(profile.document_bindings, key=lambda binding: binding.read_priority)
    yield f"An agent sees, in this order: {_and(_document(binding) for binding in ordered)}."
    guidance = [f"{binding} {section}" for binding, all_of in profile.guidance_sections.items() for section in all_of]
    if guidance:
        yield f"Guidance on how to answer, apart from facts: {_and(guidance)}."
    if profile.routing is not None:
        rules = profile.routing
        yield f"A conversation selects one document of a family by {rules.source_binding} {rules.entries}."


def _document(binding: Binding) -> str:
    path = f"{binding.namespace}/{binding.path or binding.path_template}"
    family = ", one for each value" if binding.path_template else ""
    return f"{binding.binding_id} ({path}{family}, at most {binding.max_chars:,} characters)"


def _writing(profile: Profile) -> Iterator[str]:
    writable = [
        f"{binding_id} {_and(sections)}"
        for binding_id, sections in profile.writable_path_rules.items()
        if sections and (binding := profile.binding(binding_id)) and binding.write_mode != "read_only"
    ]
    rest = [b.binding_id for b in profile.document_bindings if not profile.writable_path_rules.get(b.binding_id)]
    if writable:
        yield f"A principal with Memory.Write may change {'; '.join(writable)}."
    if rest:
        yield f"Only an administrator changes {_and(rest)}."
    if profile.denied_fields:
        yield f"Refused everywhere: {profile.denied_fields[0]} and {len(profile.denied_fields) - 1} more field names."


def _confirming(profile: Profile) -> Iterator[str]:
    rules = profile.confidence_rules
    durable = [f"{binding} {_and(sections)}" for binding, sections in profile.durable_sections.items() if sections]
    if durable and profile.durable_writes == "confirmed_only":
        yield f"Every write to {'; '.join(durable)} waits for confirmation."
    elif durable:
        least = rules.min_confidence_for_durable_fact
        yield f"Durable facts are in {'; '.join(durable)}: a write needs confidence {least}."
    if not durable and not rules.min_confidence_for_auto_apply:
        yield "No write needs a confidence."
        return
    yield f"A replay's write needs confidence {rules.min_confidence_for_auto_apply} to apply without confirmation."
    pending = [f"{binding} {section}" for binding, section in profile.pending_sections.items()]
    who = "anyone with Memory.Write" if profile.confirmed_by == "anyone" else "another principal than the proposer"
    if pending:
        yield f"Writes with less confidence wait in {_and(pending)}, until {who} confirms or rejects them."
    else:
        yield "Writes with less confidence are refused: no binding has a pending section."
    if (rule := profile.corroboration) is not None:
        apart = f", at least {_count(rule.days_apart, 'day')} apart" if rule.days_apart else ""
        yield (
            f"What replays proposed is applied without a confirmation once the user has stated it in "
            f"{rule.statements} conversations{apart}."
        )


def _statements(profile: Profile) -> Iterator[str]:
    """Yield what happens to statements that contradict each other or say the same: a sentence for each rule."""
    places: dict[str, dict[str, list[str]]] = {}
    for binding_id, rules in profile.upkeep_rules.items():
        for rule in rules:
            for sentence in _about_statements(rule):
                places.setdefault(sentence, {}).setdefault(binding_id, []).append(rule.section)
    for sentence, found in places.items():
        yield f"In {'; '.join(f'{binding} {_and(sections)}' for binding, sections in found.items())}, {sentence}"


def _about_statements(rule: SectionUpkeep) -> Iterator[str]:
    statements = rule.statements
    if statements is None:
        return
    person = "" if statements.claimed_by_field is None else " of the same person"
    waits = "waits" if statements.question is None else f"waits with a question for {_WHO[statements.decides]}"
    then = {"supersede": "closes it", "keep": "is dropped", "ask": waits}[statements.on_contradiction]
    if statements.unless_less_sure_by is not None and statements.on_contradiction != "ask":
        then += f", and one that is less sure by more than {statements.unless_less_sure_by} {waits}"
    yield f"a later statement{person} that contradicts an open one {then}."
    if statements.claimed_by_field is not None and statements.between_claimants == "weigh":
        yield "statements of different people that contradict each other stay side by side, and a recall weighs them."
    elif statements.claimed_by_field is not None:
        yield "a statement that contradicts another person's waits until an administrator of the tenant decides."
    if rule.consolidate is not None:
        yield "open statements about different things that say the same become one."


def _limits(profile: Profile) -> Iterator[str]:
    limits = [
        f"{length} {name} in {binding}"
        for binding, rules in profile.compaction_rules.items()
        for name, length in ((rule.removeprefix("max_"), length) for rule, length in rules.items())
    ]
    if limits:
        yield f"At most {_and(limits)}."


def _extraction(profile: Profile) -> Iterator[str]:
    rules = profile.extraction
    if rules is None:
        yield "A submitted conversation becomes an event; nothing is proposed from it."
        return
    yield (
        f"A submitted conversation and the documents are sent to the model with prompt {rules.prompt_id} "
        f"{rules.prompt_version}; it proposes at most {rules.max_patches} patches, with confidence up to "
        f"{rules.max_confidence}."
    )
    for binding_id, own in rules.prompts.items():
        yield (
            f"About {binding_id} the model is asked in a call of its own, with prompt {own.prompt_id} "
            f"{own.prompt_version}."
        )
    if rules.judge is not None:
        yield (
            f"A proposal that resembles open entries is compared with them by the model with prompt "
            f"{rules.judge.prompt_id} {rules.judge.prompt_version}."
        )
    if rules.cues:
        found = [f"each {cue.says} for {cue.binding_id} {cue.section}" for cue in rules.cues]
        sets = [f"{one.language} {one.version}" for one in rules.cue_sets]
        yield f"Without a model, the phrases of {_and(sets)} propose {_and(found)}."


def _upkeep(profile: Profile) -> Iterator[str]:
    done = []
    for binding_id, rules in profile.upkeep_rules.items():
        for rule in rules:
            place = f"{binding_id} {rule.section}"
            if rule.expires_field is not None:
                done.append(f"entries of {place} expire at {rule.expires_field}")
            if rule.stale_after_days is not None:
                done.append(f"those of {place} wait for confirmation again after {rule.stale_after_days} days")
            if rule.keep is not None:
                share = f"{profile.upkeep_fill:.0%}"
                done.append(f"{place} is trimmed to {rule.keep} when the document fills {share} of its size")
    if done:
        yield f"Upkeep: {'; '.join(done)}."


def _retention(profile: Profile, retention: RetentionPolicy) -> str:
    def kept(kind: Kind) -> str:
        days = retention.days(kind, profile.profile_id)
        return f"{kind} without limit" if days is None else f"{kind} {days} days"

    return f"Retention: {_and(map(kept, Kind))}; documents until they are erased."


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _and(items: Iterable[str]) -> str:
    """Return the items as a list in words."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
