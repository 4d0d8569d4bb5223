package main

import (
	"os"
	"strconv"
	"strings"
)

// machineTime is the time of all cores so far, in the kernel's ticks. stolen is the part that the
// host of this virtual machine gave to other machines (steal time). If it is large, the node's
// figures are worse through no fault of the node.
type machineTime struct{ all, stolen uint64 }

// machineTimeNow reads /proc/stat. It returns zeros on systems without it.
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

// percent returns the stolen part.
func (t *machineTime) percent() float64 { return 100 * float64(t.stolen) / float64(max(t.all, 1)) }
