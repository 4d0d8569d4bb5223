package segments

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/durable"
)

// unused returns the files that kfake writes when it stops and that this broker does not need. No
// client can set access rules and quotas, each start gives kfake its settings, and the sessions
// have ended with their members.
func unused() []string {
	return []string{"acls.json", "sasl.json", "quotas.json", "broker_configs.json", "session_state.json"}
}

// metaDocument is meta.json. Without it kfake takes the folder for a new one, and overwrites the
// list of topics with an empty one.
type metaDocument struct {
	Version   int    `json:"version"`
	ClusterID string `json:"cluster_id"`
}

// commonID is the cluster id that earlier versions gave to every folder. It does not tell one
// folder from another.
const commonID = "mintlake-embedded"

// ClusterID returns the cluster id of the data folder root. If the folder has none of its own, each
// call returns a new one. Prepare stores one in a folder with topics, and kfake in a new folder.
// Offsets, and what is noted of a log's content, are valid only with the same id.
func ClusterID(root string) string {
	var meta metaDocument
	raw, err := os.ReadFile(filepath.Join(root, brokerDir, metaFile))
	if err == nil && json.Unmarshal(raw, &meta) == nil && meta.ClusterID != "" && meta.ClusterID != commonID {
		return meta.ClusterID
	}
	return "mintlake-" + rand.Text()
}

// Prepare makes a folder without damage ready for the broker. It cuts off what a crash left, and
// writes again each index, snapshot and other file that is not as it should be. So the broker loads
// nothing that is unchecked.
func (r *Report) Prepare(root string) error {
	broker := filepath.Join(root, brokerDir)
	for _, name := range append(unused(), r.drop...) {
		err := os.Remove(filepath.Join(broker, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			// A folder that is not empty is in the place of the file.
			err = durable.PutAside(filepath.Join(broker, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prepare the log: %w", err)
		}
	}
	for name, entries := range r.framed {
		if err := durable.Replace(filepath.Join(broker, name), entries); err != nil {
			return fmt.Errorf("prepare the log: %w", err)
		}
	}
	if len(r.topics) > 0 {
		if err := writeMeta(broker, ClusterID(root)); err != nil {
			return err
		}
	}
	for _, p := range r.sorted() {
		if err := p.prepare(broker); err != nil {
			return fmt.Errorf("prepare the log: %w", err)
		}
	}
	return nil
}

// writeMeta writes meta.json unless it is already as it should be.
func writeMeta(broker, clusterID string) error {
	raw, err := json.Marshal(metaDocument{formatVersion, clusterID})
	if err != nil {
		return fmt.Errorf("prepare the log: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(broker, metaFile)); err == nil && string(old) == string(raw) {
		return nil
	}
	if err := durable.Replace(filepath.Join(broker, metaFile), raw); err != nil {
		return fmt.Errorf("prepare the log: %w", err)
	}
	return nil
}

// prepare cuts off a torn end, and writes the snapshot and those indexes that are not as they
// should be. If all records have expired, it keeps the partition's end.
func (p *partition) prepare(broker string) error {
	if len(p.segments) == 0 {
		if p.topic == nil || p.end == 0 {
			// No snapshot is written here. Something in its place that is no file must go, because
			// kfake cannot read it.
			snapshot := filepath.Join(broker, partitionsDir, p.key.dir(), snapshotFile)
			if info, err := os.Lstat(snapshot); err == nil && !info.Mode().IsRegular() {
				return durable.PutAside(snapshot)
			}
			return nil
		}
		f, err := keepEnd(broker, p.key, p.end)
		if err != nil {
			return err
		}
		p.segments = []checked{{file: f, size: f.size, batches: 1, index: true, end: p.end, read: true}}
	}
	for _, c := range p.segments {
		if c.size < c.file.size {
			if err := os.Truncate(p.key.path(broker, c.file.base, dataSuffix), c.size); err != nil {
				return err
			}
		}
		if c.index {
			if err := durable.ReplaceUnsynced(p.key.path(broker, c.file.base, indexSuffix), indexOf(c.batches)); err != nil {
				return err
			}
		}
	}
	raw, err := json.Marshal(p.snapshot())
	if err != nil {
		return err
	}
	// Not synced: if a power cut takes the file, the next start writes it again.
	return durable.ReplaceUnsynced(filepath.Join(broker, partitionsDir, p.key.dir(), snapshotFile), raw)
}

// State returns what the check found on disk, in the form of the state file, with which the next
// start compares the disk. It leaves out folders of topics that are not in the list of topics.
func (r *Report) State() *State {
	s := &State{Topics: r.topics}
	for _, p := range r.sorted() {
		if p.topic == nil {
			continue
		}
		known := PartitionState{Topic: p.key.topic, TopicID: p.topic.ID, Partition: p.key.partition, Start: p.start, End: p.end}
		for _, c := range p.segments {
			known.Segments = append(known.Segments, SegmentState{
				Base: c.file.base, Size: c.size, Oldest: c.oldest, Last: c.lastTime,
				Batches: c.batches, End: c.end, First: c.firstTime, Newest: c.maxTime, Closed: c.closed, Read: c.read,
			})
		}
		s.Partitions = append(s.Partitions, known)
	}
	return s
}
