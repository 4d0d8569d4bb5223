# Every target installs what it needs first. `make help` lists them.

GO      ?= go
BIN     := bin/mintlake
# The linter has a module of its own, so that its libraries do not weigh on ours.
LINT    := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME ?= 10s
# Tests whose minutes say nothing of the broker: make test has them.
BROKER_BLIND := TestLogosOfManyMints|TestKillsOfABulkLoadChangeNothing|TestErrorsSayWhatWhereAndWhatToDo|TestSearchGoesOnWithoutBackends|TestVolumesOfRealBlocks|TestOneRootWhateverTheWay

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

.PHONY: deps
deps: ## Install what the binary needs besides Go: libchdb, into the user's cache folder
	@tools/deps/libchdb.sh

.PHONY: build
build: ## Build bin/mintlake
	$(GO) build -o $(BIN) ./cmd/mintlake

.PHONY: run
run: deps build ## Run the whole system on this machine with the demo chain; Ctrl-C stops it
	@$(BIN) up --data-dir .mintlake --source 'demo:?tps=100&tokens=500' $(ARGS)

.PHONY: test
test: deps ## Run every test that must pass
	$(GO) test -race -timeout 20m ./...

.PHONY: test-kafka
test-kafka: deps ## Run the tests that speak Kafka against Apache Kafka itself (needs Java and Maven)
	tools/kafka/install.sh
	MINTLAKE_TEST_KAFKA=apache $(GO) test -count=1 -timeout 20m -skip '$(BROKER_BLIND)' ./internal/kafka/... ./e2e/...

.PHONY: test-openapi
test-openapi: ## Hold a live API node to the OpenAPI document with Schemathesis (needs Python with pip)
	@GO="$(GO)" tools/schemathesis/run.sh $(ARGS)

.PHONY: lint
lint: ## Check style and common mistakes
	$(GO) vet ./...
	$(LINT) run ./...

.PHONY: fuzz
fuzz: ## Fuzz every parser of outside bytes, FUZZTIME each (default 10s)
	@tools/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: deps ## Print benchmark figures
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-bootstrap
bench-bootstrap: deps ## Fill an empty registry with 2,000,000 mints from a simulated node, export and import it; print times and memory
	$(GO) test -run '^$$' -bench '^BenchmarkBootstrap$$' -benchtime 1x -timeout 60m ./e2e

.PHONY: bench-api
bench-api: deps ## Measure the search index against PostgreSQL 15, ClickHouse and Bleve over 2,000,000 tokens (ARGS='-tokens 100000 -peers bleve')
	cd tools/bench-api && $(GO) run . -lists ../../../shared/data/tokenlists $(ARGS)

.PHONY: bench-memory
bench-memory: deps build ## Measure what an API node takes and how soon it is ready over 2 and 5 million tokens (ARGS='--tokens 10000000')
	$(GO) build -o bin/memorybench ./tools/memorybench
	@bin/memorybench --mintlake $(BIN) $(ARGS)

.PHONY: bench-http
bench-http: ## Measure an API node over HTTP, and what hostile clients do to others (ARGS: --tokens, --seconds, --only, --check)
	$(GO) build -o bin/apiserver ./tools/apiserver
	$(GO) build -o bin/bench-http ./tools/bench-http
	@bin/bench-http --server bin/apiserver $(ARGS)

.PHONY: bench-swaps
bench-swaps: deps ## Store swap legs from blocks and by way of Kafka, value them, refresh the daily volumes of 100,000 mints; print legs a second and bytes a leg
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkSwapsFromBlocks' -benchtime 1x -timeout 30m ./e2e
	GOMAXPROCS=2 $(GO) test -run '^$$' -bench '^BenchmarkSwap' -benchtime 1x -timeout 30m -v ./volume

.PHONY: bench-img
bench-img: ## Compare GET /img with nginx and libvips (installs Debian's nginx, wrk and libvips-tools)
	@tools/benchimg/run.sh $(ARGS)

.PHONY: gen
gen: ## Regenerate generated files
	$(GO) run ./tools/protogen schemas events/v1/events.proto
	cd tools/svm-fixtures && npm ci --silent && npm run --silent gen

.PHONY: clean
clean: ## Remove what was built; data in .mintlake stays
	rm -rf bin
