"""The sections of a document that some profile declares durable or pending."""

from dataclasses import dataclass

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.path_policy import touches
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import DocumentKey, ETag


@dataclass(frozen=True, slots=True)
class ProtectedSections:
    """The durable and pending sections of a document, of all profiles that cover it: the upkeep of one profile must not
    harm what another declares.
    """

    durable: tuple[Pointer, ...]
    pending: tuple[str, ...]
    etag: ETag | None = None
    """The version under upkeep."""

    def is_durable(self, section: str) -> bool:
        """Whether something in the section is durable to some profile."""
        return any(touches(pointer(section), durable) for durable in self.durable)


def protected_sections(catalog: Catalog, key: DocumentKey, etag: ETag | None = None) -> ProtectedSections:
    """Return the sections of the document that any profile declares durable or pending."""
    found = catalog.covering(key)
    durable = [d for r in found for d in r.profile.durable.get(r.binding.binding_id, ())]
    pending = [s for r in found if (s := r.profile.pending_sections.get(r.binding.binding_id)) is not None]
    return ProtectedSections(tuple(dict.fromkeys(durable)), tuple(dict.fromkeys(pending)), etag)
