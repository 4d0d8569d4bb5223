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

// indexExtension names the files that are not synced: an index is made anew from its segment.
// Synced beside it, it could reach the disk first, and after a power cut its last entry would tell
// of a batch that was never acknowledged as of one that is lost.
const indexExtension = ".idx"

// syncsAtOnce is how many files are synced side by side. The file system's journal takes them
// together.
const syncsAtOnce = 8

// partition names one partition of the broker.
type partition struct {
	topic  string
	number int32
}

// syncer makes what the broker has written durable. kfake's own way is an fsync in its only request
// loop: with a slow disk every request waits for every write. So kfake writes without syncing, and
// the guard holds an answer back until a sync that began after the write has ended. All answers
// that wait share the next sync (group commit).
type syncer struct {
	dir  string                  // the broker's data
	sync func(path string) error // of a file or folder

	mu       sync.Mutex
	dirty    map[partition]bool // written, and not synced since
	underWay map[partition]int  // the broker may be writing
	next     *round             // those who wait for the sync after the one that runs
	running  bool
	failed   error // what the disk said once; nothing is acknowledged after it
	// broken is told of failed. May be nil.
	broken func(error)

	// Of the one round that runs.
	marks map[string]mark
}

// mark is what a file was like when it was synced last.
type mark struct {
	size  int64
	inode uint64
}

// round is one sync and those who wait for it.
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

// begin notes partitions that a request writes to, before the broker sees it.
func (s *syncer) begin(partitions []partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		s.underWay[p]++
	}
}

// end notes that the broker has written what was announced, or never will.
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

// wait returns when everything that the broker had written before the call is on disk. An error is
// final.
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

// waitToRead is wait for an answer that shows records: there is nothing to wait for while nobody
// writes.
func (s *syncer) waitToRead() error {
	s.mu.Lock()
	idle, err := len(s.dirty) == 0 && len(s.underWay) == 0 && !s.running, s.failed
	s.mu.Unlock()
	if idle {
		return err
	}
	return s.wait()
}

// run makes rounds until nobody waits.
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
			// after a failed fsync the kernel forgets what it could not write: a later success
			// proves nothing
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

// syncAll syncs what has changed in the folders of partitions, and the logs of groups and
// producers.
func (s *syncer) syncAll(written map[partition]bool) error {
	var changed []string
	found := make(map[string]mark)
	note := func(path string, info fs.FileInfo) {
		now := mark{size: info.Size(), inode: inodeOf(info)}
		if s.marks[path] != now {
			changed = append(changed, path)
			if _, known := s.marks[path]; !known {
				found[filepath.Dir(path)] = mark{}
			}
			found[path] = now
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
			// else deleted meanwhile
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				note(filepath.Join(dir, entry.Name()), info)
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(syncsAtOnce)
	for path := range found {
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
		s.marks[path] = found[path]
	}
	return nil
}
