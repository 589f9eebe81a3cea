"""The API's documentation page, served completely by this service."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

ASSETS = "/docs/assets"


class _Assets(StaticFiles):
    """Static files; browsers may cache them and must revalidate."""

    def file_response(self, *arguments: Any, **more: Any) -> Response:
        response = super().file_response(*arguments, **more)
        response.headers["Cache-Control"] = "no-cache"
        return response


def install(app: FastAPI) -> None:
    """Serve /docs with a content security policy that limits the page to this origin."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=f"{app.title} API",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
        swagger_ui_parameters={"validatorUrl": None},
    )
    headers = {"Content-Security-Policy": _policy(bytes(page.body).decode())}

    async def docs(request: Request) -> Response:
        return HTMLResponse(page.body, headers=headers)

    app.add_route("/docs", docs, include_in_schema=False)
    app.mount(ASSETS, _Assets(directory=str(files("fastapi_offline") / "static")), name="docs-assets")


def _policy(page: str) -> str:
    """Allow the page's own files and its inline script, by hash (CSP 3)."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *hashes)),
            "style-src 'self' 'unsafe-inline'",  # Swagger UI sets styles while it runs
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
