package segments

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
)

// Tracker keeps the state up to date while the broker runs. Safe for concurrent use.
type Tracker struct {
	root, broker string

	mu      sync.Mutex
	state   *State
	written State
	// settling counts the updates that are to come before topics that change are taken for done.
	settling int
}

// settle is how many updates after a request that changes topics the list is taken for written.
const settle = 2

// Track begins with what a check without damage found, and writes it.
func Track(root string, r *Report) (*Tracker, error) {
	t := &Tracker{root: root, broker: filepath.Join(root, brokerDir), state: r.State()}
	if r.state != nil {
		t.state.Deleted = r.state.Deleted
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t, t.write()
}

// TopicsChange is called before the broker makes, alters or deletes a topic: a kill may come before
// the next update.
func (t *Tracker) TopicsChange() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settling = settle
	if t.state.Changing {
		return nil
	}
	t.state.Changing = true
	return t.write()
}

// Stop is the last update, when the broker has written everything.
func (t *Tracker) Stop() (gone []string, err error) {
	t.mu.Lock()
	t.settling = 0
	t.mu.Unlock()
	return t.Update()
}

// Update looks at the folder. It returns the topics that had records and are gone since the last
// update, or were made anew. What it notes as being on disk is synced before.
func (t *Tracker) Update() (gone []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	topics, err := readTopics(t.broker)
	if err != nil {
		return nil, fmt.Errorf("follow the log: %w", err)
	}
	if t.state.Changing {
		gone = t.state.noteDeleted(topics)
		t.state.Topics = topics
		if t.settling--; t.settling <= 0 {
			t.state.Changing = false
		}
	} else if !slices.ContainsFunc(t.state.Topics, func(known Topic) bool {
		topic := topicNamed(topics, known.Name)
		return topic == nil || !sameTopic(topic, &known)
	}) {
		// Only new ones: a slow disk had the list later than after settle updates.
		t.state.Topics = topics
	}
	var partitions []PartitionState
	for i := range t.state.Topics {
		topic := &t.state.Topics[i]
		for n := range topic.Partitions {
			known, err := t.follow(topic, n)
			if err != nil {
				return gone, err
			}
			partitions = append(partitions, known)
		}
	}
	t.state.Partitions = partitions
	if reflect.DeepEqual(*t.state, t.written) {
		return gone, nil
	}
	return gone, t.write()
}

func (t *Tracker) write() error {
	if err := t.state.write(t.root); err != nil {
		return err
	}
	t.written = *t.state
	return nil
}

// follow brings what is known of a partition up to date.
func (t *Tracker) follow(topic *Topic, number int) (PartitionState, error) {
	k := key{topic.Name, number}
	now := PartitionState{Topic: topic.Name, TopicID: topic.ID, Partition: number}
	known := t.state.partition(k)
	if known != nil && known.TopicID == topic.ID {
		now.Start, now.End = known.Start, known.End
	} else {
		known = nil
	}
	files, _, err := listPartition(t.broker, k)
	if err != nil {
		return now, err
	}
	for i, f := range files {
		s := SegmentState{Base: f.base, Modified: f.mtime}
		if old := known.segment(f.base); old != nil {
			s.Size = old.Size
		}
		if f.size > s.Size {
			end, size, err := walk(k.path(t.broker, f.base, dataSuffix), s.Size)
			if errors.Is(err, os.ErrNotExist) { // expired meanwhile
				continue
			}
			if err != nil {
				return now, err
			}
			s.Size, now.End = size, max(now.End, end)
		}
		if i == 0 && known == nil {
			now.Start = f.base
		}
		now.Segments = append(now.Segments, s)
	}
	if p := (&partition{topic: topic}); known != nil && !topic.forever() && p.expired(files, known) {
		now.Start = now.End
		if len(files) > 0 {
			now.Start = files[0].base
		}
	} else if known != nil {
		// nothing expired: whatever is gone is missed at the next start
		now.Segments = append(vanished(files, known), now.Segments...)
	}
	return now, nil
}

// vanished are the known segments before the first one that is there.
func vanished(files []file, known *PartitionState) (gone []SegmentState) {
	for _, s := range known.Segments {
		if len(files) == 0 || s.Base < files[0].base {
			gone = append(gone, s)
		}
	}
	return gone
}

// walk syncs a segment and goes from one batch header to the next, from the byte where a batch
// begins. It returns the offset behind the last whole batch and where that ends.
func walk(name string, from int64) (end, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, from, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return 0, from, fmt.Errorf("follow the log: %w", err)
	}
	var head [headerBytes]byte
	for {
		if _, err := f.ReadAt(head[:], from); err != nil {
			if errors.Is(err, io.EOF) {
				return end, from, nil
			}
			return end, from, fmt.Errorf("follow the log: %w", err)
		}
		length := sizeOf(head[:])
		if length == 0 || from+length > info.Size() {
			return end, from, nil
		}
		b := read(head[:], from, length)
		from, end = from+length, b.next()
	}
}
