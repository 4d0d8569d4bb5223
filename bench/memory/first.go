package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// warnOnce guards the warning that real-time scheduling is not allowed.
var warnOnce sync.Once

// runRealTime runs a program with real-time priority (SCHED_FIFO), so that it gets a core as soon
// as it wants one, as on another machine. Otherwise a client would wait for the node, the broker
// and the database up to some milliseconds, and count that as the node's time. Where the system
// does not allow it, the program runs with the usual priority.
func runRealTime(command *exec.Cmd) error {
	err := startFirst(command)
	if err != nil {
		return err
	}
	return command.Wait()
}

// startFirst starts the program from a thread with real-time priority, which the program inherits.
func startFirst(command *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	usual, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}
	if err != nil {
		warnOnce.Do(func() { fmt.Fprintln(os.Stderr, "the client waits for cores as any other process:", err) })
		return command.Start()
	}
	started := command.Start()
	if err := unix.SchedSetAttr(0, usual, 0); err != nil {
		return fmt.Errorf("give the thread its usual scheduling: %w", err)
	}
	return started
}
