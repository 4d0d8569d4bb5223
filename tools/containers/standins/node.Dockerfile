# Stand-in for node:20-bookworm-slim: this machine's Node with npm, and what the explorer's build
# fetches in npm's cache.
FROM mintlake-standin-libchdb
COPY bin/node /usr/local/bin/
COPY lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
COPY npm /npm
ENV npm_config_cache=/npm npm_config_offline=true
LABEL mintlake.standin=node
