# Stand-in for prom/prometheus: Debian's.
FROM mintlake-standin-base
RUN install -d -o nobody -g nogroup /prometheus && ln -s /usr/bin/prometheus /bin/prometheus 2>/dev/null || true
USER nobody
WORKDIR /prometheus
VOLUME /prometheus
EXPOSE 9090
LABEL mintlake.standin=prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
