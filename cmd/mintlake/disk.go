package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/mintlake/mintlake/internal/datadir"
)

// diskSpace returns how much of the data folder's file system is free, how much must stay free, and
// its size, in bytes.
func diskSpace(folder string) (free, reserve, size uint64, err error) {
	stat, err := fileSystemOf(folder)
	if err != nil {
		return 0, 0, 0, err
	}
	size = stat.Blocks * uint64(stat.Bsize)
	return stat.Bavail * uint64(stat.Bsize), datadir.Reserve(size), size, nil
}

// needDisk adds the disk to the checks of readiness, for a process with embedded engines. On a full
// disk they store nothing, although Kafka and ClickHouse answer. It logs once when the disk becomes
// full, and once when it has room again.
func (s *system) needDisk() {
	var mu sync.Mutex
	full := false
	s.readiness.add("disk", true, func(context.Context) error {
		free, reserve, size, err := diskSpace(s.cfg.DataDir)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		was := full
		full = free < reserve
		switch {
		case full && !was:
			s.logger.Error("the disk is full: nothing is stored until there is room again, and nothing that was stored is lost; make room, the rest goes on by itself",
				"data_dir", s.cfg.DataDir, "free_bytes", free, "reserve_bytes", reserve)
		case was && !full:
			s.logger.Info("the disk has room again", "data_dir", s.cfg.DataDir, "free_bytes", free)
		}
		if full {
			return fmt.Errorf("full: %d MiB of %d are free on the file system of %s, at least %d must be: make room, writes go on by themselves",
				free>>20, size>>20, s.cfg.DataDir, reserve>>20)
		}
		return nil
	})
}
