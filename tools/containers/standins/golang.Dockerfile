# Stand-in for golang:1.26-bookworm: this machine's Go, its certificates, and the modules that it has fetched.
FROM debian:bookworm-slim
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev ca-certificates >/dev/null \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY go /usr/local/go
COPY modules /modules
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    GOPATH=/go GOPROXY=file:///modules GOSUMDB=off GOTOOLCHAIN=local
LABEL mintlake.standin=golang
