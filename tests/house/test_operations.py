"""One verb, one name: public function = operationId = row in the table of roles; each module has its test file."""

import ast
import importlib
import pkgutil
from collections import Counter

import api.routes
from memnet.domain.access import ROLES
from tests.house.source_tree import ROOT, Module, modules

INTERNAL = frozenset(
    {
        "bootstrap",
        "commit_change",
        "commit_governed",
        "flush_outbox",
        "sweep_outboxes",
        "read_records",
        "rebuild_documents",
    }
    | {"index_events", "open_index", "read_events", "rebuild_index", "reconcile_events", "reindex_tenant"}
    | {"upload_events", "verify_search", "resume_reindexing"}
    | {"add_data_key", "open_record", "read_data_keys", "rotate_keys", "seal_record", "unwrap_data_key"}
    | {"open_audit_records", "open_data_keys", "read_current_key", "read_stored_records", "take_current_key"}
    | {"extract_memory", "plan_replay", "replay_snapshot", "show_documents", "try_proposal", "rebase_proposal"}
    | {"count_indexed", "erase_blobs", "erase_index", "erase_user", "erase_users", "fence_documents", "list_erasures"}
    | {"count_remaining", "find_indexes", "list_stored", "open_erasure", "sign_erasure"}
    | {"erase_tenant", "erase_tenant_index", "erase_tenants"}
    | {"fail_replay", "find_due_job", "requeue_jobs", "send_job", "unmark_job"}
    | {"apply_conflict", "open_conflict", "read_conflict"}
    | {"compact_document", "compact_documents", "refresh_document", "refresh_documents"}
    | {"export_user", "import_user", "import_entry", "restore_document", "verify_archive", "read_archive_lines"}
    | {"tend_document", "tend_documents"}
    | {"find_migration_units", "read_migration_unit", "migrate_unit", "verify_migration_unit"}
    | {"roll_back_unit", "decommission_unit"}
    | {"apply_retentions", "remove_due", "retain_audit", "retain_events", "retain_jobs", "retain_snapshots"}
    | {"count_orphans", "find_orphans", "list_orphans", "find_receipts"}
    | {"unindex_events"}
    | {"list_baselines", "next_baseline", "open_baseline", "read_baseline", "read_history", "store_baseline"}
    | {"change_hold", "find_holds", "list_hold_changes", "list_holds", "read_hold", "tell_hold"}
    | {"list_users", "read_newest_head", "sign_head", "sign_heads", "verify_history"}
    | {"tell_backlog", "register_catalog", "read_schema"}
)
"""Verbs without a route: steps of other operations, and what the shell and the sweeper do. A new one is a decision."""
MODULES = [module for module in modules("memnet/operations") if module.stem != "__init__"]


def operation_ids() -> Counter[str]:
    """The operationId of every route below /v1; health and the pages about the API are no operations."""
    found: Counter[str] = Counter()
    for info in pkgutil.iter_modules(api.routes.__path__):
        router = getattr(importlib.import_module(f"api.routes.{info.name}"), "router", None)
        for route in router.routes if router else ():
            if route.path.startswith("/v1/"):
                found[route.operation_id] += 1
    return found


def public_functions(module: Module) -> list[tuple[type, str]]:
    return [
        (type(node), node.name)
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]


OPERATIONS = Counter(name for module in MODULES for _, name in public_functions(module))


def test_an_operation_is_a_public_async_function() -> None:
    assert [m.name for m in MODULES if {kind for kind, _ in public_functions(m)} != {ast.AsyncFunctionDef}] == []


def test_no_operation_is_in_two_modules() -> None:
    assert [name for name, count in OPERATIONS.items() if count > 1] == []


def test_every_operation_is_one_route_and_every_route_one_operation() -> None:
    assert operation_ids() == Counter(OPERATIONS.keys() - INTERNAL)


def test_the_internal_verbs_exist() -> None:
    assert INTERNAL - OPERATIONS.keys() == set()


def test_every_routed_operation_says_which_roles_it_takes() -> None:
    assert ROLES.keys() == OPERATIONS.keys() - INTERNAL


def test_every_module_of_operations_has_its_test_file() -> None:
    tests = ROOT / "tests" / "operations"
    assert [m.name for m in MODULES if not (tests / f"test_{m.stem}.py").is_file()] == []
