package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

var told sync.Once

// runFirst runs a program that gets a core as soon as it wants one, as if it were on a machine of
// its own: a client that shares its cores with a node, a broker and a database waits for them up to
// some milliseconds, and would take that for the node's time. Where the system does not allow it
// the program runs as any other.
func runFirst(command *exec.Cmd) error {
	err := startFirst(command)
	if err != nil {
		return err
	}
	return command.Wait()
}

// startFirst has the program inherit a thread's scheduling.
func startFirst(command *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	usual, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}
	if err != nil {
		told.Do(func() { fmt.Fprintln(os.Stderr, "the client waits for cores as any other process:", err) })
		return command.Start()
	}
	started := command.Start()
	if err := unix.SchedSetAttr(0, usual, 0); err != nil {
		return fmt.Errorf("give the thread its usual scheduling: %w", err)
	}
	return started
}
