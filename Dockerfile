# Two images of Mintlake:
#   docker build -t mintlake .                  everything, with the embedded ClickHouse engine (libchdb): for `mintlake up`
#   docker build -t mintlake --target rooms .   without it: for rooms beside a ClickHouse server, as in docker-compose.yml
# docs/containers.md tells their sizes, and how they run with a read-only root file system.

# The pages that the binary embeds.
FROM node:20-bookworm-slim AS web
WORKDIR /src/web/explorer
COPY web/explorer/package.json web/explorer/package-lock.json web/explorer/.npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY schemas/openapi/openapi.yaml schemas/openapi/swap.yaml /src/schemas/openapi/
COPY docs /src/docs
COPY web/explorer ./
RUN npm run build

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY third_party third_party
RUN go mod download
COPY . .
COPY --from=web /src/web/dist web/dist
ARG VERSION=""
ARG COMMIT=""
ARG DATE=""
RUN go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.version=${VERSION#v} -X main.commit=$COMMIT -X main.date=$DATE" \
      -o /out/mintlake ./cmd/mintlake

# npm delivers libchdb; the script pins its version and checks its hashes.
FROM node:20-bookworm-slim AS libchdb
COPY tools/deps/libchdb.sh /usr/local/bin/
RUN MINTLAKE_CACHE_DIR=/cache libchdb.sh && mv "$(MINTLAKE_CACHE_DIR=/cache libchdb.sh --path)" /libchdb.so

FROM debian:bookworm-slim AS rooms
RUN groupadd --system --gid 10001 mintlake \
 && useradd --system --uid 10001 --gid mintlake --home-dir /var/lib/mintlake --shell /usr/sbin/nologin mintlake \
 && install -d -o mintlake -g mintlake -m 0750 /var/lib/mintlake
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/LICENSE /src/NOTICE /usr/share/doc/mintlake/
COPY --from=build /out/mintlake /usr/local/bin/
ARG VERSION=""
ARG COMMIT=""
ARG DATE=""
LABEL org.opencontainers.image.title="Mintlake" \
      org.opencontainers.image.description="A self-hostable registry of every fungible token on Solana" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT" \
      org.opencontainers.image.created="$DATE"
# In a container, what is published decides who reaches a port. The embedded engines stay on the container's loopback.
ENV MINTLAKE_DATA_DIR=/var/lib/mintlake \
    MINTLAKE_API_ADDR=0.0.0.0:8080 \
    MINTLAKE_SWAP_ADDR=0.0.0.0:8081 \
    MINTLAKE_RPC_ADDR=0.0.0.0:8899 \
    MINTLAKE_STREAM_ADDR=0.0.0.0:10000 \
    MINTLAKE_METRICS_ADDR=0.0.0.0:9600
USER 10001:10001
VOLUME /var/lib/mintlake
EXPOSE 8080 8081 8899 8900 10000 9600
# The default asks whether the process runs; rooms that serve have /readyz, see docker-compose.yml.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 CMD ["mintlake", "probe"]
ENTRYPOINT ["mintlake"]
CMD ["up"]

FROM rooms AS engine
COPY --from=libchdb /libchdb.so /usr/local/lib/mintlake/
# Without keys gateway and swap API serve loopback only, and `mintlake up` runs both:
# docs/containers.md tells how they are opened.
ENV MINTLAKE_LIBCHDB=/usr/local/lib/mintlake/libchdb.so \
    MINTLAKE_SWAP_ADDR=127.0.0.1:8081 \
    MINTLAKE_RPC_ADDR=127.0.0.1:8899 \
    MINTLAKE_STREAM_ADDR=127.0.0.1:10000
