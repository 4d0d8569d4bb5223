//go:build !linux

package pause

import "runtime"

// yield lets other goroutines go on.
func yield() { runtime.Gosched() }
