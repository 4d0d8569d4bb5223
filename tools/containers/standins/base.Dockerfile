# What the stand-ins for official images have in common: programs of Debian in place of the projects' own builds.
FROM debian:bookworm-slim
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      ca-certificates default-jre-headless prometheus redis-server wget >/dev/null \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
LABEL mintlake.standin=base
