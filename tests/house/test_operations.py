"""One verb, one name: file = public function = operationId = test file = row in the table of roles."""

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
        "rebuild_documents",
    }
    | {"index_events", "open_index", "read_events", "rebuild_index", "reconcile_events", "reindex_tenant"}
    | {"upload_events", "verify_search", "resume_reindexing"}
    | {"rotate_keys"}
    | {"open_attachment", "store_attachment"}
    | {"extract_memory", "plan_replay", "replay_snapshot", "show_documents", "try_proposal", "rebase_proposal"}
    | {"count_indexed", "erase_blobs", "erase_index", "erase_user", "erase_users", "fence_documents", "list_erasures"}
    | {"count_remaining", "find_indexes", "list_stored", "open_erasure", "sign_erasure"}
    | {"erase_tenant", "erase_tenant_index", "erase_tenants"}
    | {"fail_replay", "find_due_job", "requeue_jobs", "send_job", "unmark_job"}
    | {"apply_conflict", "open_conflict", "read_conflict"}
    | {"compact_document", "compact_documents", "refresh_document", "refresh_documents"}
    | {"export_user", "import_user", "verify_archive", "restore_document", "adopt_document"}
    | {"import_entry", "read_archive_lines", "store_record"}
    | {"tend_document", "tend_documents"}
    | {"find_migration_units", "read_migration_unit", "migrate_unit", "verify_migration_unit"}
    | {"roll_back_unit", "decommission_unit"}
    | {"apply_retentions", "remove_due", "retain_audit", "retain_events", "retain_jobs", "retain_snapshots"}
    | {"count_orphans", "find_orphans", "list_orphans", "find_receipts"}
    | {"retain_imports", "unindex_events"}
    | {"change_hold", "find_holds", "list_hold_changes", "list_holds", "read_hold", "tell_hold"}
    | {"list_users", "verify_history"}
    | {"tell_backlog", "register_catalog", "read_schema"}
)
"""Verbs without a route: steps of other operations, and what the shell and the sweeper do. A new one is a decision."""
SHARED = frozenset({"audit_records", "baselines", "key_ring", "sign_heads"})
"""Modules of several functions that other operations share."""
FILES = {module.stem: module for module in modules("memnet/operations") if module.stem != "__init__"}
OPERATIONS = {name: module for name, module in FILES.items() if name not in SHARED}


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


def test_an_operation_file_has_one_public_async_function_of_its_own_name() -> None:
    wrong = {m.name: f for m in OPERATIONS.values() if (f := public_functions(m)) != [(ast.AsyncFunctionDef, m.stem)]}
    assert wrong == {}


def test_every_operation_is_one_route_and_every_route_one_operation() -> None:
    assert operation_ids() == Counter(OPERATIONS.keys() - INTERNAL)


def test_the_internal_verbs_exist() -> None:
    assert INTERNAL - OPERATIONS.keys() == set()


def test_every_routed_operation_says_which_roles_it_takes() -> None:
    assert ROLES.keys() == OPERATIONS.keys() - INTERNAL


def test_every_operation_has_its_test_file() -> None:
    tests = ROOT / "tests" / "operations"
    assert [name for name in sorted(FILES) if not (tests / f"test_{name}.py").is_file()] == []
