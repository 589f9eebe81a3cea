"""Calls on a tenant, subject requests and the service: one function per operation, as in `memory_calls`."""

from hashlib import sha256
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

from memnet_client import errors
from tests.client.contract.governance_calls import TALK
from tests.client.contract.memory_calls import OPERATOR, propose
from tests.client.contract.sides import PROFILE, Side


def list_users(side: Side) -> None:
    """List the users of a tenant, and those whose ids start with a text."""
    tenant = owned(side)
    for user_id in ("maya", "max", "tom"):
        tenant.user(user_id).append("user_dynamic", "/preferences", "Answer briefly.")
    assert list(tenant.users()) == ["max", "maya", "tom"]
    assert list(tenant.users(prefix="ma")) == ["max", "maya"]
    with pytest.raises(errors.InvalidIdentifier):
        list(tenant.users(prefix="../"))
    with pytest.raises(errors.RoleRequired):
        list(side.client().users())


def list_erasures(side: Side) -> None:
    """List a user's erasures."""
    maya = side.user(*OPERATOR)
    assert list(maya.erasures()) == []
    erasure = maya.erase()
    assert [one["erasure_id"] for one in maya.erasures()] == [erasure["erasure_id"]]
    with pytest.raises(errors.RoleRequired):
        list(side.user().erasures())


def export_user(side: Side) -> None:
    """Export a user, with and without the conversations."""
    maya = side.user(*OPERATOR)
    with pytest.raises(errors.UserNotFound):
        maya.export()
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    maya.hand_in("c1", TALK)
    whole, part = maya.export(reason="case 7"), maya.export(include_conversations=False)
    assert (whole.left_out, part.left_out) == (None, "conversations=1")
    with ZipFile(BytesIO(whole.data)) as archive:
        assert whole.sha256 == sha256(archive.read("manifest.json")).hexdigest()
    exports = [one for one in maya.snapshot_reads() if one["operation"] == "export_user"]
    assert [(one["principal"], one["include_conversations"]) for one in exports] == [
        ("operator", True),
        ("operator", False),
    ]
    with pytest.raises(errors.RoleRequired):
        side.user().export()


def verify_audit(side: Side) -> None:
    """Verify a user's history."""
    maya = side.user(*OPERATOR)
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    found = maya.verify_audit()
    assert (found["ok"], found["documents"], found["records"], found["faults"]) == (True, 1, 1, [])
    with pytest.raises(errors.RoleRequired):
        side.user().verify_audit()


def list_keys(side: Side) -> None:
    """List the public keys."""
    assert all(key["crv"] == "Ed25519" for key in side.client().keys()["keys"])


def get_me(side: Side) -> None:
    """Get the signed-in user."""
    person = side.client(token=side.signed_in())
    found = person.me()
    assert (found["tenant_id"], found["user_id"]) == (side.tenant, side.user_id)
    assert (found["roles"], found["may_export"], found["may_erase"]) == (["Memory.Read"], True, False)
    with pytest.raises(errors.UserForbidden):
        side.client().me()


def list_tenant_pending(side: Side) -> None:
    """List the questions that the tenant decides; what anyone may confirm is none of them."""
    tenant = owned(side)
    propose(tenant.user("maya"))
    assert list(tenant.questions()) == []
    with pytest.raises(errors.RoleRequired):
        list(side.client().questions())


def list_waiting(side: Side) -> None:
    """List what waits across users, of all kinds and of one."""
    tenant = owned(side)
    maya, tom = tenant.user("maya"), tenant.user("tom")
    assert list(tenant.waiting()) == []
    for user in (tom, maya):
        propose(user)
    found = [(row["kind"], row["user_id"], row["count"]) for row in tenant.waiting()]
    assert found == [("pending", "maya", 1), ("pending", "tom", 1)]
    assert list(tenant.waiting(kind="conflict")) == []
    (item,) = maya.pending()
    maya.reject(item)
    assert [row["user_id"] for row in tenant.waiting(kind="pending")] == ["tom"]
    with pytest.raises(errors.MalformedRequest):
        list(tenant.waiting(kind="unknown"))
    with pytest.raises(errors.RoleRequired):
        list(side.client().waiting())


def place_tenant_hold(side: Side) -> None:
    """Place a hold on a tenant, which keeps it from its end."""
    tenant = owned(side)
    assert tenant.place_tenant_hold("Case 7.")["holds"][0]["covers"] == "tenant"
    with pytest.raises(errors.TenantHeld):
        tenant.erase_tenant(confirm=side.own_tenant)


def get_tenant_hold(side: Side) -> None:
    """Read the hold on a tenant."""
    tenant = owned(side)
    assert tenant.tenant_hold()["held"] is False
    tenant.place_tenant_hold("Case 7.")
    assert tenant.user("maya").hold()["holds"][0]["covers"] == "tenant"
    assert tenant.tenant_hold()["changes"][0]["reason"] == "Case 7."


def release_tenant_hold(side: Side) -> None:
    """Lift the hold on a tenant."""
    tenant = owned(side)
    tenant.place_tenant_hold("Case 7.")
    assert tenant.release_tenant_hold("Closed.")["held"] is False


def request_tenant_erasure(side: Side) -> None:
    """End a tenant."""
    tenant = owned(side)
    ended = tenant.erase_tenant(confirm=side.own_tenant)
    assert (ended["status"], tenant.erase_tenant(confirm=side.own_tenant)["erasure_id"]) == (
        "running",
        ended["erasure_id"],
    )
    with pytest.raises(errors.MalformedRequest):
        tenant.erase_tenant(confirm="another")
    with pytest.raises(errors.TenantEnded):
        tenant.reindex()


def get_tenant_erasure(side: Side) -> None:
    """Read the progress of the end of a tenant."""
    tenant = owned(side)
    with pytest.raises(errors.ErasureNotFound):
        tenant.tenant_erasure()
    erasure = tenant.erase_tenant(confirm=side.own_tenant)
    assert tenant.tenant_erasure()["erasure_id"] == erasure["erasure_id"]


def reindex_events(side: Side) -> None:
    """Start a reindexing."""
    assert owned(side).reindex()["status"] in ("running", "succeeded")
    with pytest.raises(errors.RoleRequired):
        side.client().reindex()


def get_reindexing(side: Side) -> None:
    """Read the latest reindexing."""
    tenant = owned(side)
    with pytest.raises(errors.ReindexNotFound):
        tenant.reindexing()
    assert tenant.reindex()["reindex_id"] == tenant.reindexing()["reindex_id"]


def get_statistics(side: Side) -> None:
    """Read the statistics of a process."""
    operator = side.client(*OPERATOR)
    assert operator.statistics(minutes=5)["scope"] == "process"
    with pytest.raises(errors.MalformedRequest):
        operator.statistics(minutes=0)
    with pytest.raises(errors.RoleRequired):
        side.client().statistics()


def list_profiles(side: Side) -> None:
    """List the profiles."""
    assert PROFILE in [row["profile_id"] for row in side.client().profiles()]
    with pytest.raises(errors.RoleRequired):
        list(side.client("writer", ["Memory.Write"]).profiles())


def get_profile(side: Side) -> None:
    """Read a profile."""
    client = side.client()
    assert client.profile(PROFILE)["pending_sections"] == {"user_dynamic": "/pending_confirmations"}
    with pytest.raises(errors.ProfileNotFound):
        client.profile("unknown")


def get_schema(side: Side) -> None:
    """Read a version of a schema."""
    client = side.client()
    assert client.schema("memory.project", "1.0.0")["schema"]["$id"] == "memnet:memory.project:1.0.0"
    with pytest.raises(errors.SchemaNotFound):
        client.schema("memory.project", "9.9.9")


def health_live(side: Side) -> None:
    """Ask whether the process serves requests."""
    assert side.client().live()["status"] == "ok"


def health_ready(side: Side) -> None:
    """Ask whether the dependencies are there."""
    assert side.client().ready()["checks"]["storage"] == "ok"


def owned(side: Side) -> Any:
    """The operator of a tenant of this test only."""
    return side.client(*OPERATOR, tenant=side.own_tenant)
