package validator

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// stage is a file of facts, or of token accounts, that wait until the snapshot is checked. Each has
// the rank of its storage, the place of its account in the storage, its length, and its bytes. add
// is safe for concurrent use, the other methods are not.
type stage struct {
	file *os.File

	mu    sync.Mutex
	out   *bufio.Writer
	bytes int64
	facts int64
}

// stageHeader is the length of rank, place and length in bytes.
const stageHeader = 4 + 4 + 4

// maxFact bounds a staged fact. An account has 10 MiB at most.
const maxFact = 32 << 20

// openStage opens the file at path. bytes is its length and facts how many facts it has, both as of
// the last checkpoint. What follows is cut off.
func openStage(path string, bytes, facts int64) (*stage, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the staged facts: %w", err)
	}
	if err := file.Truncate(bytes); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("cut the staged facts: %w", err)
	}
	if _, err := file.Seek(bytes, io.SeekStart); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("staged facts: %w", err)
	}
	return &stage{file: file, out: bufio.NewWriterSize(file, 1<<20), bytes: bytes, facts: facts}, nil
}

func (s *stage) close() { _ = s.file.Close() }

// appendStaged appends a fact to out, as the file has it. value appends the fact's own bytes.
func appendStaged(out []byte, rank, place uint32, value func(out []byte) ([]byte, error)) ([]byte, error) {
	start := len(out)
	out = binary.LittleEndian.AppendUint32(out, rank)
	out = binary.LittleEndian.AppendUint32(out, place)
	out, err := value(append(out, 0, 0, 0, 0))
	if err != nil {
		return nil, fmt.Errorf("encode a fact: %w", err)
	}
	length := len(out) - start - stageHeader
	if length > maxFact {
		return nil, fmt.Errorf("a fact has %d bytes", length)
	}
	binary.LittleEndian.PutUint32(out[start+8:], uint32(length))
	return out, nil
}

// appendFact is appendStaged for a fact in protobuf.
func appendFact(out []byte, rank, place uint32, fact *eventspb.Enrichment) ([]byte, error) {
	return appendStaged(out, rank, place, func(out []byte) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(out, fact) })
}

// add writes facts that appendStaged made: raw has as many as facts says.
func (s *stage) add(raw []byte, facts int64) error {
	if facts == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(raw); err != nil {
		return fmt.Errorf("stage facts: %w", err)
	}
	s.bytes += int64(len(raw))
	s.facts += facts
	return nil
}

// flush makes what was added durable.
func (s *stage) flush() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("stage facts: %w", err)
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync the staged facts: %w", err)
	}
	return nil
}

// staged is a fact of the file, and where it ends there.
type staged struct {
	rank, place uint32
	value       []byte
	end         int64
}

// each calls see for every fact from the offset from on, in bytes. The fact is valid during the
// call.
func (s *stage) each(from int64, see func(*staged) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, from, s.bytes-from), 1<<20)
	fact := staged{end: from}
	var header [stageHeader]byte
	for {
		if _, err := io.ReadFull(in, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the staged facts: %w", err)
		}
		fact.rank, fact.place = binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
		length := binary.LittleEndian.Uint32(header[8:])
		if length > maxFact {
			return fmt.Errorf("the staged facts are damaged at byte %d: begin anew with --restart", fact.end)
		}
		if int(length) > cap(fact.value) {
			fact.value = make([]byte, length)
		}
		fact.value = fact.value[:length]
		if _, err := io.ReadFull(in, fact.value); err != nil {
			return fmt.Errorf("read the staged facts: %w", err)
		}
		fact.end += stageHeader + int64(length)
		if err := see(&fact); err != nil {
			return err
		}
	}
}
