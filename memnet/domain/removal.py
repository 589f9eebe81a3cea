"""Which documents and heads an erasure has removed, as its receipt tells.

What a signed head names and the storage has not was taken away by somebody. A receipt explains it: one that the service
has signed, of this user, of an erasure that ended after the head was signed, and that removed as many as it has to
explain. One that removed nothing, as under a hold from the beginning, explains nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memnet.domain.erasure_receipt import Receipt
from memnet.domain.record import RecordKind

DOCUMENTS, HEADS = "documents", RecordKind.HEADS.value
"""What a receipt counts them as."""


@dataclass(frozen=True, slots=True)
class Gone:
    """When something was last known to be there, and when first known not to be; None: nothing says so."""

    since: str
    until: str | None = None


class Explanations:
    """What receipts explain; each explains of a kind as many as it says that it has removed, and no more."""

    def __init__(self, receipts: Sequence[Receipt]) -> None:
        """Take receipts of one user whose signatures hold."""
        self._receipts = sorted(receipts, key=lambda one: str(one.members["finished_at"]))
        self._left = {(one.data, kind): _removed(one, kind) for one in receipts for kind in (DOCUMENTS, HEADS)}

    def all_of(self, gone: Mapping[str, Gone]) -> Mapping[str, str]:
        """Return by name of a document the erasure that removed it; nothing at all unless every one is explained.

        Were some explained and others not, nobody could tell which: the receipt does not name them.
        """
        before, found = dict(self._left), dict[str, str]()
        # What was seen last has the fewest receipts after it.
        for name, one in sorted(gone.items(), key=lambda item: item[1].since, reverse=True):
            erasure_id = self.take(DOCUMENTS, one)
            if erasure_id is None:
                self._left = before
                return {}
            found[name] = erasure_id
        return found

    def take(self, kind: str, gone: Gone, number: int = 1) -> str | None:
        """Return the erasures that removed so many of that kind at that time; None if they do not explain as many."""
        fitting = [receipt for receipt in self._receipts if _is_then(receipt, gone) and self._left[receipt.data, kind]]
        if sum(self._left[receipt.data, kind] for receipt in fitting) < number:
            return None
        named: list[str] = []
        for receipt in fitting:
            taken = min(number, self._left[receipt.data, kind])
            if taken:
                self._left[receipt.data, kind] -= taken
                number -= taken
                named.append(str(receipt.members["erasure_id"]))
        return ", ".join(named)

    def could(self, kind: str, gone: Gone) -> bool:
        """Say whether some erasure has removed anything of that kind at that time."""
        return any(_is_then(receipt, gone) and _removed(receipt, kind) for receipt in self._receipts)


def _is_then(receipt: Receipt, gone: Gone) -> bool:
    """Whether the erasure ended after it was known to be there, and began before it was known not to be."""
    began, ended = str(receipt.members["accepted_at"]), str(receipt.members["finished_at"])
    return gone.since <= ended and (gone.until is None or gone.until >= began)


def _removed(receipt: Receipt, kind: str) -> int:
    number: int = receipt.members["removed"].get(kind, 0)
    return number
