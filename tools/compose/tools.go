//go:build tools

// Package compose pins Docker Compose, which the tests build from its Go module:
// tools/containers/compose.sh. It is a module of its own, so that its libraries do not weigh on
// ours.
package compose

import _ "github.com/docker/compose/v2/cmd"
