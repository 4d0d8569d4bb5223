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

// State is what was on disk when it was written: what a deleted or cut file is found by. It has a
// checksum of its own; a state that is damaged or absent is as if nothing were known.
type State struct {
	Topics []Topic `json:"topics"`
	// Changing says that topics were being made, altered or deleted: topics.json may be newer.
	Changing   bool             `json:"changing,omitempty"`
	Partitions []PartitionState `json:"partitions"`
	// Deleted are topics that had records and are gone, or were made anew: the log's readers have
	// not been told yet.
	Deleted []DeletedTopic `json:"deleted,omitempty"`
}

// DeletedTopic is a topic that somebody deleted, with what it held.
type DeletedTopic struct {
	Topic      Topic            `json:"topic"`
	Partitions []PartitionState `json:"partitions"`
}

// PartitionState is a partition's part of the state.
type PartitionState struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"`
	Partition int    `json:"partition"`
	// Start and End are the offsets of the first record and behind the last one.
	Start    int64          `json:"start"`
	End      int64          `json:"end"`
	Segments []SegmentState `json:"segments"`
}

// SegmentState is a segment's part of the state.
type SegmentState struct {
	Base int64 `json:"base"`
	// Size is how many bytes of whole batches were on disk.
	Size int64 `json:"size"`
	// Modified is when the file was written to last, Unix milliseconds: its records expire not
	// before that plus the retention.
	Modified int64 `json:"modified"`
}

type sealedState struct {
	CRC32C uint32          `json:"crc32c"`
	State  json.RawMessage `json:"state"`
}

// errStateDamaged says that the state cannot be used.
var errStateDamaged = errors.New("its checksum does not hold")

// readState reads the state; nil and no error where there is none.
func readState(root string) (*State, error) {
	raw, err := os.ReadFile(filepath.Join(root, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // none is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
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

// partition is the state of a partition, by the topic's name; nil where nothing is known.
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

// sameTopic says that both describe one topic in the same way.
func sameTopic(a, b *Topic) bool {
	if len(a.Configs) == 0 && len(b.Configs) == 0 {
		return a.Name == b.Name && a.ID == b.ID && a.Partitions == b.Partitions && a.Replicas == b.Replicas
	}
	return reflect.DeepEqual(a, b)
}

// noteDeleted remembers what the topics held that are gone or were made anew, and returns their
// names.
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
