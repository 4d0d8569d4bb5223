package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
)

const (
	// mostRestart is how many milliseconds a restart may take.
	mostRestart  = 10_000
	restartTurns = 7
)

// restarts measures how long it takes from a checkpoint to the first pair that can be looked up,
// against reading the same file and its checksum.
func restarts(r *report.Report) error {
	c, err := realistic(routedPools, venues)
	if err != nil {
		return err
	}
	began := time.Now()
	name, err := c.save()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }()
	encoded := time.Since(began)
	file, err := os.Stat(name)
	if err != nil {
		return err
	}
	token := c.tokens[0]
	c = nil
	for _, cold := range []bool{true, false} {
		var readings, starts, busy []float64
		for range restartTurns {
			reading, err := took(name, cold, func() error { return read(name) })
			if err != nil {
				return err
			}
			var worked float64
			start, err := took(name, cold, func() error {
				worked = processor()
				f, err := restore(name)
				if err != nil {
					return err
				}
				_, err = f.Snapshot().Pair(token, mint.WrappedSOL)
				return err
			})
			if err != nil {
				return err
			}
			readings, starts, busy = append(readings, reading), append(starts, start), append(busy, processor()-worked)
		}
		where := "from memory"
		if cold {
			where = "from the disk"
		}
		r.Add(report.Figure{
			Name: fmt.Sprintf("restart with %d pools, file %s", routedPools, where), Value: median(starts), Unit: "ms", Peer: "reading the file", PeerValue: median(readings),
			Goal: fmt.Sprintf("<= %d", mostRestart), Met: median(starts) <= mostRestart,
			Note: fmt.Sprintf("%.1f s of processor time; %.0f MB, written in %.0f ms", median(busy), float64(file.Size())/1e6, encoded.Seconds()*1000),
		})
	}
	return nil
}

// took returns how many milliseconds a call takes that reads a file, if cold from the disk.
func took(name string, cold bool, call func() error) (float64, error) {
	heap()
	if cold {
		if err := forget(name); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	err := call()
	return time.Since(began).Seconds() * 1000, err
}

// processor returns how many seconds of processor time the program has taken.
func processor() float64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// read reads a file and its checksum.
func read(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.CopyBuffer(struct{ io.Writer }{xxhash.New()}, struct{ io.Reader }{file}, make([]byte, 1<<20))
	return err
}

func restore(name string) (*state.Fold, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	c, err := state.ReadCheckpoint(file, info.Size())
	if err != nil {
		return nil, err
	}
	f := state.NewFold(bounds, venues)
	if err := f.Restore(c); err != nil {
		return nil, err
	}
	return f, nil
}

// forget drops a file from the operating system's memory.
func forget(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := file.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
