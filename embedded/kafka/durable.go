package kafka

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// indexExtension is the extension of index files. They are not synced: an index can be made again
// from its segment. If both were synced, the index could reach the disk first. After a power cut
// its last entry would then look like a lost batch, although the batch was never acknowledged.
const indexExtension = ".idx"

// syncsAtOnce is how many files are synced in parallel. The journal of the file system combines
// syncs that run at the same time.
const syncsAtOnce = 8

// partition names one partition of the broker.
type partition struct {
	topic  string
	number int32
}

// syncer makes sure that what the broker has written is on disk before its answer leaves (group
// commit). kfake would call fsync in its only request loop: with a slow disk every request would
// wait for every write. So kfake writes without a sync, and the guard holds each answer back until
// a sync has ended that began after the write. All answers that wait share the next sync.
type syncer struct {
	dir  string                  // kfake's folder
	sync func(path string) error // syncs a file or folder: syncPath, except in tests

	mu       sync.Mutex
	dirty    map[partition]bool // partitions that were written and not synced since
	underWay map[partition]int  // number of requests that the broker may be writing
	next     *round             // the sync after the one that runs; nil if nobody waits for it
	running  bool
	failed   error // the first error of a sync; nothing is acknowledged after it
	// broken is called once, with the first error of a sync. It may be nil.
	broken func(error)

	// marks has the synced files by path. Only the round that runs uses it, so mu does not guard
	// it.
	marks map[string]mark
}

// mark identifies the state of a file when it was synced last.
type mark struct {
	size  int64
	inode uint64
}

// round is one sync. done is closed when it has ended.
type round struct {
	done chan struct{}
	err  error
}

func newSyncer(dir string) *syncer {
	return &syncer{
		dir: dir, sync: syncPath, dirty: make(map[partition]bool), underWay: make(map[partition]int), marks: make(map[string]mark),
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func inodeOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// begin notes the partitions that a request writes to, before the broker reads the request.
func (s *syncer) begin(partitions []partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		s.underWay[p]++
	}
}

// end notes that the broker has written what begin announced, or never will.
func (s *syncer) end(partitions []partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		s.dirty[p] = true
		if s.underWay[p]--; s.underWay[p] <= 0 {
			delete(s.underWay, p)
		}
	}
}

// wait returns when everything that the broker wrote before the call is on disk. After an error
// every later call fails, too.
func (s *syncer) wait() error {
	s.mu.Lock()
	if s.next == nil {
		s.next = &round{done: make(chan struct{})}
	}
	r := s.next
	if !s.running {
		s.running = true
		go s.run()
	}
	s.mu.Unlock()
	<-r.done
	return r.err
}

// waitToRead is wait for answers that show records. It does not wait if no partition is being
// written or synced.
func (s *syncer) waitToRead() error {
	s.mu.Lock()
	idle, err := len(s.dirty) == 0 && len(s.underWay) == 0 && !s.running, s.failed
	s.mu.Unlock()
	if idle {
		return err
	}
	return s.wait()
}

// run makes one sync after the other until nobody waits.
func (s *syncer) run() {
	for {
		s.mu.Lock()
		r := s.next
		if r == nil {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.next = nil
		err := s.failed
		written := make(map[partition]bool, len(s.dirty)+len(s.underWay))
		for p := range s.dirty {
			written[p] = true
		}
		// A fetch may already show what the broker has written of a request that is under way.
		for p := range s.underWay {
			written[p] = true
		}
		clear(s.dirty)
		s.mu.Unlock()
		if err == nil {
			err = s.syncAll(written)
		}
		if err != nil {
			s.mu.Lock()
			first := s.failed == nil
			// After a failed fsync the kernel drops what it could not write. So a later fsync that
			// succeeds proves nothing.
			s.failed = err
			s.mu.Unlock()
			if first && s.broken != nil {
				s.broken(err)
			}
		}
		r.err = err
		close(r.done)
	}
}

// syncAll syncs the files that have changed since their last sync: the files in the folders of the
// written partitions, and the logs of groups and producers. It also syncs the folder of each new
// file.
func (s *syncer) syncAll(written map[partition]bool) error {
	var changed []string
	toSync := make(map[string]mark)
	note := func(path string, info fs.FileInfo) {
		now := mark{size: info.Size(), inode: inodeOf(info)}
		if s.marks[path] != now {
			changed = append(changed, path)
			if _, known := s.marks[path]; !known {
				toSync[filepath.Dir(path)] = mark{}
			}
			toSync[path] = now
		}
	}
	for _, name := range []string{"groups.log", "pids.log"} {
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			note(filepath.Join(s.dir, name), info)
		}
	}
	for p := range written {
		dir := filepath.Join(s.dir, "partitions", fmt.Sprintf("%s-%d", url.PathEscape(p.topic), p.number))
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no such partition, or deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == indexExtension {
				continue
			}
			// If there is an error, the file was deleted meanwhile.
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				note(filepath.Join(dir, entry.Name()), info)
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(syncsAtOnce)
	for path := range toSync {
		group.Go(func() error {
			if err := s.sync(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("sync %s: %w", path, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, path := range changed {
		s.marks[path] = toSync[path]
	}
	return nil
}
