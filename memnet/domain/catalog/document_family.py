"""One document of a user by its path, or a family of them by a template with one variable."""

from memnet.domain.catalog.profile_types import Identifier, ProfilePart
from memnet.domain.core.identifiers import SEGMENT, check_identifier
from memnet.domain.core.scope import DocumentKey, UserScope


class DocumentFamily(ProfilePart):
    """Which documents something is about: either `path` or `path_template` is given."""

    namespace: Identifier
    path: str | None = None
    path_template: str | None = None

    def variable(self) -> str | None:
        """The name between the braces of `path_template`; None for a fixed path."""
        if self.path_template is None:
            return None
        return self.path_template.partition("{")[2].partition("}")[0]

    def resolve(self, scope: UserScope, value: str | None = None) -> DocumentKey:
        """The document of `scope` this names; `value`, one segment, fills the variable.

        Raises InvalidIdentifier.
        """
        path = self.path or ""
        variable = self.variable()
        if self.path_template is not None and variable is not None:
            filled = check_identifier(variable, value or "")
            path = self.path_template.replace(f"{{{variable}}}", filled)
        return DocumentKey(scope, self.namespace, path)

    def covers(self, key: DocumentKey) -> bool:
        """Whether the document is one of these: same namespace, and the path fits."""
        if key.namespace != self.namespace:
            return False
        return key.path == self.path if self.path_template is None else self.value_in(key) is not None

    def value_in(self, key: DocumentKey) -> str | None:
        """What fills the variable of `path_template` in this document's path; None if nothing does."""
        before, _, rest = (self.path_template or "").partition("{")
        after = rest.partition("}")[2]
        value = key.path[len(before) : len(key.path) - len(after)]
        fits = self.path_template is not None and key.path == before + value + after
        return value if fits and SEGMENT.fullmatch(value) else None
