// Package panics keeps a panic in one piece of work from ending the process.
//
// net/http recovers a panic of a handler, but only in the goroutine that it started. A panic in any
// other goroutine ends the process.
//
// In: a panic of the work. Out: a log line with the stack, a count, and the work's own end.
// Guarantees: without a panic nothing happens.
package panics

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Catch ends a panic of the function that defers it: it logs and counts the panic, then calls then,
// which may be nil. It must be deferred itself, and not be called by a deferred function.
func Catch(log *slog.Logger, count prometheus.Counter, then func()) {
	reason := recover()
	if reason == nil {
		return
	}
	count.Inc()
	log.Error("panic: this is a bug, please report it", "err", fmt.Sprint(reason), "stack", string(debug.Stack()))
	if then != nil {
		then()
	}
}
