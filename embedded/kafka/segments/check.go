// Package segments reads the embedded broker's files without the broker, finds what is damaged, and
// repairs it.
//
// In: the folder of a broker that is not running: segments of record batches with their indexes,
// the list of topics, the state of consumer groups, and the state that this package writes beside
// them (LOG_STATE.json). Out: a report; records; a repaired folder. Guarantees: checking and
// reading write nothing. Every batch is read and its checksum compared before kfake opens the
// folder, since kfake cuts a log off at the first batch that it cannot read. Closed segments whose
// files have not changed since the state was written are the exception: kfake does not read them
// either when it starts, and they are read while it serves. An incomplete last batch is damage only
// if an index entry or the state proves that it was whole. Repair loses only damaged batches, keeps
// every other record at its offset, and keeps copies of the files that it changes.
//
// The format is kfake's: third_party/kfake/persist.go describes it.
package segments

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/meter"
)

// brokerDir is kfake's folder within the data folder.
const brokerDir = "broker"

// partition is what Check found of one partition.
type partition struct {
	key      key
	topic    *Topic // nil if the list of topics does not name it
	start    int64  // offset of the first record
	end      int64  // offset behind the last record
	segments []checked
	lost     []LostRange
	damages  []Damage
	notices  []string
	bytes    int64 // number of bytes that were read
	trusting bool  // see CheckOpen
}

// checked is what Check found of one segment.
type checked struct {
	file file
	// size is the end of the last good batch. A torn end is not counted.
	size               int64
	batches            int
	firstTime, maxTime int64
	oldest             int64   // see SegmentState
	lastTime           int64   // of the last batch
	pieces             []piece // nil for a segment without damage
	index              bool    // the index must be written again
	end                int64   // offset behind the last record
	read               bool    // see SegmentState.Read
	closed             *fileID // see SegmentState.Closed
	unread             bool    // the state describes it, and it was not read
}

// Check reads and checks the whole data folder of a broker that is not running. progress shows how
// many bytes are checked.
func Check(root string, progress meter.Meter) (*Report, error) {
	return check(root, progress, false)
}

// CheckOpen is Check for the start of a broker. It does not read closed segments whose files are
// those that the state describes, so its time does not grow with the log. Verify reads them later.
func CheckOpen(root string, progress meter.Meter) (*Report, error) {
	return check(root, progress, true)
}

func check(root string, progress meter.Meter, trusting bool) (*Report, error) {
	broker := filepath.Join(root, brokerDir)
	r := &Report{partitions: make(map[key]*partition), trusting: trusting}
	state, err := readState(root)
	if errors.Is(err, errStateDamaged) {
		r.Notices = append(r.Notices, StateFile+": "+err.Error()+"; it is made anew")
	} else if err != nil {
		return nil, err
	}
	r.state = state
	keys, err := listPartitions(broker)
	if err != nil {
		return nil, err
	}
	if err := r.checkTopics(broker, keys); err != nil {
		return nil, err
	}
	count, end := progress.Begin("check the log", meter.Bytes, bytesOf(broker, keys))
	defer end()
	if err := r.checkPartitions(broker, keys, count); err != nil {
		return nil, err
	}
	r.checkDeleted()
	r.checkOthers(broker)
	for _, p := range r.sorted() {
		r.Damages = append(r.Damages, p.damages...)
		r.Notices = append(r.Notices, p.notices...)
		r.Lost = append(r.Lost, p.lost...)
		r.Bytes += p.bytes
	}
	return r, nil
}

// sorted returns the partitions by topic and number.
func (r *Report) sorted() []*partition {
	all := make([]*partition, 0, len(r.partitions))
	for _, p := range r.partitions {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *partition) int {
		return cmp.Or(cmp.Compare(a.key.topic, b.key.topic), cmp.Compare(a.key.partition, b.key.partition))
	})
	return all
}

func damagedTopics(what string) Damage {
	return Damage{Kind: KindTopics, Partition: -1, File: topicsFile, To: -1, What: what}
}

// checkTopics compares the list of topics with the state and with the partitions that have data. It
// sets r.topics to the best list that is known.
func (r *Report) checkTopics(broker string, keys []key) error {
	topics, err := readTopics(broker)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !isFormat(err) {
			return err
		}
		// Nothing proves that there ever was a topic with records. So nothing is lost, and kfake
		// may begin with an empty list.
		if (r.state == nil || len(r.state.Topics)+len(r.state.Deleted) == 0) && !hasData(broker, keys) {
			if !errors.Is(err, fs.ErrNotExist) {
				r.drop = append(r.drop, topicsFile, metaFile)
				r.Notices = append(r.Notices, topicsFile+": "+err.Error()+"; no topic has records, it is made anew")
			}
			return nil
		}
		what := "the list of topics is gone"
		if !errors.Is(err, fs.ErrNotExist) {
			what = "the list of topics cannot be read: " + err.Error()
		}
		r.Damages = append(r.Damages, damagedTopics(what))
		if r.state != nil {
			r.topics = r.state.Topics
		}
		return nil
	}
	r.topics = topics
	switch {
	case r.state == nil:
	case r.state.Changing:
		r.state.noteDeleted(topics)
	default:
		r.compareTopics(topics)
	}
	for _, k := range keys {
		if topic := topicNamed(r.topics, k.topic); (topic == nil || k.partition >= topic.Partitions) && hasData(broker, []key{k}) {
			r.Damages = append(r.Damages, damagedTopics(fmt.Sprintf("it does not name %s partition %d, which has records", k.topic, k.partition)))
		}
	}
	return nil
}

// compareTopics adds a damage for each difference between the list and the state. If there is a
// difference, the list of the state is used.
func (r *Report) compareTopics(topics []Topic) {
	damaged := len(r.Damages)
	for i := range r.state.Topics {
		known := &r.state.Topics[i]
		switch topic := topicNamed(topics, known.Name); {
		case topic == nil:
			r.Damages = append(r.Damages, damagedTopics("topic "+known.Name+" is not in it any more"))
		case !sameTopic(topic, known):
			r.Damages = append(r.Damages, damagedTopics("what it says of topic "+known.Name+" is not what was written"))
		}
	}
	for i := range topics {
		if r.state.topic(topics[i].Name) == nil {
			r.Damages = append(r.Damages, damagedTopics("topic "+topics[i].Name+" was never made"))
		}
	}
	if len(r.Damages) > damaged {
		r.topics = r.state.Topics
	}
}

// isFormat reports whether err is about the content of a file, and not about opening or reading it.
func isFormat(err error) bool {
	var path *fs.PathError
	return !errors.As(err, &path)
}

// bytesOf returns the size of all segments that can be listed.
func bytesOf(broker string, keys []key) (size int64) {
	for _, k := range keys {
		data, _, err := listPartition(broker, k)
		if err != nil {
			continue // the check returns this error
		}
		for _, f := range data {
			size += f.size
		}
	}
	return size
}

func hasData(broker string, keys []key) bool { return bytesOf(broker, keys) > 0 }

// checkPartitions checks all partitions that have a folder, are in the list of topics or in the
// state, a few at a time.
func (r *Report) checkPartitions(broker string, keys []key, count func(int64)) error {
	for i := range r.topics {
		for n := range r.topics[i].Partitions {
			keys = append(keys, key{r.topics[i].Name, n})
		}
	}
	if r.state != nil {
		for _, p := range r.state.Partitions {
			keys = append(keys, key{p.Topic, p.Partition})
		}
	}
	var group errgroup.Group
	var mu sync.Mutex
	group.SetLimit(min(runtime.GOMAXPROCS(0), 4))
	seen := make(map[key]bool)
	for _, k := range keys {
		if seen[k] {
			continue
		}
		seen[k] = true
		group.Go(func() error {
			p := &partition{key: k, topic: topicNamed(r.topics, k.topic), trusting: r.trusting}
			known := r.state.partition(k)
			if known != nil && p.topic != nil && known.TopicID != p.topic.ID {
				known = nil // it is of an earlier topic with this name
			}
			if err := p.check(broker, known, count); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			r.partitions[k] = p
			return nil
		})
	}
	return group.Wait()
}

// checkDeleted adds a damage for each partition with records of a topic that was deleted while the
// broker ran.
func (r *Report) checkDeleted() {
	if r.state == nil {
		return
	}
	for _, deleted := range r.state.Deleted {
		for _, p := range deleted.Partitions {
			if p.End > p.Start {
				r.Damages = append(r.Damages, Damage{
					Kind: KindDeleted, Topic: p.Topic, Partition: p.Partition, From: p.Start, To: p.End - 1, What: "topic " + p.Topic + " was deleted",
				})
			}
		}
	}
}

// readSegment reads a whole segment, into buf if buf is large enough.
func readSegment(name string, buf []byte) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	size := int(info.Size())
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(f, buf); err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	return buf, nil
}

// timeOf converts Unix milliseconds. If ms is 0 or less, it returns the zero time.
func timeOf(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
