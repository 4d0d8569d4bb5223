package libchdb

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// signalGuard undoes what libchdb does to the process' signal handlers. The engine installs its own
// handlers for SIGSEGV and others at every connect; Go needs its own (a nil dereference becomes a
// panic, preemption uses SIGURG), and with the engine's in place a recovered nil dereference hangs
// the process.
type signalGuard struct {
	sigaction func(signal int32, act, old unsafe.Pointer) int32
}

// sigactionState is room for glibc's struct sigaction on amd64 (152 bytes): handler, 128 bytes of
// mask, flags, restorer.
type sigactionState [160]byte

const lastSignal = 64

func newSignalGuard() (signalGuard, error) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return signalGuard{}, fmt.Errorf("glibc is needed: %w", err)
	}
	var g signalGuard
	purego.RegisterLibFunc(&g.sigaction, libc, "sigaction")
	return g, nil
}

// keep runs f and puts back every signal disposition that f changed.
func (g signalGuard) keep(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var saved [lastSignal + 1]sigactionState
	var known [lastSignal + 1]bool
	for s := 1; s <= lastSignal; s++ {
		// 32 and 33 belong to glibc's threads, KILL and STOP cannot be handled.
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

// sameDisposition compares handler (bytes 0-7), the kernel's 8 bytes of the mask (8-15) and the
// flags (136-139); the rest of glibc's structure is padding that it does not initialise.
func sameDisposition(a, b *sigactionState) bool {
	return [16]byte(a[:16]) == [16]byte(b[:16]) && [4]byte(a[136:140]) == [4]byte(b[136:140])
}
