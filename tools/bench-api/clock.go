package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is the time that the calling thread has had a core: on a machine that does nothing else as much as passes, and on one that does,
// what a search takes without the waiting for a turn. It tells nothing of engines in other processes or threads.
func clock() time.Duration {
	var spec unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spec) != nil {
		return 0
	}
	return time.Duration(spec.Nano())
}
