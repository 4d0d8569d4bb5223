package segments

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/meter"
)

// PendingFile is the name of the file that describes a repair that is not done. While the file
// exists, the broker starts only with kafka.Config.Repairing.
const PendingFile = "REPAIR.json"

// AsideDir is the folder in which repairs keep copies of the files that they change.
const AsideDir = "damaged"

// Pending is a repair that has begun and is not done.
type Pending struct {
	// Damages has the damage of this repair and of those that were interrupted before.
	Damages []Damage `json:"damages"`
	// Aside is the folder with the old files.
	Aside string `json:"aside"`
}

// ReadPending returns the repair that is not done; nil if there is none.
func ReadPending(root string) (*Pending, error) {
	raw, err := os.ReadFile(filepath.Join(root, PendingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // there is none
	}
	p := new(Pending)
	if err == nil {
		err = json.Unmarshal(raw, p)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", PendingFile, err)
	}
	return p, nil
}

// Done ends the repair. Call it when the readers of the log have been told of the damage.
func (p *Pending) Done(root string) error {
	if err := os.Remove(filepath.Join(root, PendingFile)); err != nil {
		return fmt.Errorf("end the repair: %w", err)
	}
	return durable.SyncDir(root)
}

// repairer is one round of Repair.
type repairer struct {
	root, broker, aside string
	report              *Report
	catalogue           []Topic
}

// Repair corrects the batches that can be corrected and replaces the others by marker batches, so
// that all other records keep their offsets. Before it changes a segment, the list of topics or the
// state, it copies the file to AsideDir. Indexes and snapshots are not copied: they are made again.
// If the list of topics is lost, a topic gets its configuration from catalogue; the topics there
// need no IDs. progress is passed to Check. The caller tells the readers of the log about the
// damage in the result, and then calls Done. An interrupted Repair may be called again, with a new
// report.
func Repair(root string, r *Report, catalogue []Topic, progress meter.Meter) (*Pending, error) {
	pending, err := ReadPending(root)
	if err != nil {
		return nil, err
	}
	if pending == nil {
		pending = &Pending{Aside: filepath.Join(AsideDir, time.Now().UTC().Format("20060102T150405Z"))}
	}
	for range rounds {
		pending.Damages = append(pending.Damages, r.Damages...)
		if err := pending.write(root); err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
		w := repairer{root: root, broker: filepath.Join(root, brokerDir), aside: filepath.Join(root, pending.Aside), report: r, catalogue: catalogue}
		if err := w.run(); err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
		if r, err = Check(root, progress); err != nil {
			return nil, err
		}
		if len(r.Damages) == 0 {
			if err := r.State().write(root); err != nil {
				return nil, fmt.Errorf("repair: %w", err)
			}
			return pending, nil
		}
	}
	return nil, fmt.Errorf("repair: still damaged: %s", r.Summary())
}

// rounds bounds how often Repair repairs and checks again. A check with a repaired list of topics
// can find more damage than the check before.
const rounds = 3

func (p *Pending) write(root string) error {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(root, PendingFile), raw)
}

// run repairs what the report lists.
func (w *repairer) run() error {
	for _, name := range []string{StateFile, filepath.Join(brokerDir, topicsFile)} {
		if err := w.keep(name); err != nil {
			return err
		}
	}
	if err := w.writeTopics(); err != nil {
		return err
	}
	for _, p := range w.report.sorted() {
		if len(p.damages) > 0 {
			if err := w.repairPartition(p); err != nil {
				return err
			}
		}
	}
	if err := w.fillDeleted(); err != nil {
		return err
	}
	// The old state does not fit the repaired log. Repair writes a new one at its end.
	if err := os.Remove(filepath.Join(w.root, StateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.dropSnapshots()
}

// dropSnapshots removes kfake's snapshots: the ends of partitions in them may not be true any more.
// The next start writes new ones.
func (w *repairer) dropSnapshots() error {
	for k := range w.report.partitions {
		err := os.Remove(filepath.Join(w.broker, partitionsDir, k.dir(), snapshotFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keep copies a file of the data folder to the repair's folder in AsideDir. A file that does not
// exist is no error.
func (w *repairer) keep(name string) error {
	to := filepath.Join(w.aside, name)
	if _, err := os.Stat(to); err == nil {
		return nil // this copy was made before any repair changed the file
	}
	from, err := os.Open(filepath.Join(w.root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(to+durable.Suffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(to+durable.Suffix, to)
}

// writeTopics writes the list of topics if it is damaged, or if a topic was deleted.
func (w *repairer) writeTopics() error {
	r := w.report
	rewrite := slices.ContainsFunc(r.Damages, func(d Damage) bool { return d.Kind == KindTopics })
	topics := slices.Clone(r.topics)
	if r.state != nil {
		for _, d := range r.state.Deleted {
			if topicNamed(topics, d.Topic.Name) == nil {
				topics, rewrite = append(topics, d.Topic), true
			}
		}
	}
	if !rewrite {
		return nil
	}
	// What the list lacks is added: partitions of its topics, and topics that have records.
	for _, p := range r.sorted() {
		if topic := topicNamed(topics, p.key.topic); topic != nil {
			topic.Partitions = max(topic.Partitions, p.key.partition+1)
			continue
		}
		if len(p.segments) > 0 {
			topics = append(topics, w.described(p.key.topic, p.key.partition+1))
		}
	}
	sortTopics(topics)
	raw, err := json.Marshal(topicsDocument{formatVersion, topics})
	if err != nil {
		return err
	}
	r.topics = topics
	return durable.Replace(filepath.Join(w.broker, topicsFile), raw)
}

// described returns a topic with the configuration of the catalogue and a new ID. If the topic is
// not in the catalogue, its records never expire.
func (w *repairer) described(name string, partitions int) Topic {
	topic := Topic{Name: name, Partitions: partitions, Replicas: 1, Configs: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}}
	if known := topicNamed(w.catalogue, name); known != nil {
		topic.Partitions, topic.Configs = max(partitions, known.Partitions), known.Configs
	}
	var id [16]byte
	_, _ = rand.Read(id[:])                         // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a UUID of version 4
	topic.ID = base64.StdEncoding.EncodeToString(id[:])
	return topic
}

// repairPartition repairs the segments of one partition.
func (w *repairer) repairPartition(p *partition) error {
	for i := range p.segments {
		if p.segments[i].pieces != nil {
			if err := w.rewriteSegment(p, &p.segments[i]); err != nil {
				return err
			}
		}
	}
	for i := range p.damages {
		d := &p.damages[i]
		// Records that are gone from the beginning or the end have no bytes that could be replaced.
		// Their markers get a segment of their own.
		if d.Loses() && (d.Kind == KindCut || d.Kind == KindMissing && d.Position == 0) {
			if err := w.newSegment(p.key, d.From, markersOf(p.key.topic, p.key.partition, d.From, d.To, d.time())); err != nil {
				return err
			}
		}
	}
	return nil
}

// time returns the time of the markers for the lost records, in Unix milliseconds. It is the
// highest time of the records before the lost ones: kfake drops all that is in front of an expired
// batch, so a marker that expires earlier would take younger records with it. Without a record
// before, it is the time of the record behind, or else now.
func (d *Damage) time() int64 {
	switch {
	case !d.highest.IsZero():
		return d.highest.UnixMilli()
	case !d.Before.IsZero():
		return d.Before.UnixMilli()
	default:
		return time.Now().UnixMilli()
	}
}

// rewriteSegment writes a segment again: good batches as they are, the others corrected or replaced
// by markers. A torn end is left out.
func (w *repairer) rewriteSegment(p *partition, c *checked) error {
	name := p.key.path(w.broker, c.file.base, dataSuffix)
	relative, err := filepath.Rel(w.root, name)
	if err != nil {
		return err
	}
	if err := w.keep(relative); err != nil {
		return err
	}
	data, err := readSegment(name, nil)
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(data))
	for i := range c.pieces {
		piece := &c.pieces[i]
		raw := data[piece.pos : piece.pos+piece.size]
		switch piece.kind {
		case whole:
			out = append(out, raw...)
		case header:
			at := len(out)
			out = append(out, raw...)
			setHeader(out[at:], piece.batch.base, 0)
		case flipped:
			out = append(out, correct(raw, piece.batch.base)...)
		case missing:
			if piece.pos > 0 { // else the markers get a segment of their own
				out = append(out, markersOf(p.key.topic, p.key.partition, piece.from, piece.to, p.timeAt(piece.from))...)
			}
		case lost:
			out = append(out, markersOf(p.key.topic, p.key.partition, piece.from, piece.to, p.timeAt(piece.from))...)
		case torn:
		}
	}
	if err := os.Remove(p.key.path(w.broker, c.file.base, indexSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.Replace(name, out)
}

// timeAt returns the time of the markers for the damage whose first lost offset is from, in Unix
// milliseconds.
func (p *partition) timeAt(from int64) int64 {
	for i := range p.damages {
		if p.damages[i].From == from && p.damages[i].Loses() {
			return p.damages[i].time()
		}
	}
	return time.Now().UnixMilli()
}

// newSegment writes a segment of markers that begins at offset base. It removes the old index of
// that segment, and later indexes that have no segment.
func (w *repairer) newSegment(k key, base int64, data []byte) error {
	name := k.path(w.broker, base, dataSuffix)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	_, indexes, err := listPartition(w.broker, k)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if index < base {
			continue
		}
		if _, err := os.Stat(k.path(w.broker, index, dataSuffix)); errors.Is(err, fs.ErrNotExist) || index == base {
			if err := os.Remove(k.path(w.broker, index, indexSuffix)); err != nil {
				return err
			}
		}
	}
	return durable.Replace(name, data)
}

// fillDeleted fills deleted topics with markers in place of their records, so that the offsets are
// not used twice. writeTopics has put the topics back into the list.
func (w *repairer) fillDeleted() error {
	if w.report.state == nil {
		return nil
	}
	for _, d := range w.report.state.Deleted {
		if topic := topicNamed(w.report.topics, d.Topic.Name); topic == nil || topic.ID != d.Topic.ID {
			continue // a new topic has this name
		}
		for _, p := range d.Partitions {
			if p.End <= p.Start {
				continue
			}
			k := key{p.Topic, p.Partition}
			if err := w.newSegment(k, p.Start, markersOf(p.Topic, p.Partition, p.Start, p.End-1, time.Now().UnixMilli())); err != nil {
				return err
			}
		}
	}
	return nil
}
