// Package kit runs the suites that speak to Kafka, ClickHouse and Redis against servers in
// containers: make test-containers.
//
// In: DOCKER_HOST, and images of the names that docker-compose.yml has: the official ones or the
// stand-ins of tools/containers/images.sh.
// Out: the suites of the main module, run by `go test` with the environment variables that point
// them at containers.
// Guarantees: every container and network is removed at the end, also after a failure. A suite in
// which no container ran, or no test, fails.
//
// testcontainers-go brings some fifty modules, most of all a Docker client. This module keeps them
// out of the product's own go.mod. So the suites ask the kit for containers over HTTP: see
// internal/testkit/containers.
package kit
