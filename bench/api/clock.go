package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is the time that the process has had cores, all threads together: what a search takes of
// them, without the waiting for a turn, and with what the runtime does beside. It tells nothing of
// engines in other processes.
func clock() time.Duration {
	var spec unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spec) != nil {
		return 0
	}
	return time.Duration(spec.Nano())
}
