"""One name for a use case: public function = operationId = row in the table of roles; each module has its test file."""

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
    | {"retain_imports", "unindex_events"}
    | {"list_baselines", "next_baseline", "open_baseline", "read_baseline", "read_history", "store_baseline"}
    | {"list_users", "read_newest_head", "sign_head", "sign_heads", "verify_history"}
    | {"tell_backlog", "register_catalog", "read_schema"}
)
"""Verbs without a route: steps of other operations, and what the shell and the sweeper do. A new one is a decision."""
OPERATIONS = {module.stem: module for module in modules("memnet/operations") if module.stem != "__init__"}
SEVERAL = {"legal_holds": {"get_hold", "place_hold", "release_hold"}}
"""The routed use cases of the modules that hold several; their other public functions are internal."""
SAME = {f"{verb}_tenant_hold": f"{verb}_hold" for verb in ("get", "place", "release")}
"""Routes that call the function of another route, with another target."""
ROUTED = (OPERATIONS.keys() - INTERNAL - SEVERAL.keys()).union(*SEVERAL.values())


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
    single = [module for module in OPERATIONS.values() if module.stem not in SEVERAL]
    wrong = {m.name: f for m in single if (f := public_functions(m)) != [(ast.AsyncFunctionDef, m.stem)]}
    assert wrong == {}
    for name, verbs in SEVERAL.items():
        assert {(ast.AsyncFunctionDef, verb) for verb in verbs} <= set(public_functions(OPERATIONS[name]))


def test_every_operation_is_one_route_and_every_route_one_operation() -> None:
    assert operation_ids() == Counter(ROUTED | SAME.keys())


def test_the_internal_verbs_exist() -> None:
    assert INTERNAL - OPERATIONS.keys() == set()


def test_every_routed_operation_says_which_roles_it_takes() -> None:
    assert ROLES.keys() == ROUTED | SAME.keys()


def test_every_operation_has_its_test_file() -> None:
    tests = ROOT / "tests" / "operations"
    assert [name for name in sorted(OPERATIONS) if not (tests / f"test_{name}.py").is_file()] == []
