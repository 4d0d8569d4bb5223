package validator

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// entry is what is kept of one version of an account, to know which version is the newest.
type entry struct {
	// address is big endian, so that entries sort as bytes do.
	address [4]uint64
	// version is the rank of the storage (32 bits), the place of the account in it (31 bits), and
	// whether it has no lamports (1 bit). Storages are ranked by slot, so of two versions the
	// higher one counts.
	version uint64
}

const entryBytes = 40

func entryOf(address *pubkey.Key, rank, place uint32, empty bool) (e entry) {
	for i := range e.address {
		e.address[i] = binary.BigEndian.Uint64(address[i*8:])
	}
	e.version = uint64(rank)<<32 | uint64(place)<<1
	if empty {
		e.version |= 1
	}
	return e
}

func (e *entry) rank() uint32  { return uint32(e.version >> 32) }
func (e *entry) place() uint32 { return uint32(e.version) >> 1 }
func (e *entry) empty() bool   { return e.version&1 == 1 }

func (e *entry) compare(other *entry) int {
	for i, word := range e.address {
		if word != other.address[i] {
			return cmp.Compare(word, other.address[i])
		}
	}
	return cmp.Compare(e.version, other.version)
}

func (e *entry) append(out []byte) []byte {
	for _, word := range e.address {
		out = binary.BigEndian.AppendUint64(out, word)
	}
	return binary.BigEndian.AppendUint64(out, e.version)
}

func (e *entry) decode(raw []byte) {
	for i := range e.address {
		e.address[i] = binary.BigEndian.Uint64(raw[i*8:])
	}
	e.version = binary.BigEndian.Uint64(raw[32:])
}

// runEntries is how many entries are sorted in memory: 80 MB, and as much again while a run is
// written.
const runEntries = 2_000_000

// spill is an external merge sort: entries are gathered in memory, sorted into runs, and written to
// a file, one run after the other. add is safe for concurrent use, the other methods are not.
type spill struct {
	file *os.File
	// runs are the numbers of entries of the runs in the file.
	runs []int64
	most int // how many entries make a run

	mu      sync.Mutex
	buffer  []entry
	writing sync.WaitGroup
	spare   []entry // the memory of the last run, to be used again
	err     error   // of the last write; guarded by writing, as spare is
}

// openSpill opens the file at path, and cuts it to these runs. The rest is from after the last
// checkpoint.
func openSpill(path string, runs []int64, most int) (*spill, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the spill of accounts: %w", err)
	}
	s := &spill{file: file, runs: slices.Clone(runs), most: most}
	if err := file.Truncate(s.bytes()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("cut the spill of accounts: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("spill of accounts: %w", err)
	}
	return s, nil
}

func (s *spill) entries() (n int64) {
	for _, run := range s.runs {
		n += run
	}
	return n
}

// bytes returns the length of the file.
func (s *spill) bytes() int64 { return s.entries() * entryBytes }

func (s *spill) close() {
	s.writing.Wait()
	_ = s.file.Close()
}

// add adds entries. It writes a run when there are enough.
func (s *spill) add(entries []entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffer = append(s.buffer, entries...)
	if len(s.buffer) < s.most {
		return nil
	}
	return s.write()
}

// write begins to write the buffer as a run, after the run before it is written.
func (s *spill) write() error {
	s.writing.Wait()
	if s.err != nil || len(s.buffer) == 0 {
		return s.err
	}
	run := s.buffer
	s.buffer, s.spare = s.spare[:0], nil
	s.runs = append(s.runs, int64(len(run)))
	s.writing.Go(func() {
		s.err = writeRun(s.file, run)
		s.spare = run
	})
	return nil
}

func writeRun(file *os.File, run []entry) error {
	slices.SortFunc(run, func(a, b entry) int { return a.compare(&b) })
	out := bufio.NewWriterSize(file, 1<<20)
	var line [entryBytes]byte
	for i := range run {
		if _, err := out.Write(run[i].append(line[:0])); err != nil {
			return fmt.Errorf("write the spill of accounts: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the spill of accounts: %w", err)
	}
	return nil
}

// flush writes what is in memory, and makes the file durable.
func (s *spill) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(); err != nil {
		return err
	}
	s.writing.Wait()
	if s.err != nil {
		return s.err
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync the spill of accounts: %w", err)
	}
	return nil
}
