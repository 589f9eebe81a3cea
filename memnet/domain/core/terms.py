"""The terms of a text: its words as recall ranks by them, worked out once and kept with the text."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memnet.domain.core.words import plain_words, words


class Terms:
    """The words of one text that may be ranked many times. They are worked out when they are first needed."""

    def __init__(self, text: str, *, day: str = "", speaker: str = "") -> None:
        """`text` is what is searched; a message is written behind its `day` and its `speaker`."""
        self.text = text
        self._day = day
        self._speaker = speaker

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the text that are not common, as stems."""
        return tuple(words(self.text))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How often each of these words occurs."""
        return dict(Counter(self.words))

    @cached_property
    def hashes(self) -> NDArray[np.int64]:
        """The hashes of the different words, of this process alone."""
        return np.fromiter(map(hash, self.counts), dtype=np.int64, count=len(self.counts))

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The words before the text of a message."""
        return (*plain_words(self._day), *words(self._speaker))

    @cached_property
    def head_chars(self) -> int:
        """The characters of the head without spaces."""
        return sum(map(len, self.head))
