//go:build !linux

package pause

import "runtime"

// yield lets other goroutines run.
func yield() { runtime.Gosched() }
