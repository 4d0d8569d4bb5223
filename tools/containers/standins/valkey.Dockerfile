# Stand-in for valkey/valkey: Debian's Redis, by Valkey's names.
FROM mintlake-standin-base
RUN ln -s /usr/bin/redis-server /usr/local/bin/valkey-server && ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli && install -d -o redis /data
USER redis
WORKDIR /data
VOLUME /data
EXPOSE 6379
LABEL mintlake.standin=valkey
CMD ["valkey-server", "--protected-mode", "no"]
