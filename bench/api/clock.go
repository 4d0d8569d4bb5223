package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock returns the processor time of this process, of all its threads. Unlike the wall clock it
// does not count waiting for a core. It includes the Go runtime's own work, such as garbage
// collection, and leaves out engines in other processes.
func clock() time.Duration {
	var spec unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spec) != nil {
		return 0
	}
	return time.Duration(spec.Nano())
}
