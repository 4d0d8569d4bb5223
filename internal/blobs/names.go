package blobs

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// name is a digest of what a blob was fetched from.
type name [16]byte

func nameOf(text string) name {
	sum := sha256.Sum256([]byte(text))
	return name(sum[:16])
}

// Name is where a name points to, and since when.
type Name struct {
	Key Key
	// At is cut to the second.
	At time.Time
}

const nameRecord = 16 + len(Key{}) + 4 + 4 // the last four are a check of the others

// names is where URLs point to: a log of fixed records that is read at start and written anew when
// most of it is out of date. A record that is torn or damaged is passed over.
type names struct {
	path    string
	limit   int
	mu      sync.Mutex
	known   *lru.Cache[name, Name]
	out     *os.File
	buffer  *bufio.Writer
	records int
}

func newNames(path string, limit int) *names {
	known, _ := lru.New[name, Name](limit) // fails only for a size below 1
	return &names{path: path, limit: limit, known: known}
}

// Point makes a name (a URL) point to a blob. The zero Key takes the name away.
func (s *Store) Point(text string, key Key, at time.Time) { s.names.point(nameOf(text), Name{key, at}) }

// Lookup is where a name points to.
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
		_, _ = n.buffer.Write(encodeName(from, to)) // an error comes back with the next flush
	}
}

func encodeName(from name, to Name) []byte {
	record := append(append(make([]byte, 0, nameRecord), from[:]...), to.Key[:]...)
	at := uint32(to.At.Unix())
	record = append(record, byte(at>>24), byte(at>>16), byte(at>>8), byte(at))
	sum := sha256.Sum256(record)
	return append(record, sum[:4]...)
}

func decodeName(record []byte) (name, Name, bool) {
	sum := sha256.Sum256(record[:nameRecord-4])
	if [4]byte(sum[:4]) != [4]byte(record[nameRecord-4:]) {
		return name{}, Name{}, false
	}
	at := record[16+len(Key{}):]
	seconds := int64(at[0])<<24 | int64(at[1])<<16 | int64(at[2])<<8 | int64(at[3])
	return name(record[:16]), Name{Key(record[16 : 16+len(Key{})]), time.Unix(seconds, 0)}, true
}

// load reads the log, and writes it anew when it has become much longer than what it says.
func (n *names) load() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	in, err := os.Open(n.path)
	if err == nil {
		err = n.read(in)
		_ = in.Close()
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return n.rewrite()
}

func (n *names) read(in io.Reader) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	record := make([]byte, nameRecord)
	for {
		_, err := io.ReadFull(reader, record)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if from, to, ok := decodeName(record); ok {
			n.known.Add(from, to)
		}
	}
}

// rewrite replaces the log by one of the names that are known.
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
			_, _ = buffer.Write(encodeName(from, to)) // Flush says it
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

func (n *names) flush() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.buffer == nil {
		return nil
	}
	if n.records > 2*n.known.Len()+10_000 {
		return n.rewrite()
	}
	if err := n.buffer.Flush(); err != nil {
		return n.rewrite() // the buffer keeps its error for ever
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
