package segments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/meter"
)

// ErrCopyDamaged says that the log that should be copied has a damaged batch.
var ErrCopyDamaged = errors.New("the log is damaged")

// copyAttempts bounds how often the segments of a partition are listed: a listed segment may expire
// before it is opened, and then they are listed again.
const copyAttempts = 5

// CopyGroups copies the committed offsets of the consumer groups from the data folder root to the
// data folder to. A broker may be running on root. Call CopyGroups before you copy anything that
// the offsets refer to. A folder without committed offsets is no error.
func CopyGroups(root, to string) error {
	raw, err := os.ReadFile(filepath.Join(root, brokerDir, groupsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy commits: %w", err)
	}
	return writeCopy(filepath.Join(to, brokerDir, groupsFile), raw)
}

// Copy copies the records from the data folder root to the data folder to. It begins with the topic
// whose name is first. A broker may be running on root. Each partition is copied up to its last
// whole batch, and every batch's checksum is compared. progress shows how many bytes are copied.
func Copy(ctx context.Context, root, to, first string, progress meter.Meter) error {
	from, target := filepath.Join(root, brokerDir), filepath.Join(to, brokerDir)
	raw, err := os.ReadFile(filepath.Join(from, topicsFile))
	if err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	topics, err := readTopics(from)
	if err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	if err := writeCopy(filepath.Join(target, topicsFile), raw); err != nil {
		return err
	}
	raw, err = os.ReadFile(filepath.Join(from, metaFile)) // the copy keeps the cluster id
	if err == nil {
		err = writeCopy(filepath.Join(target, metaFile), raw)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy the log: %w", err)
	}
	slices.SortStableFunc(topics, func(a, b Topic) int {
		switch first {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	keys, err := listPartitions(from)
	if err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	count, end := progress.Begin("copy the log", meter.Bytes, bytesOf(from, keys))
	defer end()
	for i := range topics {
		for n := range topics[i].Partitions {
			k := key{topics[i].Name, n}
			noted, err := notedEnd(root, k, topics[i].ID)
			if err == nil {
				err = copyPartition(ctx, from, target, k, noted, count)
			}
			if err != nil {
				return fmt.Errorf("copy %s partition %d: %w", k.topic, n, err)
			}
		}
	}
	return nil
}

func writeCopy(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	if err := durable.Replace(name, data); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	return nil
}

// openSegments opens all segments of a partition before the first is copied, because an open file
// can be read even after it has expired.
func openSegments(broker string, k key) ([]*os.File, []file, error) {
	for attempt := 1; ; attempt++ {
		listed, _, err := listPartition(broker, k)
		if err != nil {
			return nil, nil, err
		}
		var opened []*os.File
		for _, f := range listed {
			segment, err := os.Open(k.path(broker, f.base, dataSuffix))
			if err != nil {
				closeAll(opened)
				if errors.Is(err, fs.ErrNotExist) && attempt < copyAttempts { // it has expired
					opened = nil
					break
				}
				return nil, nil, err
			}
			opened = append(opened, segment)
		}
		if len(opened) == len(listed) {
			return opened, listed, nil
		}
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// notedEnd returns the end of a partition as the state of the data folder root has it; 0 if the
// state does not have the partition.
func notedEnd(root string, k key, topicID string) (int64, error) {
	state, err := readState(root)
	if err != nil && !errors.Is(err, errStateDamaged) {
		return 0, err
	}
	if known := state.partition(k); known != nil && known.TopicID == topicID {
		return known.End, nil
	}
	return 0, nil
}

// copyPartition copies one partition and syncs it. end is the partition's end in the state. It is
// used only if no segment is left because all records have expired.
func copyPartition(ctx context.Context, from, target string, k key, end int64, count func(int64)) error {
	opened, listed, err := openSegments(from, k)
	if err != nil {
		return err
	}
	defer closeAll(opened)
	if err := os.MkdirAll(filepath.Join(target, partitionsDir, k.dir()), 0o750); err != nil {
		return err
	}
	if len(opened) == 0 && end > 0 {
		if _, err := keepEnd(target, k, end); err != nil {
			return err
		}
	}
	for i, segment := range opened {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := k.path(target, listed[i].base, dataSuffix)
		if err := copySegment(segment, name, i == len(opened)-1, count); err != nil {
			return err
		}
	}
	return durable.SyncDir(filepath.Join(target, partitionsDir, k.dir()))
}

// copySegment copies the whole batches of a segment. Only the last segment of a partition may end
// within a batch: one that is just being written.
func copySegment(segment *os.File, name string, last bool, count func(int64)) (err error) {
	info, err := segment.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Sync(), out.Close()) }()
	var head [headerBytes]byte
	var buf []byte
	for pos := int64(0); ; {
		_, err := segment.ReadAt(head[:], pos)
		size := sizeOf(head[:])
		if errors.Is(err, io.EOF) || err == nil && pos+size > info.Size() {
			if !last && pos < info.Size() {
				return fmt.Errorf("%w: %s ends within a batch at byte %d", ErrCopyDamaged, segment.Name(), pos)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if size == 0 {
			return fmt.Errorf("%w: %s has no batch at byte %d", ErrCopyDamaged, segment.Name(), pos)
		}
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		buf = buf[:size]
		if _, err := segment.ReadAt(buf, pos); err != nil {
			return err
		}
		if !sound(buf) {
			return fmt.Errorf("%w: %s, the checksum of the batch at byte %d does not hold", ErrCopyDamaged, segment.Name(), pos)
		}
		if _, err := out.Write(buf); err != nil {
			return err
		}
		pos += size
		count(size)
	}
}
