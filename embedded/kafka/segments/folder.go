package segments

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names in kfake's folder, and the version of the format that this package knows.
const (
	metaFile      = "meta.json"
	topicsFile    = "topics.json"
	groupsFile    = "groups.log"
	producersFile = "pids.log"
	windowsFile   = "seq_windows.json"
	snapshotFile  = "snapshot.json"
	partitionsDir = "partitions"
	dataSuffix    = ".dat"
	indexSuffix   = ".idx"

	formatVersion = 1
)

// Topic is a topic in topics.json.
type Topic struct {
	Name string `json:"name"`
	// ID is the topic's UUID in base64. A topic that is deleted and made again has another one.
	ID         string            `json:"id"`
	Partitions int               `json:"partitions"`
	Replicas   int               `json:"replicas"`
	Configs    map[string]string `json:"configs,omitempty"`
}

// forever reports whether the records of the topic never expire.
func (t *Topic) forever() bool { return t.keeps("retention.ms") && t.keeps("retention.bytes") }

// keeps reports whether a retention setting keeps records for ever.
func (t *Topic) keeps(setting string) bool {
	value, ok := t.Configs[setting]
	return !ok || strings.HasPrefix(value, "-") // the broker's own default is for ever
}

// retention returns the age at which records expire, in milliseconds; -1 means never.
func (t *Topic) retention() int64 {
	ms, err := strconv.ParseInt(t.Configs["retention.ms"], 10, 64)
	if err != nil {
		return -1
	}
	return ms
}

// topicsDocument is topics.json.
type topicsDocument struct {
	Version int     `json:"version"`
	Topics  []Topic `json:"topics"`
}

// readTopics returns the topics of topics.json, sorted by name. The error is os.ErrNotExist if
// there is no file.
func readTopics(broker string) ([]Topic, error) {
	raw, err := os.ReadFile(filepath.Join(broker, topicsFile))
	if err != nil {
		return nil, err
	}
	var document topicsDocument
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("parse %s: %w", topicsFile, err)
	}
	if document.Version != formatVersion {
		return nil, fmt.Errorf("%s says version %d, not %d", topicsFile, document.Version, formatVersion)
	}
	sortTopics(document.Topics)
	return document.Topics, nil
}

func sortTopics(topics []Topic) {
	slices.SortFunc(topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
}

// key names one partition.
type key struct {
	topic     string
	partition int
}

// dir returns the name of the partition's folder.
func (k key) dir() string { return fmt.Sprintf("%s-%d", url.PathEscape(k.topic), k.partition) }

// keyOf parses the name of a partition's folder.
func keyOf(dir string) (key, bool) {
	at := strings.LastIndexByte(dir, '-')
	if at < 0 {
		return key{}, false
	}
	partition, err := strconv.Atoi(dir[at+1:])
	topic, escape := url.PathUnescape(dir[:at])
	if err != nil || escape != nil || partition < 0 || (key{topic, partition}).dir() != dir {
		return key{}, false
	}
	return key{topic, partition}, true
}

// file is a segment's file.
type file struct {
	base int64
	size int64
}

// listPartition returns the segments of a partition, sorted by base offset, and the base offsets of
// its indexes. A missing folder has neither.
func listPartition(broker string, k key) (data []file, indexes []int64, err error) {
	entries, err := os.ReadDir(filepath.Join(broker, partitionsDir, k.dir()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list segments: %w", err)
	}
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		base, err := strconv.ParseInt(strings.TrimSuffix(entry.Name(), suffix), 10, 64)
		if err != nil || base < 0 || entry.IsDir() || suffix != dataSuffix && suffix != indexSuffix {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) { // it has expired meanwhile
				continue
			}
			return nil, nil, fmt.Errorf("list segments: %w", err)
		}
		if suffix == indexSuffix {
			indexes = append(indexes, base)
			continue
		}
		data = append(data, file{base: base, size: info.Size()})
	}
	slices.SortFunc(data, func(a, b file) int { return cmp.Compare(a.base, b.base) })
	return data, indexes, nil
}

// path returns the path of a segment's file. suffix is dataSuffix or indexSuffix.
func (k key) path(broker string, base int64, suffix string) string {
	return filepath.Join(broker, partitionsDir, k.dir(), strconv.FormatInt(base, 10)+suffix)
}

// listPartitions lists the partitions that have a folder.
func listPartitions(broker string) ([]key, error) {
	entries, err := os.ReadDir(filepath.Join(broker, partitionsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	var keys []key
	for _, entry := range entries {
		if k, ok := keyOf(entry.Name()); ok && entry.IsDir() {
			keys = append(keys, k)
		}
	}
	return keys, nil
}
