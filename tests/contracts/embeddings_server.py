"""An HTTP server that speaks OpenAI's "Create embeddings", with vectors made of the words of a text."""

import base64
import math
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aiohttp import web


@dataclass
class EmbeddingsServer:
    """`asked` has the body of every request, `keys` what each was authorized with."""

    shortens: bool = True
    """Whether the model takes `dimensions`; one that does not has its own number of them and answers 400."""
    own_dimensions: int = 1536
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """One vector per text; in any order, as `index` says which is which."""
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers["Authorization"])
        if "" in body["input"]:
            return _refusal("'$.input' is invalid.")
        if "dimensions" in body and not self.shortens:
            return _refusal("This model does not support specifying dimensions.")
        dimensions = body.get("dimensions", self.own_dimensions)
        rows = [
            {"object": "embedding", "index": index, "embedding": _encoded(vector(text, dimensions), body)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": len(rows), "total_tokens": len(rows)}
        return web.json_response({"object": "list", "data": rows[::-1], "model": body["model"], "usage": usage})


def _refusal(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=400)


def vector(text: str, dimensions: int) -> list[float]:
    """Texts with words in common are near each other."""
    numbers = [0.0] * dimensions
    for word in text.lower().split():
        numbers[int.from_bytes(sha256(word.encode()).digest()[:4], "big") % dimensions] += 1.0
    length = math.hypot(*numbers) or 1.0
    return [number / length for number in numbers]


def _encoded(numbers: list[float], body: dict[str, Any]) -> str | list[float]:
    if body.get("encoding_format") == "base64":
        return base64.b64encode(array("f", numbers).tobytes()).decode()
    return numbers


@asynccontextmanager
async def embeddings_server(**options: Any) -> AsyncIterator[EmbeddingsServer]:
    """Serve on a free port; `url` is the base URL of the API."""
    server = EmbeddingsServer(**options)
    app = web.Application()
    app.router.add_post("/v1/embeddings", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
    finally:
        await runner.cleanup()
