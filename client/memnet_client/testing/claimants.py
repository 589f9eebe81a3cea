"""Claimants: users of the tenant, whose statements in a workspace have a code instead of a name."""

from memnet_client.testing.call import Call, check_identifier
from memnet_client.testing.json_patch import ROOT, Json, digest, pointer_text
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile, covers
from memnet_client.testing.state import Place
from memnet_client.testing.statements import contradicting, entries_in, is_open


def code_of(call: Call, claimant: Json, profile: Profile, binding_ids: list[str], at: str) -> str | None:
    """Return the code of a claimant; None: no one is named.

    Raises Refusal USER_FORBIDDEN, CLAIMANT_NOT_ACCEPTED, CLAIMANT_NOT_FOUND.
    """
    if claimant is None:
        return None
    user_id = check_identifier("user_id", claimant["user_id"])
    if call.identity.application is not None and user_id != call.principal:
        raise Refusal("USER_FORBIDDEN", "This token reaches one user only.", param="user_id")
    rules = [rule for binding_id in binding_ids for rule in profile.statements(binding_id).values()]
    if not any(rule.get("claimed_by_field") for rule in rules):
        raise Refusal("CLAIMANT_NOT_ACCEPTED", "The profile has no statements with a claimed_by_field.", param=at)
    tenant_id = call.path["tenant_id"]
    known = call.world.tenant(tenant_id).users.get(user_id)
    if known is None or not (known.documents or known.snapshots or known.events):
        raise Refusal("CLAIMANT_NOT_FOUND", "Nothing is stored about the claimant.", param=f"{at}/user_id")
    return f"clm-{digest([tenant_id, call.path['user_id'], user_id])[:32]}"


def disputes_of(call: Call, profile: Profile) -> set[tuple[Place, str]]:
    """Return the places of the open statements that another claimant contradicts. The fake marks and does not weigh."""
    found: set[tuple[Place, str]] = set()
    for place, document in call.memory.documents.items():
        for binding in profile.bindings if document.exists else ():
            rules = profile.statements(binding["binding_id"]) if covers(binding, place) else {}
            for section, rule in rules.items():
                entries = entries_in(document.newest.view[ROOT], section)
                found |= {
                    (place, pointer_text((ROOT, *section, str(number))))
                    for number, one in enumerate(entries)
                    if isinstance(one, dict) and is_open(one, rule) and contradicting(one, entries, rule)
                }
    return found
