package main

import (
	"os"
	"strconv"
	"strings"
)

// machineTime is what the kernel has counted so far of all cores, in its ticks: all of it, and what
// the host of a virtual machine gave to others. A machine of which much is taken has slow moments
// that are none of the node's.
type machineTime struct{ all, stolen uint64 }

// machineTimeNow is zero where the kernel does not tell.
func machineTimeNow() (t machineTime) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	// proc_stat(5): cpu user nice system idle iowait irq softirq steal guest …; guests are counted
	// as user
	const stolen, guest = 8, 9
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil || i >= guest {
			continue
		}
		t.all += n
		if i == stolen {
			t.stolen = n
		}
	}
	return t
}

// add adds what passed between two moments.
func (t *machineTime) add(from, to machineTime) {
	t.all += to.all - from.all
	t.stolen += to.stolen - from.stolen
}

// percent is the part that was stolen.
func (t *machineTime) percent() float64 { return 100 * float64(t.stolen) / float64(max(t.all, 1)) }
