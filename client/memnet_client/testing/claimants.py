"""Claimants: users of the tenant, whose statements in a workspace have a code instead of a name."""

from memnet_client.testing.call import Call, check_identifier
from memnet_client.testing.json_patch import Json, digest
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile


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
