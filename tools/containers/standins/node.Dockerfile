# Stand-in for node:20-bookworm-slim: an npm that has one package, the one that this machine has fetched before.
FROM debian:bookworm-slim
COPY libchdb /cache/libchdb
LABEL mintlake.standin=node
