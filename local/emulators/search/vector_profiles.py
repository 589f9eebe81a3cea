"""The `vectorSearch` part of an index definition.

Every profile is searched exactly, whatever its algorithm: with `hnsw` Azure may miss a neighbour, the emulator does
not. Of the metrics only cosine has a documented score, so only cosine is accepted.
"""

from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_request, not_supported

_PARAMETERS: Final = {
    "hnsw": ("hnswParameters", {"m": (4, 10), "efConstruction": (100, 1000), "efSearch": (100, 1000)}),
    "exhaustiveKnn": ("exhaustiveKnnParameters", {}),
}
_METRICS: Final = {"cosine", "euclidean", "dotProduct", "hamming"}


def check_vector_search(body: object) -> set[str]:
    """Return the names of the profiles. Raises SearchError: 400 for a wrong definition, 501 for what is lacking."""
    if body is None:
        return set()
    if not isinstance(body, dict):
        raise _invalid("The property 'vectorSearch' must be an object.")
    for member, value in body.items():
        if member not in ("profiles", "algorithms", "vectorizers", "compressions"):
            raise _unknown(member, "VectorSearch")
        if member in ("vectorizers", "compressions") and value:
            raise not_supported(f"the property '{member}' of vectorSearch")
    algorithms = {_algorithm(entry) for entry in _entries(body, "algorithms")}
    return {_profile(entry, algorithms) for entry in _entries(body, "profiles")}


def _entries(body: dict[str, Any], member: str) -> list[dict[str, Any]]:
    found = body.get(member) or []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise _invalid(f"The property '{member}' must be a list of objects.")
    names = [entry.get("name") for entry in found]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise _invalid(f"Each entry of '{member}' needs a name of its own.")
    return found


def _algorithm(entry: dict[str, Any]) -> str:
    kind = entry.get("kind")
    if kind not in _PARAMETERS:
        raise _invalid(f"Unknown vector search algorithm kind '{kind}'.")
    member, ranges = _PARAMETERS[kind]
    for unknown in set(entry) - {"name", "kind", member}:
        raise _unknown(unknown, "VectorSearchAlgorithmConfiguration")
    parameters = entry.get(member) or {}
    if not isinstance(parameters, dict):
        raise _invalid(f"The property '{member}' must be an object.")
    for name, value in parameters.items():
        _check_parameter(name, value, ranges)
    return str(entry["name"])


def _check_parameter(name: str, value: object, ranges: dict[str, tuple[int, int]]) -> None:
    if value is None:
        return
    if name == "metric":
        if value not in _METRICS:
            raise _invalid(f"Unknown metric '{value}'.")
        if value != "cosine":
            raise not_supported(f"the vector metric '{value}'")
    elif name not in ranges:
        raise _unknown(name, "VectorSearchAlgorithmParameters")
    else:
        low, high = ranges[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _invalid(f"The parameter '{name}' must be between {low} and {high}.")


def _profile(entry: dict[str, Any], algorithms: set[str]) -> str:
    for member, value in entry.items():
        if member not in ("name", "algorithm", "vectorizer", "compression"):
            raise _unknown(member, "VectorSearchProfile")
        if member in ("vectorizer", "compression") and value is not None:
            raise not_supported(f"the property '{member}' of a vector search profile")
    if entry.get("algorithm") not in algorithms:
        raise _invalid(
            f"The profile '{entry['name']}' uses a vector search algorithm configuration '{entry.get('algorithm')}' "
            "which is not defined."
        )
    return str(entry["name"])


def _invalid(message: str) -> SearchError:
    return bad_request(f"The request is invalid. Details: definition : {message}")


def _unknown(member: str, type_name: str) -> SearchError:
    return bad_request(
        f"The request is invalid. Details: The property '{member}' does not exist on type 'search.{type_name}'. "
        "Make sure to only use property names that are defined by the type."
    )
