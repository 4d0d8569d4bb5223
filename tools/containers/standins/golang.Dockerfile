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
# With the Dockerfile's flags. A build of the product then compiles its own packages only, whenever it is repeated.
COPY compile /compile
RUN cd /compile && xargs go build -trimpath -buildvcs=false <packages && rm -r /compile
LABEL mintlake.standin=golang
