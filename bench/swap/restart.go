package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
)

const (
	// mostReadings is how many times the time of reading the file a restart may take.
	mostReadings = 3.0
	restartTurns = 7
)

// restarts measures how long it takes from a checkpoint to the first pair that can be looked up,
// against reading the same file and its checksum.
func restarts(r *report.Report) error {
	c, err := realistic(routedPools)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "bench-swap-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	name := filepath.Join(folder, "pools.checkpoint")
	var file bytes.Buffer
	saved := c.fold.Checkpoint()
	began := time.Now()
	if _, err := saved.WriteTo(&file); err != nil {
		return err
	}
	encoded := time.Since(began)
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		return err
	}
	size, token := float64(file.Len()), c.tokens[0]
	c, saved, file = nil, nil, bytes.Buffer{}
	for _, cold := range []bool{true, false} {
		var readings, starts []float64
		for range restartTurns {
			for _, turn := range []struct {
				into *[]float64
				call func() error
			}{{&readings, func() error { return read(name) }}, {&starts, func() error {
				f, err := restore(name)
				if err != nil {
					return err
				}
				_, err = f.Snapshot().Pair(token, mint.WrappedSOL)
				return err
			}}} {
				heap()
				if cold {
					if err := forget(name); err != nil {
						return err
					}
				}
				began := time.Now()
				if err := turn.call(); err != nil {
					return err
				}
				*turn.into = append(*turn.into, time.Since(began).Seconds()*1000)
			}
		}
		where := "from memory"
		if cold {
			where = "from the disk"
		}
		f := report.Figure{
			Name: fmt.Sprintf("restart with %d pools, file %s", routedPools, where), Value: median(starts), Unit: "ms", Peer: "reading the file", PeerValue: median(readings),
			Goal: fmt.Sprintf("ratio <= %.0f", mostReadings), Met: median(starts) <= mostReadings*median(readings),
			Note: fmt.Sprintf("%.0f MB; written in %.0f ms", size/1e6, encoded.Seconds()*1000),
		}
		r.Add(f)
	}
	return nil
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
	f.Restore(c)
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
