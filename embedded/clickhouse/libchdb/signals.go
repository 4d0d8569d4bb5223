package libchdb

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// signalGuard undoes what libchdb does to the signal handlers of the process. At every connect the
// engine installs handlers for SIGSEGV and others. Go needs its own handlers: it turns a nil
// dereference into a panic, and uses SIGURG for preemption. With the engine's handlers a recovered
// nil dereference hangs the process.
type signalGuard struct {
	sigaction func(signal int32, act, old unsafe.Pointer) int32
}

// sigactionState has room for glibc's struct sigaction on amd64, which has 152 bytes: handler (8),
// mask (128), flags (4, and 4 of padding), restorer (8).
type sigactionState [160]byte

const lastSignal = 64 // of Linux

func newSignalGuard() (signalGuard, error) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return signalGuard{}, fmt.Errorf("glibc is needed: %w", err)
	}
	var g signalGuard
	purego.RegisterLibFunc(&g.sigaction, libc, "sigaction")
	return g, nil
}

// keep runs f and then restores every signal handler that f has changed.
func (g signalGuard) keep(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var saved [lastSignal + 1]sigactionState
	var known [lastSignal + 1]bool
	for s := 1; s <= lastSignal; s++ {
		// glibc uses 32 and 33 for its threads. KILL and STOP cannot be handled.
		if s == int(syscall.SIGKILL) || s == int(syscall.SIGSTOP) || s == 32 || s == 33 {
			continue
		}
		known[s] = g.sigaction(int32(s), nil, unsafe.Pointer(&saved[s])) == 0
	}
	f()
	for s := 1; s <= lastSignal; s++ {
		if !known[s] {
			continue
		}
		var now sigactionState
		g.sigaction(int32(s), nil, unsafe.Pointer(&now))
		if !sameDisposition(&now, &saved[s]) {
			g.sigaction(int32(s), unsafe.Pointer(&saved[s]), nil)
		}
	}
}

// sameDisposition compares the handler (bytes 0 to 7), the part of the mask that the kernel uses (8
// to 15) and the flags (136 to 139). glibc does not initialise the rest.
func sameDisposition(a, b *sigactionState) bool {
	return [16]byte(a[:16]) == [16]byte(b[:16]) && [4]byte(a[136:140]) == [4]byte(b[136:140])
}
