# rothko in an image: locked packages, kernels compiled in the build, no root, nothing written outside of mounts and /tmp.
#   docker build -t rothko .
#   docker run --rm --read-only --tmpfs /tmp --user "$(id -u)" -v "$PWD:/data" rothko anonymize people.csv --policy policy.yaml --out release
FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements.lock ./
RUN python -m venv /opt/rothko && /opt/rothko/bin/pip install --no-cache-dir -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/rothko/bin/pip install --no-cache-dir --no-deps .
# Compiled for the processor that builds; on another kind it is compiled anew, below /tmp.
ARG METHODS="--method mondrian --method cluster --method hilbert --method refine"
RUN /opt/rothko/bin/rothko warm $METHODS

FROM python:3.12-slim
COPY --from=build /opt/rothko /opt/rothko
ENV PATH=/opt/rothko/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["rothko"]
CMD ["--help"]
