# Every target installs what it needs first. `make help` lists them.

GO      ?= go
# Without its path in what is built, a fresh clone in another folder takes what Go's build cache has.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath
BIN     := bin/mintlake
# The linter has a module of its own, so that its libraries do not weigh on ours.
LINT    := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME ?= 10s
# The end-to-end tests to which a broker of another kind matters. A test of internal/architecture holds the list to tests that use it.
BROKER_TESTS := TestRoomsOverThreeBrokers|TestScaleOut|TestStandby|TestKillsChangeNothing|TestARestartGoesOn|TestTheTablesComeBackFromTheLog|TestThreeWaysToOneRegistry|TestRealBlocksEqualTheGoldens|TestBackupOfAClusterWithTheEmbeddedClickHouse|TestGatewayFaults

# Where benchmark programs write their figures as JSON.
export BENCH_OUT ?= $(CURDIR)/bin/bench

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

.PHONY: deps
deps: ## Install what the binary needs besides Go: libchdb, into the user's cache folder
	@tools/deps/libchdb.sh

.PHONY: build
build: web ## Build bin/mintlake
	@echo "make: compiling $(BIN), which takes minutes the first time and seconds later"
	@$(GO) build -o $(BIN) ./cmd/mintlake

# Built once for each change. `go build` alone works without: the binary then has a placeholder in place of the explorer.
.PHONY: web
web: web/dist/index.html ## Build the explorer into web/dist, which the binary embeds (needs Node with npm)

EXPLORER := $(shell find web/explorer -name node_modules -prune -o -type f ! -name '*.d.ts' -print)
web/dist/index.html: web/explorer/node_modules/.package-lock.json $(EXPLORER) schemas/openapi/openapi.yaml schemas/openapi/swap.yaml $(wildcard docs/*.md)
	@echo "make: building the explorer's pages"
	@cd web/explorer && npm run --silent build

web/explorer/node_modules/.package-lock.json: web/explorer/package-lock.json
	@echo "make: fetching the libraries of the explorer's pages, once"
	@cd web/explorer && ../../tools/retry.sh npm ci --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error

.PHONY: run
run: deps build ## Run the whole system on this machine with the demo chain; Ctrl-C stops it
	@echo "make: starting Mintlake; when everything serves, its addresses follow"
	@$(BIN) up --data-dir .mintlake --source 'demo:?tps=100&tokens=500' $(ARGS)

# Runs suites of tools/suites/table/suites.yaml.
RUN_SUITES = @GO="$(GO)" $(GO) run ./tools/suites

.PHONY: test
test: deps ## Run what a change needs: unit and component tests, and nine tests of whole nodes
	$(RUN_SUITES) test

.PHONY: test-gate
test-gate: deps ## Run the suites of .ci/run, which also installs what they need (ONLY=a,b, FAILED=1 as below)
	$(RUN_SUITES) gate

.PHONY: test-all
test-all: deps ## Run every suite that there is, each with its own verdict (ONLY=a,b: these; FAILED=1: those that have not passed at this commit); hours
	$(RUN_SUITES) all

.PHONY: test-rounds
test-rounds: deps ## Repeat what is random as often as it takes to find what is rare: kills, deliveries, draws that ask ClickHouse (an hour)
	$(RUN_SUITES) run rounds

.PHONY: test-flaky
test-flaky: deps ## Repeat the twenty tests that wait or sleep most, 100 times or for 20 minutes each, on a busy machine (ARGS='-count 10 -run TestPool ./gateway/...'); hours
	@$(GO) run ./tools/flaky $(ARGS)

.PHONY: check
check: ## Check formatting and lint, and run the tests that need no engine
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	$(MAKE) --no-print-directory lint
	$(GO) test -short ./...

.PHONY: test-hostile
test-hostile: deps ## Attack a running system through every port, and damage 200 places of its data (MINTLAKE_TEST_HOSTILE_RANGE=40-80: these only); .ci/run runs a bounded form
	MINTLAKE_TEST_HOSTILE=full $(GO) test -count=1 -timeout 3h -v -run '^TestHostile' ./e2e

.PHONY: test-schedules
test-schedules: deps ## Run random schedules of faults on whole nodes (SEED=1 FIRST=0 N=200 FAULTS=all, or portable, or names; all needs root, strace and some minutes to build)
	$(GO) test -count=1 -vet=off -timeout 0 -v -run '^TestSchedules$$' ./e2e -args -schedules.seed=$(or $(SEED),1) -schedules.first=$(or $(FIRST),0) \
		-schedules.n=$(or $(N),200) -schedules.faults=$(or $(FAULTS),all)

.PHONY: test-documents
test-documents: ## Read 200,000 off-chain documents of 200 hosts over real sockets, and print the table by host (N=200000)
	$(GO) test -count=1 -vet=off -timeout 1h -v -run '^TestDocumentsOverSockets$$' ./bootstrap/documents -args -documents.sockets=$(or $(N),200000)

.PHONY: test-simulations
test-simulations: ## Run thousands of simulated schedules: ingest, enrich and the projector over a log and tables in memory, on a simulated clock
	MINTLAKE_TEST_ROUNDS=full $(GO) test -count=1 -vet=off -timeout 2h -run '^(TestWhatever|TestTheNodeAlone|TestKilledAtRandom)' ./ingest/simulation ./enrich ./projector

.PHONY: test-programs
test-programs: ## Run random swaps made by our own builder on the venues' programs in LiteSVM, three builds (SWAPS=4000 each, an eighth of each sort of route; needs cargo and Node), and exchange a build in the middle of trading
	MINTLAKE_TEST_PROGRAMS=$(or $(SWAPS),4000) $(GO) test -count=1 -timeout 60m -v -run '^Test(Programs|RedeployedPrograms|ExecutedRoutes|ExecutedChains)$$' ./swap/venue/all ./swap

.PHONY: test-swaps
test-swaps: deps ## Quote, sign and submit many swaps on the demo chain (SWAPS=10000): each pays what it promised, and nothing is stranded
	MINTLAKE_TEST_SWAPS=$(or $(SWAPS),10000) $(GO) test -count=1 -timeout 5h -v -run '^TestSwapsEndToEnd$$' ./e2e

.PHONY: test-week
test-week: deps ## Hold preflight to what it said of calls, documents and disk, on the demo chain at 20 times its speed (WEEK=20m; a whole week is 8h24m)
	MINTLAKE_TEST_WEEK=$(or $(WEEK),20m) $(GO) test -count=1 -vet=off -timeout 12h -v -run '^TestAWeekInFastMotion$$' ./e2e

.PHONY: test-properties
test-properties: ## Check what each venue must keep to, on 100,000 drawn pools each, and the routes of 1,000 trades against an exhaustive search
	$(GO) test -count=1 -timeout 60m -run '^TestProperties$$' $$($(GO) list ./swap/venue/... | grep -v '/\(all\|arith\|pumpfees\|venue\)$$') -rapid.checks=100000
	MINTLAKE_TEST_ROUTES=1000 $(GO) test -count=1 -timeout 60m -v -run '^TestPlansAre' ./swap/router

.PHONY: test-kafka
test-kafka: deps ## Run the tests that speak Kafka against Apache Kafka itself (needs Java and Maven)
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache $(GO) test -count=1 -vet=off -timeout 40m ./internal/kafka/...
	MINTLAKE_TEST_KAFKA=apache $(GO) test -count=1 -vet=off -timeout 40m -run '^($(BROKER_TESTS))$$' ./e2e

.PHONY: test-observe
test-observe: deps ## Fire each alert, and run every query of the dashboards and every command of the runbooks against a demo (installs Debian's prometheus)
	tools/observe/install.sh
	$(GO) test -count=1 -timeout 10m -run '^TestAlerts' ./internal/architecture
	$(GO) test -count=1 -timeout 20m -run '^TestObserve$$' ./e2e

.PHONY: drill-disk-full
drill-disk-full: deps ## Fill the disk of a running node, make room, and compare its tables with its log; takes a minute, and root for a mount
	$(RUN_SUITES) run disk-full

.PHONY: drill-partitions
drill-partitions: deps ## Move running rooms from 4 to 8 partitions over Apache Kafka, by the commands of docs/operations.md (needs Java and Maven)
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache $(GO) test -count=1 -timeout 20m -v -run '^TestDrillPartitions$$' ./e2e

.PHONY: test-scaleout
test-scaleout: deps ## Kill, freeze, stop and add members of rooms under load, 25 times, over Apache Kafka (needs Java and Maven)
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache MINTLAKE_TEST_SCALEOUT=full $(GO) test -count=1 -timeout 40m -v -run '^(TestStandby|TestScaleOut)$$' ./e2e

.PHONY: test-gateway-faults
test-gateway-faults: deps ## Kill gateway, broker and ingest 50 times while 100 clients of the stream come back, over Apache Kafka (needs Java and Maven)
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache MINTLAKE_TEST_GATEWAY_FAULTS=full $(GO) test -count=1 -timeout 60m -v -run '^TestGatewayFaults$$' ./e2e

.PHONY: test-openapi
test-openapi: ## Hold a live API node and a live swap API to their OpenAPI documents with Schemathesis (needs Python with pip)
	@GO="$(GO)" tools/schemathesis/run.sh $(ARGS)

.PHONY: test-clients
test-clients: deps ## Run unchanged client libraries of others against the whole system (SUITES=clickhouse; needs Python, Node and Java with Maven)
	@GO="$(GO)" tools/clients/run.sh

.PHONY: test-transactions
test-transactions: ## Hold our reader of transactions to Solana's own, over random and damaged ones (needs Python with pip; CRATE=1: to the Rust crates too, SEEDS='1 2 3')
	@GO="$(GO)" CRATE="$(CRATE)" SEEDS="$(SEEDS)" tools/txoracle/run.sh

.PHONY: test-typescript
test-typescript: ## Test the TypeScript client, the example of its README among it (needs Node with npm)
	cd clients/typescript && ../../tools/retry.sh npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm test --silent

.PHONY: test-web
test-web: deps build ## Look at the explorer in Debian's Chromium, over a running demo (needs Node with npm; PICTURES=docs/images writes the pictures of the docs, PAYLOADS=few has a third of the hostile tokens)
	@GO="$(GO)" PAYLOADS=$(PAYLOADS) tools/web/run.sh $(ARGS)

.PHONY: bench-web
bench-web: deps build ## Measure the wait for the first page and the first result of a search, as it is and with the processor slowed four times
	@GO="$(GO)" tools/web/run.sh bench

.PHONY: test-newcomer
test-newcomer: ## Do what README.md tells a newcomer: a fresh clone, its commands as written, the pages in a browser, Ctrl-C (needs Node, Python and the README's ports)
	@tools/newcomer/run.py $(ARGS)

.PHONY: test-dashboard
test-dashboard: deps build ## Drive the dashboard of a node over the demo chain in headless Chromium (needs Node and Debian's chromium); screenshots in bin/dashboard
	@GO="$(GO)" tools/dashboard/run.sh

.PHONY: compose-config
compose-config: ## Hold docker-compose.yml and .env.example to Docker Compose's rules (built from its Go module; needs no engine)
	@GO="$(GO)" tools/containers/config.sh

.PHONY: test-images
test-images: deps ## Build both images of the Dockerfile and start each as docs/containers.md says (IMAGES=standins|official); exit 2 without an engine
	@GO="$(GO)" tools/containers/test-images.sh

.PHONY: test-compose
test-compose: deps ## Bring the whole system up by docker-compose.yml, ask what the README asks, take it down (IMAGES=standins|official); exit 2 without an engine
	@GO="$(GO)" tools/containers/test-compose.sh

.PHONY: test-containers
test-containers: deps ## Run the Kafka, ClickHouse and Redis suites and the rooms end to end against containers (ARGS='-run TestKafka'); exit 2 without an engine
	@GO="$(GO)" tools/containers/test-containers.sh $(ARGS)

.PHONY: lint
lint: ## Check style and common mistakes
	$(GO) vet -C bench ./...
	$(LINT) run --allow-serial-runners ./...
	for module in soak imagesbom protogen; do (cd tools/$$module && $(GO) tool -modfile=../lint/go.mod golangci-lint run --allow-serial-runners ./...) || exit 1; done

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the code calls (asks Go's vulnerability database)
	$(GO) tool -modfile=tools/lint/go.mod govulncheck ./...

# The modules of ours with code of their own, and the npm packages that are shipped or that pages are tested with.
.PHONY: update
update: ## Update dependencies within their major versions, and what is generated from them
	for module in . bench tools/soak tools/imagesbom tools/protogen; do $(GO) -C $$module get -u -t ./... && $(GO) -C $$module mod tidy || exit 1; done
	for folder in web/explorer clients/typescript tools/web tools/dashboard; do npm --prefix $$folder update --ignore-scripts --no-audit --no-fund || exit 1; done
	$(MAKE) --no-print-directory gen

.PHONY: fuzz
fuzz: ## Fuzz every parser of outside bytes, FUZZTIME each (default 10s)
	@tools/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: deps ## Print benchmark figures
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-against
bench-against: deps ## Run a benchmark of today and of REV in turns, print the ratios (REV=0.2.0 ARGS='--target bench-http'; --binary: today's end-to-end benchmark for REV's program)
	@tools/against/run.py $(REV) $(ARGS)

.PHONY: bench-bootstrap
bench-bootstrap: deps ## Fill an empty registry with 2,000,000 mints from a simulated node, export and import it; print times and memory
	$(GO) test -run '^$$' -bench '^BenchmarkBootstrap$$' -benchtime 1x -timeout 60m ./e2e

.PHONY: bench-snapshot
bench-snapshot: ## Read a made-up validator's snapshot with and without hashes, beside zstd and tar (ARGS='-accounts 10000000')
	$(GO) test -run '^$$' -bench '^BenchmarkSnapshot$$' -benchtime 1x -timeout 60m ./bootstrap/validator $(ARGS)

.PHONY: bench-api
bench-api: deps ## Measure the search index against PostgreSQL 15, ClickHouse and Bleve over 2,000,000 tokens (ARGS='-tokens 100000 -peers bleve')
	$(GO) run -C bench ./api -lists ../../shared/data/tokenlists $(ARGS)

.PHONY: bench-memory
bench-memory: deps build ## Measure what an API node takes and how soon it is ready, first and from its checkpoint, over 2 and 5 million tokens (MILLIONS=30; ARGS='--phase 5s')
	$(GO) build -C bench -o ../bin/bench-memory ./memory
	@bin/bench-memory --mintlake $(BIN) $(if $(MILLIONS),--tokens $(MILLIONS)000000) $(ARGS)

.PHONY: bench-http
bench-http: ## Measure an API node over HTTP, and what hostile clients do to others (ARGS: --tokens, --seconds, --only, --check)
	$(GO) build -C bench -o ../bin/bench-server ./server
	$(GO) build -C bench -o ../bin/bench-http ./http
	@bin/bench-http --server bin/bench-server $(ARGS)

.PHONY: bench-gateway
bench-gateway: deps ## Measure the gateway against its peers: stream fan-out, idle clients, replay, latency beside direct Geyser, reads, filter engine (ONLY=fanout|idle|replay|latency|reads|engine; the engine's peer needs cargo, that of reads Debian's nginx)
	@ONLY="$(ONLY)" bench/gateway/run.sh $(if $(ONLY),$(ARGS))

.PHONY: bench-market
bench-market: deps ## Compare the market of 1,000 tokens at 100 moments with a walk over all legs, and batches with market=true with plain ones
	$(GO) test -run '^$$' -bench '^BenchmarkMarketEqualsBruteForce$$' -benchtime 1x -timeout 30m ./volume
	MINTLAKE_MARKET_FULL=1 $(GO) test -run '^(TestTheMarketEqualsLoopsOverRealLegs|TestAttacksGetNoMarketCap)$$' -count 1 -v -timeout 3h ./e2e/market
	$(GO) test -run '^$$' -bench 'BenchmarkRoutes/batch' ./api

.PHONY: bench-trades
bench-trades: deps build ## Measure how late trades reach 500 streams of one mint each at 1,500 transactions a second, beside direct reading of blocks (ARGS='--tps 500 --streams 100 --duration 20s')
	$(GO) build -C bench -o ../bin/bench-trades ./trades
	@bin/bench-trades --mintlake $(BIN) $(ARGS)

.PHONY: bench-swap
bench-swap: ## Measure the swap room against its peers (ONLY=division,sdk,memory,windows,route,update,http,latency,restart,cold; sdk needs Node and installs the venues' SDKs into bin/)
	$(GO) build -C bench -o ../bin/bench-swap ./swap
	@cd bench && ../bin/bench-swap $(if $(ONLY),-only "$(ONLY)") $(ARGS)

.PHONY: bench-swaps
bench-swaps: deps ## Store swap legs from blocks and by way of Kafka, value them, refresh the daily volumes of 100,000 mints; print legs a second and bytes a leg
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkSwapsFromBlocks' -benchtime 1x -timeout 30m ./e2e
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkSwap' -benchtime 1x -timeout 30m -v ./volume

.PHONY: bench-balances
bench-balances: deps ## Ask for the holders of a mint with 1,000,000 of them and 10,000,000 changes, now and at a slot, beside PostgreSQL 15 (ARGS='-holders 100000 -changes 1000000')
	$(GO) run -C bench ./balances $(ARGS)

.PHONY: bench-analytics
bench-analytics: deps ## Ask the questions of docs/analytics.md of 2 to 8 million legs, and say what they would read of a billion (ARGS='-analytics-legs 5,10,20,40')
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkAnalytics$$' -benchtime 1x -timeout 2h ./volume $(if $(ARGS),-args $(ARGS))

.PHONY: bench-sizing
bench-sizing: deps ## Print bytes by topic and table, and bytes a day at mainnet's rates (ARGS='-legs 1157 -transactions 1566')
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkSizing$$' -benchtime 1x -timeout 30m ./e2e $(if $(ARGS),-args $(ARGS))

.PHONY: bench-scaleout
bench-scaleout: deps ## Print processor seconds per million of what each room does, lag and partitions with one, two and three projectors, over Apache Kafka
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache $(GO) test -run '^$$' -bench '^Benchmark(ScaleOut|Surfaces)$$' -benchtime 1x -timeout 2h ./e2e $(if $(ARGS),-args $(ARGS))

.PHONY: bench-img
bench-img: ## Compare GET /img with nginx and libvips (installs Debian's nginx, wrk and libvips-tools)
	@bench/img/run.sh $(ARGS)

DURATION ?= 1h
TPS      ?= 1500
.PHONY: soak
soak: deps build ## Run every room for DURATION (1h) at TPS (1500) of the demo chain; fail at stalls, lags that stay, growth; plot in bin/soak
	cd tools/soak && $(GO) build -o ../../bin/soaktool .
	@bin/soaktool -mintlake $(BIN) -out bin/soak -duration $(DURATION) -tps $(TPS) $(ARGS)

.PHONY: gen
gen: ## Regenerate generated files
	$(GO) build -C tools/protogen -o ../../bin/protogen .
	bin/protogen proto mintlake/events/v1/events.proto
	bin/protogen -module github.com/rpcpool/yellowstone-grpc/examples/golang -to third_party/yellowstone-grpc -grpc \
		third_party/yellowstone-grpc solana-storage.proto geyser.proto
	tools/deps/libchdb.sh --pin >embedded/clickhouse/libchdb.pin
	$(GO) tool -modfile=tools/clientgen/go.mod oapi-codegen -config tools/clientgen/config.yaml schemas/openapi/openapi.yaml
	cd clients/typescript && ../../tools/retry.sh npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run --silent gen
	$(GO) run ./tools/notice
	cp deploy/alerts/mintlake.yml deploy/helm/mintlake/files/alerts.yml
	$(GO) run ./cmd/mintlake config --page >docs/configuration.md
	$(GO) run ./tools/metricspage
	$(GO) run ./cmd/mintlake config --commands >docs/commands.md
	cd tools/svm-fixtures && ../retry.sh npm ci --silent && npm run --silent gen

.PHONY: test-generated
test-generated: gen ## Regenerate generated files, and fail if one of them is not as it was committed
	git diff --exit-code

.PHONY: notice
notice: ## Write NOTICE: the licences of all that the binary links
	$(GO) run ./tools/notice

.PHONY: release
release: web ## Make dist/: archives, Debian packages, SBOMs and checksums for amd64 and arm64; images where a Docker engine answers (ARCHES=amd64, VERSION=1.2.3)
	@GO="$(GO)" tools/release/release.sh

.PHONY: test-release
test-release: deps web ## Make the release of this machine twice, compare; do with archive and package what docs/install.md says, in a machine of its own; images where a Docker engine can run (needs dpkg)
	@GO="$(GO)" tools/release/test.sh

.PHONY: test-helm
test-helm: ## Hold the Helm chart to helm lint, Kubernetes' schemas and mintlake config (needs Python with pip)
	@GO="$(GO)" tools/helm/test.sh

.PHONY: clean
clean: ## Remove what was built; data in .mintlake stays
	rm -rf bin dist web/dist/* web/explorer/node_modules
