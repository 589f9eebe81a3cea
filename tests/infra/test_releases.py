"""A release, a changed setting and a rollback reach the serving revision by the documented commands."""

import re
from pathlib import Path

import pytest

from local.infra_check.check import check
from tests.architecture.source_tree import ROOT
from tests.infra.deploying import REGISTRY, Deployment, Prompted, calls, commit, git, repository, run, values
from tests.infra.planting import MAIN, NAMES, planted

PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return repository(tmp_path)


@pytest.fixture
def deployed(tree: Path) -> Deployment:
    """With the release one, which serves."""
    deployment = Deployment(tree).begin(MEMNET_RELEASE="one")
    for _ in range(2):
        deployment.provision()
    assert deployment.serving().release == "one"
    return deployment


def switched_to_two(deployment: Deployment) -> None:
    deployment.tell(MEMNET_RELEASE="two")
    deployment.provision()
    deployment.tell(MEMNET_SERVING_RELEASE="two")
    deployment.provision()
    assert deployment.serving().release == "two"


class TestTheFirstTime:
    def test_the_documented_commands_work_in_a_fresh_clone(self, tree: Path) -> None:
        """As azd does it: it looks for parameters first with `up`, and after the hooks with `provision`."""
        [block] = [block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if "azd env new" in block]
        deployment = Deployment(tree).begin()
        for line in block.splitlines():
            words = line.split()
            if words[:3] == ["azd", "env", "set"]:
                deployment.tell(**{words[3]: words[4]})
            elif words[:2] == ["azd", "up"]:
                deployment.up()
            elif words[:2] == ["azd", "provision"]:
                deployment.provision()
            elif words[:2] == ["azd", "deploy"]:
                assert deployment.deploy(words[2]).returncode == 0
        assert deployment.serving().release == git(tree, "rev-parse", "--short=12", "HEAD")

    def test_azd_up_asks_for_parameters_before_any_hook(self, tree: Path) -> None:
        deployment = Deployment(tree).begin()
        with pytest.raises(Prompted):
            deployment.up()
        assert calls(tree) == []
        deployment.provision()
        deployment.up()
        assert deployment.serving().release == git(tree, "rev-parse", "--short=12", "HEAD")


class TestARelease:
    def test_a_release_is_deployed_next_to_the_serving_one_until_it_is_named(self, deployed: Deployment) -> None:
        deployed.tell(MEMNET_RELEASE="two")
        deployed.provision()
        found = deployed.next()
        assert (deployed.serving().release, found and found.release) == ("one", "two")
        assert "azd env set MEMNET_RELEASE one" in deployed.output
        deployed.tell(MEMNET_SERVING_RELEASE="two")
        deployed.provision()
        assert (deployed.serving().release, deployed.next()) == ("two", None)
        assert len(deployed.revisions) == 2

    def test_a_rollback_gives_the_old_revision_the_traffic(self, deployed: Deployment) -> None:
        switched_to_two(deployed)
        deployed.tell(MEMNET_SERVING_RELEASE="one")
        deployed.provision()
        found = deployed.next()
        assert (deployed.serving(), found and found.release) == (deployed.revisions[0], "two")

    def test_a_release_without_an_active_revision_cannot_serve_and_nothing_is_built(self, deployed: Deployment) -> None:
        switched_to_two(deployed)
        deployed.revisions[0].active = False
        deployed.tell(MEMNET_SERVING_RELEASE="one", MEMNET_RELEASE="three")
        with pytest.raises(RuntimeError, match="azd env set MEMNET_RELEASE one"):
            deployed.provision()
        assert "memnet-api:three" not in (deployed.tree.parent / "images").read_text()
        deployed.tell(MEMNET_RELEASE="one")
        deployed.provision()
        deployed.provision()
        assert deployed.serving().release == "one"

    def test_a_named_release_that_is_not_ready_does_not_serve(self, deployed: Deployment) -> None:
        deployed.tell(MEMNET_RELEASE="two")
        deployed.provision(ready=False)
        deployed.tell(MEMNET_SERVING_RELEASE="two")
        deployed.provision()
        assert deployed.serving().release == "one"
        deployed.revisions[-1].ready = True
        deployed.provision()
        assert deployed.serving().release == "two"

    def test_without_a_known_serving_release_nothing_is_deployed(self, deployed: Deployment) -> None:
        """Another machine: azd's environment is no part of the repository."""
        deployed.tell(MEMNET_RELEASE="two", MEMNET_SERVING_RELEASE="")
        with pytest.raises(RuntimeError, match="azd env refresh"):
            deployed.provision()
        assert "memnet-api:two" not in (deployed.tree.parent / "images").read_text()

    def test_a_failing_tool_stops_the_hook(self, deployed: Deployment) -> None:
        tool = deployed.tree.parent / "tools" / "az"
        tool.write_text('#!/bin/sh\ncase "$*" in *containerapp*) echo expired >&2; exit 1 ;; esac\n')
        deployed.tell(MEMNET_RELEASE="two")
        with pytest.raises(RuntimeError, match="expired") as failed:
            deployed.provision()
        assert "MEMNET_SERVING_RELEASE" not in str(failed.value)

    def test_on_app_service_no_revision_is_read(self, tree: Path) -> None:
        given = {"MEMNET_RELEASE": "two", "MEMNET_SERVING_RELEASE": "one", "MEMNET_API_HOST": "appService"}
        assert run(tree, "build_release", **REGISTRY, **given).returncode == 0
        assert values(tree)["MEMNET_SERVING_REVISION"] == ""
        assert [call for call in calls(tree) if "containerapp" in call] == []


class TestAChangedSetting:
    def test_a_setting_reaches_the_serving_release_with_one_provisioning(self, deployed: Deployment) -> None:
        """As the runbook has it for the night, from whatever checkout; nothing is built."""
        switched_to_two(deployed)
        commit(deployed.tree)
        for models in ("openai", "none", "openai"):
            deployed.tell(MEMNET_RELEASE=values(deployed.tree)["MEMNET_SERVING_RELEASE"], MEMNET_MODEL_PROVIDERS=models)
            deployed.provision()
            assert (deployed.serving().release, deployed.serving().setting("MEMNET_MODEL_PROVIDERS")) == ("two", models)
        assert len([call for call in calls(deployed.tree) if "acr build" in call]) == 2

    def test_next_to_another_release_a_setting_needs_two_provisionings(self, deployed: Deployment) -> None:
        deployed.tell(MEMNET_RELEASE="two")
        deployed.provision()
        deployed.tell(MEMNET_RELEASE="one", MEMNET_MODEL_PROVIDERS="openai")
        deployed.provision()
        assert deployed.serving() is deployed.revisions[0]
        deployed.provision()
        assert (deployed.serving().release, deployed.serving().setting("MEMNET_MODEL_PROVIDERS")) == ("one", "openai")

    def test_with_another_release_the_serving_one_keeps_its_settings(self, deployed: Deployment) -> None:
        deployed.tell(MEMNET_RELEASE="", MEMNET_MODEL_PROVIDERS="openai")
        deployed.provision()
        assert deployed.serving().setting("MEMNET_MODEL_PROVIDERS") == "none"
        assert "one continues to serve with its own settings" in deployed.output

    def test_the_runbook_names_the_serving_release_for_each_change(self) -> None:
        runbook = (ROOT / "docs" / "runbook.md").read_text("utf-8")
        blocks = [block for block in re.findall(r"```azurecli\n(.*?)```", runbook, re.DOTALL) if "provision" in block]
        assert len(blocks) == 2
        for block in blocks:
            before, _, after = block.partition("azd provision\n")
            assert 'azd env set MEMNET_RELEASE "$(azd env get-value MEMNET_SERVING_RELEASE)"' in before
            assert 'azd env set MEMNET_RELEASE ""' in after


class TestTheWorkers:
    def add(self, tree: Path, name: str) -> None:
        path = tree / NAMES
        path.write_text(
            path.read_text("utf-8").replace('"functions": [\n', f'"functions": [\n    "{name}",\n'), "utf-8"
        )

    def test_a_package_with_an_unknown_function_is_refused(self, deployed: Deployment) -> None:
        self.add(deployed.tree, "brand_new")
        refused = deployed.deploy("workers-green")
        assert (refused.returncode, "brand_new" in refused.stderr) == (1, True)
        deployed.provision()
        assert deployed.deploy("workers-green").returncode == 0
        assert "brand_new" in deployed.switched_off("green")
        assert deployed.switched_off("blue") == set()

    def test_another_checkout_does_not_enable_unknown_functions(self, deployed: Deployment) -> None:
        before = (deployed.tree / NAMES).read_text("utf-8")
        self.add(deployed.tree, "brand_new")
        deployed.provision()
        (deployed.tree / NAMES).write_text(before, "utf-8")
        deployed.provision()
        assert "brand_new" in deployed.switched_off("green")

    def test_a_package_with_a_retired_function_can_be_deployed(self, deployed: Deployment) -> None:
        path = deployed.tree / NAMES
        before = path.read_text("utf-8")
        later = before.replace('    "apply_due",\n', "")
        assert later != before
        path.write_text(later.replace('"retiredFunctions": []', '"retiredFunctions": ["apply_due"]'), "utf-8")
        deployed.tell(MEMNET_WORKER_FUNCTIONS="")
        deployed.provision()
        path.write_text(before, "utf-8")
        assert deployed.deploy("workers-blue").returncode == 0

    def test_nothing_is_deployed_before_the_first_provisioning(self, tree: Path) -> None:
        assert run(tree, "check_functions").returncode == 1

    def test_a_retired_function_stays_disabled(self) -> None:
        retired = (NAMES, '"retiredFunctions": []', '"retiredFunctions": ["once"]')
        found = " ".join(one.message for one in check(planted(retired)))
        assert 'appSettings.AzureWebJobs.once.Disabled.value is "true"' in found
        forgotten = (MAIN, "names.functions, names.retiredFunctions,", "names.functions,")
        assert "AzureWebJobs.once" not in " ".join(one.message for one in check(planted(retired, forgotten)))
