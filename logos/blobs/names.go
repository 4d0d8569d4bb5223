package blobs

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/internal/durable"
)

// name is a digest of the text, such as a URL, that points to a blob.
type name [16]byte

func nameOf(text string) name {
	sum := sha256.Sum256([]byte(text))
	return name(sum[:16])
}

// Name says to which blob a name points, and since when.
type Name struct {
	Key Key
	// At is the time that Point was given. After a restart it is cut to whole seconds, as the log
	// has them.
	At time.Time
}

// nameRecord is the size of a record in the log: name, key, seconds since 1970, and the first four
// bytes of the SHA-256 of these three.
const nameRecord = 16 + len(Key{}) + 4 + 4

// names maps names, such as URLs, to blobs. It is an LRU cache, which a log of fixed-size records
// restores at a start. A removed name has the zero Key, in the cache and in the log.
type names struct {
	path    string
	limit   int
	mu      sync.Mutex
	known   *lru.Cache[name, Name]
	out     *os.File      // the log; nil before load and after close
	buffer  *bufio.Writer // of out; nil like out
	records int           // in the log, outdated ones too
}

func newNames(path string, limit int) *names {
	known, _ := lru.New[name, Name](limit) // fails only for a size below 1
	return &names{path: path, limit: limit, known: known}
}

// Point makes a name, such as a URL, point to the blob with this key. The zero Key removes the
// name.
func (s *Store) Point(text string, key Key, at time.Time) { s.names.point(nameOf(text), Name{key, at}) }

// Lookup returns the key of the blob that a name points to; false if the name points to none.
func (s *Store) Lookup(text string) (Name, bool) {
	found, ok := s.names.known.Get(nameOf(text))
	return found, ok && found.Key != Key{}
}

func (n *names) point(from name, to Name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known.Add(from, to)
	if n.buffer != nil {
		n.records++
		_, _ = n.buffer.Write(encodeName(from, to)) // flush returns the error
	}
}

func encodeName(from name, to Name) []byte {
	record := append(append(make([]byte, 0, nameRecord), from[:]...), to.Key[:]...)
	record = binary.BigEndian.AppendUint32(record, uint32(to.At.Unix()))
	sum := sha256.Sum256(record)
	return append(record, sum[:4]...)
}

func decodeName(record []byte) (name, Name, bool) {
	sum := sha256.Sum256(record[:nameRecord-4])
	if [4]byte(sum[:4]) != [4]byte(record[nameRecord-4:]) {
		return name{}, Name{}, false
	}
	seconds := binary.BigEndian.Uint32(record[16+len(Key{}):])
	return name(record[:16]), Name{Key(record[16 : 16+len(Key{})]), time.Unix(int64(seconds), 0)}, true
}

// load reads the log and rewrites it, without records that are torn, damaged or outdated. skipped
// counts the damaged records. If the log cannot be read, load puts it aside, starts a new one, and
// returns the error of reading as damaged.
func (n *names) load() (skipped int, damaged, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	in, damaged := os.Open(n.path)
	if damaged == nil {
		skipped, damaged = n.read(in)
		_ = in.Close()
	}
	if errors.Is(damaged, os.ErrNotExist) {
		damaged = nil
	} else if damaged != nil {
		if err := durable.PutAside(n.path); err != nil {
			return skipped, damaged, err
		}
	}
	return skipped, damaged, n.rewrite()
}

// read adds the records of a log to the cache. It skips and counts damaged records, and stops at a
// last record that is cut off.
func (n *names) read(in io.Reader) (skipped int, err error) {
	reader := bufio.NewReaderSize(in, 1<<16)
	record := make([]byte, nameRecord)
	for {
		_, err := io.ReadFull(reader, record)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return skipped, nil
		}
		if err != nil {
			return skipped, fmt.Errorf("read: %w", err)
		}
		if from, to, ok := decodeName(record); ok {
			n.known.Add(from, to)
		} else {
			skipped++
		}
	}
}

// rewrite replaces the log by one that has each name of the cache once, the least recently used
// first.
func (n *names) rewrite() error {
	pending, err := os.OpenFile(n.path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	buffer := bufio.NewWriter(pending)
	n.records = 0
	for _, from := range n.known.Keys() {
		if to, ok := n.known.Peek(from); ok && to.Key != (Key{}) {
			n.records++
			_, _ = buffer.Write(encodeName(from, to)) // Flush returns the error
		}
	}
	if err := buffer.Flush(); err != nil {
		_ = pending.Close()
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(n.path+".new", n.path); err != nil {
		_ = pending.Close()
		return fmt.Errorf("rename: %w", err)
	}
	if n.out != nil {
		_ = n.out.Close()
	}
	n.out, n.buffer = pending, buffer
	return nil
}

// flush writes the records in the buffer. It rewrites the log instead if more than about half of
// its records are outdated, or if the write fails.
func (n *names) flush() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.buffer == nil {
		return nil
	}
	const slack = 10_000 // a small log is not rewritten at every flush
	if n.records > 2*n.known.Len()+slack {
		return n.rewrite()
	}
	if err := n.buffer.Flush(); err != nil {
		return n.rewrite() // a bufio.Writer returns its first error for ever
	}
	return nil
}

func (n *names) close() error {
	err := n.flush()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out != nil {
		_ = n.out.Close()
		n.out, n.buffer = nil, nil
	}
	return err
}
