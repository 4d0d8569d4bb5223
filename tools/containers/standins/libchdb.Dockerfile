# The engine's library, which tools/deps/libchdb.sh has fetched and checked, below the cache folder
# of the Dockerfile's stage libchdb.
FROM debian:bookworm-slim
COPY libchdb /cache/libchdb
LABEL mintlake.standin=libchdb
