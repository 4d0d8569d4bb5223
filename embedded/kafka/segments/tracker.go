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

// Tracker keeps the state file up to date while the broker runs. It is safe for concurrent use.
type Tracker struct {
	root, broker string

	mu      sync.Mutex
	state   *State
	written State
	// settling is the number of further updates in which the list of topics may still change.
	settling int
}

// settle is the number of updates, after a request that changes topics, within which kfake is
// expected to write the list.
const settle = 2

// Track makes a tracker from a report without damage, and writes the state.
func Track(root string, r *Report) (*Tracker, error) {
	t := &Tracker{root: root, broker: filepath.Join(root, brokerDir), state: r.State()}
	if r.state != nil {
		t.state.Deleted = r.state.Deleted
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t, t.write()
}

// TopicsChange must be called before the broker creates, alters or deletes a topic. It notes in the
// state file that the list of topics changes. So if the process is killed before the next Update,
// the next start does not take another list for damage.
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

// Stop makes the last update. Call it when the broker has written everything.
func (t *Tracker) Stop() (gone []string, err error) {
	t.mu.Lock()
	t.settling = 0 // kfake has written the list of topics, so this update takes it as final
	t.mu.Unlock()
	return t.Update()
}

// Distrust notes that a closed segment is damaged, so that the next start reads it.
func (t *Tracker) Distrust(d *Damaged) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.state.partition(d.at).segment(d.base); s != nil {
		s.Closed, s.Read = nil, true
	}
	return t.write()
}

// Update brings the state up to what is on disk, and syncs that first. It returns the topics with
// records that were deleted, or deleted and created again, since the last update.
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
		// The list only has new topics: a slow disk wrote it after more than settle updates.
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

// follow returns the new state of a partition. It reads only the bytes that were added to the
// segments since the last state.
func (t *Tracker) follow(topic *Topic, number int) (PartitionState, error) {
	k := key{topic.Name, number}
	current := PartitionState{Topic: topic.Name, TopicID: topic.ID, Partition: number}
	known := t.state.partition(k)
	if known != nil && known.TopicID == topic.ID {
		current.Start, current.End = known.Start, known.End
	} else {
		known = nil
	}
	files, _, err := listPartition(t.broker, k)
	if err != nil {
		return current, err
	}
	for i, f := range files {
		s := SegmentState{Base: f.base}
		if old := known.segment(f.base); old != nil {
			s = *old
		}
		closed := i < len(files)-1
		if f.size > s.Size || closed && s.Closed == nil && !s.Read {
			end, err := s.walk(k.path(t.broker, f.base, dataSuffix), closed)
			if errors.Is(err, os.ErrNotExist) { // it has expired meanwhile
				continue
			}
			if err != nil {
				return current, err
			}
			current.End = max(current.End, end)
		}
		if i == 0 && known == nil {
			current.Start = f.base
		}
		current.Segments = append(current.Segments, s)
	}
	if p := (&partition{topic: topic}); known != nil && !topic.forever() && p.expired(files, known) {
		current.Start = current.End
		if len(files) > 0 {
			// A segment that keepEnd wrote begins before the start.
			current.Start = max(known.Start, files[0].base)
		}
	} else if known != nil {
		// The segments that are gone cannot have expired. So they stay in the state, and the next
		// start finds that they are missing.
		current.Segments = append(vanished(files, known), current.Segments...)
	}
	return current, nil
}

// vanished returns the known segments that are gone from the front of the partition.
func vanished(files []file, known *PartitionState) (gone []SegmentState) {
	for _, s := range known.Segments {
		if len(files) == 0 || s.Base < files[0].base {
			gone = append(gone, s)
		}
	}
	return gone
}

// walk syncs the segment's file, and adds to s the whole batches that were written since. It
// returns the offset behind the last of them; 0 if there is none. closed says that nothing is
// written to the file any more: then walk also notes its identity.
func (s *SegmentState) walk(name string, closed bool) (end int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return 0, fmt.Errorf("follow the log: %w", err)
	}
	if closed {
		defer func() { s.noteClosed(info) }()
	}
	var head [headerBytes]byte
	for {
		if _, err := f.ReadAt(head[:], s.Size); err != nil {
			if errors.Is(err, io.EOF) {
				return end, nil
			}
			return end, fmt.Errorf("follow the log: %w", err)
		}
		length := sizeOf(head[:])
		if length == 0 || s.Size+length > info.Size() {
			return end, nil
		}
		b := read(head[:], s.Size, length)
		s.Size, s.Oldest, s.Last, end = s.Size+length, older(s.Oldest, b.maxTime), b.maxTime, b.next()
		s.Batches, s.End, s.Newest = s.Batches+1, end, max(s.Newest, b.maxTime)
		if s.First == 0 {
			s.First = b.firstTime
		}
	}
}
