# The image of inkube: non-root, read-only root, data in /data, about 100 MB.
#
#   docker build -t inkube .
#   docker buildx build --platform linux/amd64,linux/arm64 -t inkube .
#
# docs/howto/container.md shows how to run it.
ARG BUILD_IMAGE=python:3.11-slim-bookworm
ARG RUN_IMAGE=gcr.io/distroless/python3-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
ARG EXTRAS=speed,postgresql
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY apiserver apiserver
COPY controllers controllers
COPY schemas schemas
COPY storage storage
COPY examples examples
RUN python -m pip install --no-cache-dir --no-compile --target /opt/inkube ".[${EXTRAS}]"
COPY deploy/slim.py deploy/container.py deploy/healthcheck.py deploy/
RUN python deploy/slim.py /opt/inkube
RUN mkdir -p /opt/data && cp deploy/container.py deploy/healthcheck.py /opt/inkube/

FROM ${RUN_IMAGE}
COPY --from=build /opt/inkube /opt/inkube
COPY --from=build --chown=65532:65532 /opt/data /data
ENV PYTHONPATH=/opt/inkube PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TMPDIR=/data INKUBE_DATA=/data
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8001
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/bin/python3", "/opt/inkube/healthcheck.py"]
ENTRYPOINT ["/usr/bin/python3", "/opt/inkube/container.py"]
CMD ["--tls"]
