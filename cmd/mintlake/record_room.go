package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// recordingSpare is the multiple of its disk's reserve that a recording leaves free, so that a
	// node on the same disk goes on.
	recordingSpare = 2
	// recordingLook is how often a recording looks at its disk.
	recordingLook = time.Second
)

// spaceOf returns what diskSpace returns.
type spaceOf func(folder string) (free, reserve, size uint64, err error)

// awaitFullDisk returns an error as soon as a recording to path must end because its disk is nearly
// full. It returns nil when ctx ends.
func awaitFullDisk(ctx context.Context, path string, space spaceOf) error {
	look := time.NewTicker(recordingLook)
	defer look.Stop()
	for {
		// A file system that does not tell its size bounds nothing.
		if free, reserve, _, err := space(path); err == nil && free < recordingSpare*reserve {
			return fmt.Errorf("record: the disk is nearly full: %d MiB are free on the file system of %s, and a recording leaves %d: make room, or record to another disk",
				free>>20, path, recordingSpare*reserve>>20)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}
