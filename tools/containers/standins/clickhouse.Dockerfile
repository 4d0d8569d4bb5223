# Stand-in for clickhouse/clickhouse-server: Mintlake's embedded engine, which listens on loopback only, and a proxy in front of it that
# asks for the user and password of the official image's variables. No part of a server's own users, clusters or native protocol is in it.
FROM debian:bookworm-slim
COPY --from=mintlake-standin-libchdb /cache/libchdb/*/libchdb.so /usr/local/lib/mintlake/
ENV MINTLAKE_LIBCHDB=/usr/local/lib/mintlake/libchdb.so
COPY clickhouse-standin /usr/local/bin/
RUN install -d -o 10001 /var/lib/clickhouse
USER 10001:10001
VOLUME /var/lib/clickhouse
EXPOSE 8123
LABEL mintlake.standin=clickhouse
ENTRYPOINT ["clickhouse-standin"]
