package segments

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/mintlake/mintlake/internal/durable"
)

// StateFile is the name of the state in the data folder.
const StateFile = "LOG_STATE.json"

// State describes what was on disk when the state was written. With it a check finds that a file
// was deleted or cut off since. The state has a checksum of its own. A missing or damaged state is
// no damage of the log, but then the check finds less.
type State struct {
	Topics []Topic `json:"topics"`
	// Changing says that topics were just being created, altered or deleted. topics.json may be
	// newer than this state.
	Changing   bool             `json:"changing,omitempty"`
	Partitions []PartitionState `json:"partitions"`
	// Deleted has the topics with records that were deleted, or deleted and created again, and of
	// which the readers of the log have not been told yet.
	Deleted []DeletedTopic `json:"deleted,omitempty"`
}

// DeletedTopic is a deleted topic and what its partitions held.
type DeletedTopic struct {
	Topic      Topic            `json:"topic"`
	Partitions []PartitionState `json:"partitions"`
}

// PartitionState is the state of one partition.
type PartitionState struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"`
	Partition int    `json:"partition"`
	// Start is the offset of the first record, End that behind the last one.
	Start    int64          `json:"start"`
	End      int64          `json:"end"`
	Segments []SegmentState `json:"segments"`
}

// SegmentState is the state of one segment.
type SegmentState struct {
	Base int64 `json:"base"`
	// Size is how many bytes of whole batches were on disk.
	Size int64 `json:"size"`
	// Oldest is the time of the batch that expires first, and Last that of the last batch, in Unix
	// milliseconds; 0 if not known. The time of a batch is that of its newest record. The times of
	// the file do not tell it: a copy of the data folder has new files with old records.
	Oldest int64 `json:"oldest"`
	Last   int64 `json:"last"`
	// Batches is how many batches are in Size bytes. End is the offset behind their last record.
	// First is the time of their first record, Newest that of their newest record, in Unix
	// milliseconds.
	Batches int   `json:"batches"`
	End     int64 `json:"end"`
	First   int64 `json:"first"`
	Newest  int64 `json:"newest"`
	// Closed is the identity of the segment's file. It is set if nothing is written to the file any
	// more. A start does not read a file that still has this identity.
	Closed *fileID `json:"closed,omitempty"`
	// Read says that each start must read the segment: it has batches that are not plain records,
	// or it was found damaged.
	Read bool `json:"read,omitempty"`
}

// sealedState is the content of the state file.
type sealedState struct {
	CRC32C uint32          `json:"crc32c"`
	State  json.RawMessage `json:"state"`
}

// errStateDamaged says that the state cannot be used.
var errStateDamaged = errors.New("it cannot be read, or its checksum does not hold")

// readState returns the state. It returns nil if there is no state, and errStateDamaged if the
// state cannot be used.
func readState(root string) (*State, error) {
	raw, err := os.ReadFile(filepath.Join(root, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStateDamaged, err)
	}
	var sealed sealedState
	if json.Unmarshal(raw, &sealed) != nil || crc32.Checksum(sealed.State, castagnoli) != sealed.CRC32C {
		return nil, errStateDamaged
	}
	state := new(State)
	if err := json.Unmarshal(sealed.State, state); err != nil {
		return nil, errStateDamaged
	}
	return state, nil
}

// write replaces the state file in one step and syncs it.
func (s *State) write(root string) error {
	inner, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	raw, err := json.Marshal(sealedState{CRC32C: crc32.Checksum(inner, castagnoli), State: inner})
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	if err := durable.Replace(filepath.Join(root, StateFile), raw); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// partition returns the state of a partition; nil if there is none. It may be the state of an older
// topic with the same name.
func (s *State) partition(k key) *PartitionState {
	if s == nil {
		return nil
	}
	for i := range s.Partitions {
		if p := &s.Partitions[i]; p.Topic == k.topic && p.Partition == k.partition {
			return p
		}
	}
	return nil
}

func (s *State) topic(name string) *Topic {
	if s == nil {
		return nil
	}
	return topicNamed(s.Topics, name)
}

func topicNamed(topics []Topic, name string) *Topic {
	for i := range topics {
		if topics[i].Name == name {
			return &topics[i]
		}
	}
	return nil
}

func (p *PartitionState) segment(base int64) *SegmentState {
	if p == nil {
		return nil
	}
	for i := range p.Segments {
		if p.Segments[i].Base == base {
			return &p.Segments[i]
		}
	}
	return nil
}

// sameTopic reports whether a and b describe the same topic in the same way.
func sameTopic(a, b *Topic) bool {
	if len(a.Configs) == 0 && len(b.Configs) == 0 {
		return a.Name == b.Name && a.ID == b.ID && a.Partitions == b.Partitions && a.Replicas == b.Replicas
	}
	return reflect.DeepEqual(a, b)
}

// noteDeleted removes the partitions of the topics that are not in the new list any more, or have
// another ID there. It adds those topics that had records to Deleted, and returns their names.
func (s *State) noteDeleted(topics []Topic) (gone []string) {
	var kept []PartitionState
	for i := range s.Topics {
		known := &s.Topics[i]
		topic := topicNamed(topics, known.Name)
		there := topic != nil && topic.ID == known.ID
		deleted, records := DeletedTopic{Topic: *known}, false
		for _, p := range s.Partitions {
			switch {
			case p.Topic != known.Name:
			case there:
				kept = append(kept, p)
			default:
				p.Segments = nil
				deleted.Partitions = append(deleted.Partitions, p)
				records = records || p.End > p.Start
			}
		}
		if records {
			s.Deleted = append(s.Deleted, deleted)
			gone = append(gone, known.Name)
		}
	}
	s.Partitions = kept
	return gone
}
