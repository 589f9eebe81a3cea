"""Index definitions: what Azure accepts in one, checked, with its defaults filled in."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_request, not_supported
from local.emulators.search.limits import FIELDS_PER_INDEX, K1, VECTOR_DIMENSIONS, B
from local.emulators.search.vector_profiles import check_vector_search

Json = dict[str, Any]

NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])")
_FIELD_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_INDEX_MEMBERS: Final = {"name", "description", "fields", "similarity", "vectorSearch", "encryptionKey"}
_OTHER_INDEX_MEMBERS: Final = {
    "scoringProfiles",
    "defaultScoringProfile",
    "corsOptions",
    "suggesters",
    "analyzers",
    "tokenizers",
    "tokenFilters",
    "charFilters",
    "normalizers",
    "semantic",
}
_SWITCHES: Final = ("key", "retrievable", "searchable", "filterable", "sortable", "facetable")
_FIELD_MEMBERS: Final = {
    "name",
    "type",
    "stored",
    "analyzer",
    "dimensions",
    "vectorSearchProfile",
    *_SWITCHES,
}
_OTHER_FIELD_MEMBERS: Final = {
    "searchAnalyzer",
    "indexAnalyzer",
    "normalizer",
    "vectorEncoding",
    "synonymMaps",
    "fields",
}
_UNSUPPORTED_TYPES: Final = {
    "Edm.GeographyPoint",
    "Edm.ComplexType",
    "Edm.Single",
    "Edm.Half",
    "Edm.Int16",
    "Edm.SByte",
    "Edm.Byte",
}
_ANALYZER: Final = "standard.lucene"
_SIMILARITY: Final = {"@odata.type": "#Microsoft.Azure.Search.BM25Similarity", "k1": K1, "b": B}


class EdmType(StrEnum):
    """The types of a value; a collection has them for its elements."""

    STRING = "Edm.String"
    INT32 = "Edm.Int32"
    INT64 = "Edm.Int64"
    DOUBLE = "Edm.Double"
    BOOLEAN = "Edm.Boolean"
    DATE_TIME_OFFSET = "Edm.DateTimeOffset"
    SINGLE = "Edm.Single"
    """Only as the element of a vector."""


@dataclass(frozen=True)
class Field:
    """One field of an index."""

    name: str
    type: EdmType
    collection: bool
    key: bool
    retrievable: bool
    searchable: bool
    filterable: bool
    sortable: bool
    facetable: bool
    dimensions: int = 0
    """0 unless the field is a vector."""
    profile: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether the field holds embeddings."""
        return self.dimensions > 0

    @property
    def type_name(self) -> str:
        """The type as definitions spell it."""
        return f"Collection({self.type})" if self.collection else str(self.type)

    def body(self) -> Json:
        """Return the field as Azure shows it."""
        shown: Json = {"name": self.name, "type": self.type_name, **{name: getattr(self, name) for name in _SWITCHES}}
        if self.is_vector:
            return {**shown, "dimensions": self.dimensions, "vectorSearchProfile": self.profile}
        if self.searchable:
            shown["analyzer"] = _ANALYZER
        return shown


@dataclass(frozen=True)
class IndexDefinition:
    """A checked definition."""

    name: str
    description: str | None
    fields: dict[str, Field]
    vector_search: Json | None
    encryption_key: Json | None = None
    """Returned unchanged: the emulator encrypts nothing."""

    @property
    def key(self) -> Field:
        """The field whose value names a document."""
        return next(field for field in self.fields.values() if field.key)

    def body(self) -> Json:
        """Return the definition as Azure shows it, without the ETag; it can be sent back unchanged."""
        shown: Json = {"name": self.name}
        if self.description is not None:
            shown["description"] = self.description
        shown["fields"] = [field.body() for field in self.fields.values()]
        shown["similarity"] = _SIMILARITY
        if self.vector_search is not None:
            shown["vectorSearch"] = self.vector_search
        if self.encryption_key is not None:
            shown["encryptionKey"] = self.encryption_key
        return shown


def parse_definition(body: object) -> IndexDefinition:
    """Check an index definition. Raises SearchError: 400 as Azure, 501 for what the emulator lacks."""
    if not isinstance(body, dict):
        raise _invalid("The definition must be an object.")
    _check_members(body, _INDEX_MEMBERS, _OTHER_INDEX_MEMBERS, "SearchIndex")
    name = _name(body.get("name"))
    description = body.get("description")
    if description is not None and not isinstance(description, str):
        raise _invalid("The property 'description' must be a string.")
    profiles = check_vector_search(body.get("vectorSearch"))
    if body.get("similarity") not in (None, _SIMILARITY):
        raise not_supported("another similarity than BM25 as it is by default")
    encryption_key = _encryption_key(body.get("encryptionKey"))
    fields = _fields(body.get("fields"), profiles)
    return IndexDefinition(name, description, fields, body.get("vectorSearch"), encryption_key)


def _encryption_key(given: object) -> Json | None:
    if given is None:
        return None
    named = isinstance(given, dict) and [given.get("keyVaultUri"), given.get("keyVaultKeyName")]
    if not isinstance(given, dict) or not named or not all(isinstance(name, str) and name for name in named):
        raise _invalid("The property 'encryptionKey' must name keyVaultUri and keyVaultKeyName.")
    return given


def _name(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _invalid(
            "Invalid index name: Index name must only contain lowercase letters, digits or dashes, cannot start or end "
            "with dashes and is limited to 128 characters (at least 2).",
            "InvalidName",
        )
    return name


def check_update(old: IndexDefinition, new: IndexDefinition) -> None:
    """Refuse what Azure cannot change without a rebuild: existing fields stay, new ones may come."""
    for field in old.fields.values():
        successor = new.fields.get(field.name)
        if successor is None:
            raise _not_allowed(f"Existing field '{field.name}' cannot be deleted.", "CannotDeleteExistingField")
        before, after = vars(field), vars(successor)
        if any(before[attribute] != after[attribute] for attribute in before if attribute != "retrievable"):
            raise _not_allowed(f"Existing field '{field.name}' cannot be changed.", "CannotChangeExistingField")
    for kind in ("algorithms", "profiles"):
        kept = (new.vector_search or {}).get(kind) or []
        if any(entry not in kept for entry in (old.vector_search or {}).get(kind) or []):
            raise _not_allowed(f"Existing vector search {kind} cannot be changed.", "CannotChangeExistingVectorSearch")


def _check_members(body: Json, known: set[str], unsupported: set[str], type_name: str) -> None:
    for member, value in body.items():
        if member in known or member.startswith("@odata."):
            continue
        if member not in unsupported:
            raise bad_request(
                f"The request is invalid. Details: The property '{member}' does not exist on type "
                f"'search.{type_name}'. Make sure to only use property names that are defined by the type."
            )
        if value not in (None, [], {}):
            raise not_supported(f"the property '{member}' of a {type_name}")


def _fields(body: object, profiles: set[str]) -> dict[str, Field]:
    if not isinstance(body, list) or not body or len(body) > FIELDS_PER_INDEX:
        raise _invalid(f"An index needs between 1 and {FIELDS_PER_INDEX} fields.")
    fields: dict[str, Field] = {}
    for entry in body:
        field = _field(entry, profiles)
        if field.name.lower() in {name.lower() for name in fields}:
            raise _invalid(f"Duplicate field name: '{field.name}'.", "DuplicateField")
        fields[field.name] = field
    keys = sum(field.key for field in fields.values())
    if keys != 1:
        raise _invalid(f"Found {keys} key fields; each index must have exactly one.", "InvalidKeyField")
    return fields


def _field(body: object, profiles: set[str]) -> Field:
    if not isinstance(body, dict):
        raise _invalid("A field must be an object.")
    _check_members(body, _FIELD_MEMBERS, _OTHER_FIELD_MEMBERS, "SearchField")
    name = body.get("name")
    if not isinstance(name, str) or not _FIELD_NAME.fullmatch(name) or name.startswith("azureSearch"):
        raise _invalid(
            f"Invalid field name: '{name}'. Field names must begin with a letter, can contain only letters, digits, "
            "or underscore ('_'), and may not begin with 'azureSearch'.",
            "InvalidName",
        )
    edm_type, collection = _type(name, body.get("type"))
    if body.get("stored") is False:
        raise not_supported("fields with stored = false")
    switches = _switches(name, body, edm_type, collection=collection)
    dimensions, profile = _vector(name, body, profiles, is_vector=edm_type is EdmType.SINGLE)
    if body.get("analyzer") not in (None, _ANALYZER):
        raise not_supported(f"the analyzer '{body['analyzer']}' (field '{name}')")
    field = Field(name, edm_type, collection, dimensions=dimensions, profile=profile, **switches)
    _check_switches(field)
    return field


def _type(name: str, declared: object) -> tuple[EdmType, bool]:
    text = declared if isinstance(declared, str) else ""
    collection = text.startswith("Collection(") and text.endswith(")")
    element = text[len("Collection(") : -1] if collection else text
    if element in _UNSUPPORTED_TYPES and not (collection and element == EdmType.SINGLE):
        raise not_supported(f"the type {text} (field '{name}')")
    try:
        return EdmType(element), collection
    except ValueError:
        raise _invalid(f"The field '{name}' has the unknown type '{declared}'.", "InvalidFieldType") from None


def _switches(name: str, body: Json, edm_type: EdmType, *, collection: bool) -> dict[str, bool]:
    """Read the attributes; those left out have Azure's defaults."""
    vector = edm_type is EdmType.SINGLE
    defaults = {
        "key": False,
        "retrievable": True,
        "searchable": edm_type is EdmType.STRING or vector,
        "filterable": not vector,
        "sortable": not collection,
        "facetable": not vector,
    }
    found = {}
    for switch, default in defaults.items():
        value = body.get(switch)
        if value is not None and not isinstance(value, bool):
            raise _invalid(f"The property '{switch}' of the field '{name}' must be true or false.")
        found[switch] = default if value is None else value
    return found


def _check_switches(field: Field) -> None:
    wrong = {
        "A key field must be of type Edm.String": field.key and field.type_name != EdmType.STRING,
        "A key field must be retrievable": field.key and not field.retrievable,
        "Only fields of type Edm.String, Collection(Edm.String) and vectors can be searchable": field.searchable
        and not (field.type is EdmType.STRING or field.is_vector),
        "A collection cannot be sortable": field.collection and field.sortable,
        "A vector field must be searchable": field.is_vector and not field.searchable,
        "A vector field cannot be filterable, sortable or facetable": field.is_vector
        and (field.filterable or field.sortable or field.facetable),
    }
    for message, applies in wrong.items():
        if applies:
            raise _invalid(f"{message} (field '{field.name}').", "InvalidField")


def _vector(name: str, body: Json, profiles: set[str], *, is_vector: bool) -> tuple[int, str]:
    dimensions, profile = body.get("dimensions"), body.get("vectorSearchProfile")
    if not is_vector:
        if dimensions is not None or profile is not None:
            raise _invalid(f"The field '{name}' is not a vector and cannot have dimensions or a profile.")
        return 0, ""
    if dimensions is None or profile is None:
        raise _invalid(
            f"The vector field '{name}' must have the properties 'dimensions' and 'vectorSearchProfile' set.",
            "InvalidField",
        )
    if isinstance(dimensions, bool) or not isinstance(dimensions, int) or not 2 <= dimensions <= VECTOR_DIMENSIONS:
        raise _invalid(f"The vector field '{name}' needs between 2 and {VECTOR_DIMENSIONS} dimensions.", "InvalidField")
    if not isinstance(profile, str) or profile not in profiles:
        raise _invalid(
            f"The field '{name}' uses a vector search profile '{profile}' which is not defined.",
            "UnknownVectorSearchProfile",
        )
    return dimensions, profile


def _invalid(message: str, detail: str = "") -> SearchError:
    return bad_request(f"The request is invalid. Details: definition : {message}", detail=detail)


def _not_allowed(message: str, detail: str) -> SearchError:
    return SearchError(400, "OperationNotAllowed", message, details=((detail, message),))
