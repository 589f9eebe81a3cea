# The emulators that Microsoft does not provide, one process per container: search, key vault, token issuer. For
# development only: they protect no secret. Built from the root of the repository:
#   docker build -f docker/emulators.Dockerfile -t memnet-emulators .
# Tags are for readers; the digest decides.

FROM python:3.13.14-slim-bookworm@sha256:9d7f287598e1a5a978c015ee176d8216435aaf335ed69ac3c38dd1bbb10e8d64 AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY docker/emulators.lock /build/emulators.lock
# Wheels only: nothing is compiled, here or later.
RUN python -m venv /opt/memnet \
    && /opt/memnet/bin/python -m pip install --no-deps --only-binary=:all: --require-hashes -r /build/emulators.lock

FROM python:3.13.14-slim-bookworm@sha256:9d7f287598e1a5a978c015ee176d8216435aaf335ed69ac3c38dd1bbb10e8d64
ENV PATH=/opt/memnet/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1
WORKDIR /app
COPY --from=packages /opt/memnet /opt/memnet
COPY local/__init__.py local/
COPY local/emulators/__init__.py local/emulators/issuer.py local/emulators/serving.py local/emulators/
COPY local/emulators/key_vault local/emulators/key_vault
COPY local/emulators/search local/emulators/search
# A new volume that is mounted here gets this owner.
RUN python -m compileall -q local && mkdir /data && chown 10001:10001 /data
USER 10001:10001
STOPSIGNAL SIGTERM
# Each service has its own health check in compose.yaml.
HEALTHCHECK NONE
ENTRYPOINT ["python", "-m"]
CMD ["local.emulators.search", "--port", "7272", "--data", "/data"]
