"""The words of a text as memory is searched by them: in lower case, as English stems.

Common English words count in no search. Words of other languages keep their form, but for endings that look English.
Each ideograph is a word.
"""

import re
from typing import Final

import snowballstemmer

_STOP_WORDS: Final = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing a an the and but if or because as until while of at by for with about
    against between into through during before after above below to from up down in out on off over under again further
    then once here there when where why how all any both each few more most other some such no nor not only own same so
    than too very s t can will just don should now d ll m o re ve y ain aren couldn didn doesn hadn hasn haven isn ma
    mightn mustn needn shan shouldn wasn weren won wouldn
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""The stop words of NLTK's English list, as the words between its apostrophes."""
_IDEOGRAPHS: Final = "\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_STEMMER = snowballstemmer.stemmer("english")
_REMEMBERED: Final = 65_536
"""Words whose stems are remembered. They are forgotten together when there are more."""


class _Stems(dict[str, str]):
    """The stem of each word that was looked up; nothing for a common word. A lookup costs no call in Python."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = found = "" if word in STOP_WORDS else str(_STEMMER.stemWord(word))
        return found


_STEMS: Final = _Stems()


def plain_words(text: str) -> list[str]:
    """Return all words of a text, in lower case."""
    return WORD.findall(text.lower())


def words(text: str) -> list[str]:
    """Return the words of a text that are not common, in lower case, as stems."""
    return list(filter(None, map(_STEMS.__getitem__, WORD.findall(text.lower()))))


def indexed_words(text: str) -> str:
    """Return all words of a text as stems: what an index has of it."""
    return " ".join(map(stem, plain_words(text)))


def searched_words(text: str) -> str:
    """Return the words by which an index is searched for a text; the common ones if it has no others."""
    return " ".join(dict.fromkeys(words(text))) or indexed_words(text)


def stem(word: str) -> str:
    """Return the stem of a word in lower case (Snowball, English)."""
    return _STEMS[word] or str(_STEMMER.stemWord(word))
