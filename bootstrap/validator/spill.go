package validator

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/dchest/siphash"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// version is one version of an account: the rank of its storage (32 bits), its place in the
// storage (31 bits), and whether it has no lamports (1 bit). Storages are ranked by slot, so of two
// versions the higher one counts.
type version uint64

func versionOf(rank, place uint32, empty bool) version {
	v := version(rank)<<32 | version(place)<<1
	if empty {
		v |= 1
	}
	return v
}

func (v version) rank() uint32  { return uint32(v >> 32) }
func (v version) place() uint32 { return uint32(v) >> 1 }
func (v version) empty() bool   { return v&1 == 1 }

// entry is what is kept of one version of an account, to know which version is the newest.
type entry struct {
	address pubkey.Key
	version version
}

const entryBytes = pubkey.Size + 8

func (e *entry) append(out []byte) []byte {
	return binary.LittleEndian.AppendUint64(append(out, e.address[:]...), uint64(e.version))
}

func decodeEntry(raw []byte) entry {
	return entry{pubkey.Key(raw), version(binary.LittleEndian.Uint64(raw[pubkey.Size:]))}
}

const (
	// spillParts is how many parts a spill has. One part of a snapshot of maxVersions takes 600 MB
	// of memory.
	spillParts = 1024
	// blockEntries is how many entries of a part are gathered in memory before they are written:
	// 64 KiB.
	blockEntries = 1638
	// blockHeader has the number of a block's part and of its entries.
	blockHeader = 4 + 4
)

// spillKey is the key of a spill's hash. It is secret, so that nobody can make a snapshot whose
// accounts are all in one part of the spill. maphash would not do: a run that goes on needs the key
// of the run before it, and maphash does not tell its key.
type spillKey struct {
	First  uint64 `json:"first"`
	Second uint64 `json:"second"`
}

func newSpillKey() spillKey {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	return spillKey{binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])}
}

// part returns the part of the spill that the versions of an account belong to.
func (k spillKey) part(address *pubkey.Key) uint32 {
	return uint32(siphash.Hash(k.First, k.Second, address[:]) % spillParts)
}

// spill has entries in a file, in blocks. A block has entries of one part, and all versions of an
// account are in one part. add is safe for concurrent use, the other methods are not.
type spill struct {
	file *os.File
	key  spillKey
	// entriesOfBlock is blockEntries; tests lower it.
	entriesOfBlock int

	mu    sync.Mutex
	parts [spillParts]spillPart
	// bytes is the length of the file, entries how many are in it.
	bytes, entries int64
}

// spillPart is one part of a spill: its blocks in the file, and the block that is being filled,
// with its header.
type spillPart struct {
	blocks []spillBlock
	next   []byte
}

type spillBlock struct {
	offset  int64 // of the first entry
	entries int
}

// openSpill opens the file at path, and cuts it to a length in bytes. The rest is from after the
// last checkpoint.
func openSpill(path string, key spillKey, length int64, entriesOfBlock int) (*spill, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the spill of accounts: %w", err)
	}
	s := &spill{file: file, key: key, entriesOfBlock: entriesOfBlock}
	err = s.findBlocks(length)
	if err == nil {
		err = file.Truncate(length)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("spill of accounts: %w", err)
	}
	return s, nil
}

// findBlocks finds the blocks of the file, up to a length in bytes.
func (s *spill) findBlocks(length int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < length {
		return s.damaged(info.Size())
	}
	var header [blockHeader]byte
	for s.bytes < length {
		if _, err := s.file.ReadAt(header[:], s.bytes); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		part, entries := binary.LittleEndian.Uint32(header[:]), int64(binary.LittleEndian.Uint32(header[4:]))
		if part >= spillParts || entries == 0 || entries > int64(s.entriesOfBlock) || s.bytes+blockHeader+entries*entryBytes > length {
			return s.damaged(s.bytes)
		}
		s.noteBlock(&s.parts[part], int(entries))
	}
	return nil
}

func (s *spill) damaged(at int64) error {
	return fmt.Errorf("%s is damaged at byte %d: begin anew with --restart", s.file.Name(), at)
}

// noteBlock notes a block at the end of the file.
func (s *spill) noteBlock(part *spillPart, entries int) {
	part.blocks = append(part.blocks, spillBlock{s.bytes + blockHeader, entries})
	s.bytes += blockHeader + int64(entries)*entryBytes
	s.entries += int64(entries)
}

func (s *spill) close() { _ = s.file.Close() }

// add adds entries. It writes the blocks that are full.
func (s *spill) add(entries []entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range entries {
		number := s.key.part(&entries[i].address)
		part := &s.parts[number]
		if part.next == nil {
			part.next = make([]byte, blockHeader, blockHeader+s.entriesOfBlock*entryBytes)
			binary.LittleEndian.PutUint32(part.next, number)
		}
		part.next = entries[i].append(part.next)
		if len(part.next) == cap(part.next) {
			if err := s.write(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the block of a part that is being filled.
func (s *spill) write(part *spillPart) error {
	entries := len(part.next) / entryBytes
	if entries == 0 {
		return nil
	}
	binary.LittleEndian.PutUint32(part.next[4:], uint32(entries))
	if _, err := s.file.WriteAt(part.next, s.bytes); err != nil {
		return fmt.Errorf("write the spill of accounts: %w", err)
	}
	s.noteBlock(part, entries)
	part.next = part.next[:blockHeader]
	return nil
}

// flush writes what is in memory, and makes the file durable.
func (s *spill) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.parts {
		if err := s.write(&s.parts[i]); err != nil {
			return err
		}
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync the spill of accounts: %w", err)
	}
	return nil
}
