package root

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// perPart is how many records a part has on average. It has at most as many mints, which take
	// 500 MB of memory.
	perPart = 250_000
	// maxRecord bounds a record that is read back.
	maxRecord = 64 << 20
)

// partsOf returns into how many parts a log of that many records is divided. A log that fits into
// memory is one part, and is not spilled.
func partsOf(records int64) int { return int(min(records/perPart+1, root.MaxParts/4)) }

// spill has a log's records in files on disk, by the parts of their mints. The files are unlinked
// while they are open, so nothing is left of them when the process ends, however it ends.
type spill struct {
	divider *root.Divider
	files   []*os.File
	outs    []*bufio.Writer
	bytes   int64
}

// newSpill makes the files in a folder.
func newSpill(folder string, parts int) (*spill, error) {
	s := &spill{divider: root.NewDivider(parts)}
	for range parts {
		file, err := os.CreateTemp(folder, "mintlake-root-*")
		if err != nil {
			s.close()
			return nil, fmt.Errorf("spill the log: %w", err)
		}
		s.files = append(s.files, file)
		s.outs = append(s.outs, bufio.NewWriterSize(file, 128<<10))
		if err := os.Remove(file.Name()); err != nil {
			s.close()
			return nil, fmt.Errorf("spill the log: %w", err)
		}
	}
	return s, nil
}

func (s *spill) close() {
	for _, file := range s.files {
		_ = file.Close()
	}
}

// add writes a record to the parts of the mints that its facts are about; most are about one.
func (s *spill) add(record *kafka.Record, facts []registry.Fact) error {
	written := -1
	var last pubkey.Key
	for i := range facts {
		if i > 0 && facts[i].Mint == last {
			continue
		}
		last = facts[i].Mint
		part := s.divider.Of(last)
		if part == written {
			continue
		}
		written = part
		if err := s.write(part, record); err != nil {
			return fmt.Errorf("spill the log: %w", err)
		}
	}
	return nil
}

func (s *spill) write(part int, record *kafka.Record) error {
	var header [5]byte
	if record.Topic == schemas.TopicEnrichments {
		header[0] = 1
	}
	binary.LittleEndian.PutUint32(header[1:], uint32(len(record.Value)))
	if _, err := s.outs[part].Write(header[:]); err != nil {
		return err
	}
	s.bytes += int64(len(header) + len(record.Value))
	_, err := s.outs[part].Write(record.Value)
	return err
}

// each visits the records of a part, in the order of the log. A record is valid during the call.
func (s *spill) each(part int, visit func(*kafka.Record)) error {
	if err := s.outs[part].Flush(); err != nil {
		return fmt.Errorf("spill the log: %w", err)
	}
	if _, err := s.files[part].Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the spilled log: %w", err)
	}
	in := bufio.NewReaderSize(s.files[part], 1<<20)
	var header [5]byte
	record := kafka.Record{}
	for {
		if _, err := io.ReadFull(in, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the spilled log: %w", err)
		}
		length := binary.LittleEndian.Uint32(header[1:])
		if length > maxRecord {
			return errors.New("read the spilled log: it is damaged")
		}
		if int(length) > cap(record.Value) {
			record.Value = make([]byte, length)
		}
		record.Value = record.Value[:length]
		if _, err := io.ReadFull(in, record.Value); err != nil {
			return fmt.Errorf("read the spilled log: %w", err)
		}
		record.Topic = schemas.TopicTokenEvents
		if header[0] == 1 {
			record.Topic = schemas.TopicEnrichments
		}
		visit(&record)
	}
}

// folder is where the log is spilled.
func (q *Query) folder() string {
	if q.Folder == "" {
		return os.TempDir()
	}
	return q.Folder
}

// replayParts computes the root of a log whose mints do not fit in memory together: it spills the
// log by parts of the mints, and replays one part after the other.
func (q *Query) replayParts(ctx context.Context, topics []string, count int) (root.Root, error) {
	spill, err := newSpill(q.Folder, count)
	if err != nil {
		return root.Root{}, err
	}
	q.Logger.Info("mints do not fit in memory together: the log is spilled to disk", "folder", q.folder(), "parts", count)
	defer spill.close()
	var failed error
	err = q.read(ctx, topics, func(record *kafka.Record, facts []registry.Fact) {
		if failed == nil {
			failed = spill.add(record, facts)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return root.Root{}, err
	}
	q.Logger.Info("log spilled to disk", "bytes", spill.bytes, "parts", count)
	parts := root.NewParts(q.AtSlot)
	advance, stop := q.Progress.Begin("root of parts", "parts", int64(count))
	defer stop()
	for part := range count {
		if err := ctx.Err(); err != nil {
			return root.Root{}, err
		}
		replay, err := q.replayPart(spill, part)
		if err != nil {
			return root.Root{}, err
		}
		parts.Add(replay)
		advance(1)
	}
	return parts.Root(), nil
}

func (q *Query) replayPart(spill *spill, part int) (*root.Replay, error) {
	replay := root.NewReplay(q.AtSlot)
	apply := func(record *kafka.Record) {
		facts, err := factsOfRecord(record)
		if err != nil {
			return // read has counted it as unreadable
		}
		for len(facts) > 0 { // facts about one mint are side by side
			n := 1
			for n < len(facts) && facts[n].Mint == facts[0].Mint {
				n++
			}
			if spill.divider.Of(facts[0].Mint) == part {
				replay.Apply(facts[:n])
			}
			facts = facts[n:]
		}
	}
	err := spill.each(part, apply)
	if err == nil && replay.Again() {
		err = spill.each(part, apply)
	}
	return replay, err
}
