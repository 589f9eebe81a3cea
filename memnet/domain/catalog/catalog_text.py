"""The canonical texts of the profile, schema and prompt versions in a catalog."""

from dataclasses import dataclass
from enum import StrEnum

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.canonical_json import canonical


class TextKind(StrEnum):
    """The kind of a text."""

    PROFILE = "profile"
    SCHEMA = "schema"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class TextName:
    """One version of a profile, a schema or a prompt."""

    kind: TextKind
    text_id: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.text_id} {self.version}"

    @property
    def blob_name(self) -> str:
        """The name of the blob that stores the text."""
        return f"catalog/{self.kind}/{self.text_id}/{self.version}.json"


def texts_of(catalog: Catalog) -> dict[TextName, bytes]:
    """The canonical JSON of every version in the catalog; the text of a prompt is a JSON string."""
    profiles = {TextName(TextKind.PROFILE, p.profile_id, p.version): p.text for p in catalog.profiles.values()}
    schemas = {TextName(TextKind.SCHEMA, *key): canonical(schema.body) for key, schema in catalog.schemas.items()}
    prompts = {TextName(TextKind.PROMPT, *key): canonical(prompt.text) for key, prompt in catalog.prompts.items()}
    return {**profiles, **schemas, **prompts}
