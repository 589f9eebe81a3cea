"""A text alone becomes an entry by the template of the profile."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.entry_template import PLACEHOLDERS
from memnet_client.testing import FakeMemnet
from tests.client.conftest import EVIDENCE, PROFILE


def test_a_placeholder_is_never_written_as_it_is(catalog: Catalog) -> None:
    """The members that a text does not give are absent, so a schema that requires them refuses the entry."""
    profile = catalog.profile(PROFILE).model_dump(mode="json", exclude_unset=True)
    template = {placeholder.removeprefix("$"): placeholder for placeholder in sorted(PLACEHOLDERS)}
    profile["extraction"]["items"]["user_dynamic"]["/preferences"] = template
    maya = FakeMemnet(profiles=[profile]).client("chat").user("maya")
    maya.append("user_dynamic", "/preferences", "Likes tea.", evidence=EVIDENCE, source_time="2026-02-14T20:00:00Z")
    document = maya.read("user_dynamic")
    assert document is not None
    (entry,) = document.content["preferences"]
    assert entry.keys() == {"text", "id", "evidence", "confidence", "time", "date"}
    assert (entry["text"], entry["date"], entry["evidence"]) == ("Likes tea.", "2026-02-14", EVIDENCE)
