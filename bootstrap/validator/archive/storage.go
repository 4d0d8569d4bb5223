package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
)

// Layout of an account in a storage (accounts-db/src/accounts_file/meta.rs of Agave): write
// version, length of the data, address; lamports, rent epoch, owner, executable and padding; a hash
// that is not used any more; the data, filled up to a multiple of 8.
const (
	lengthField     = 8
	addressField    = 16
	lamportsField   = 48
	ownerField      = 64
	executableField = 96
	headerLength    = 136
	// maxData is the longest data of an account (MAX_PERMITTED_DATA_LENGTH).
	maxData = 10 << 20
	// chunkBytes is about how many bytes of accounts a chunk holds.
	chunkBytes = 1 << 20
)

// Storage is one file of accounts. It must be read before Reader.Next is called again, which skips
// the rest of it.
type Storage struct {
	StorageEntry
	// Index is the storage's place in Manifest.Storages.
	Index int

	r    *bufio.Reader
	left int64  // bytes that are not read yet
	next uint32 // the place of the next account
}

// Chunk has some whole accounts of a storage, side by side as in the file.
type Chunk struct {
	// First is the place of the first account in its storage, from 0; Count is how many there are.
	First, Count uint32

	bytes []byte
}

// Skip leaves out the rest of the storage.
func (s *Storage) Skip() error {
	n, err := io.CopyN(io.Discard, s.r, s.left)
	s.left -= n
	return noEOF(err)
}

// Accounts returns how many accounts were read so far.
func (s *Storage) Accounts() uint32 { return s.next }

// Fill reads the next accounts into a chunk, whose memory it uses again. It stops after the account
// that makes the chunk a mebibyte or longer. It returns io.EOF when there are no more accounts.
func (s *Storage) Fill(chunk *Chunk) error {
	chunk.First, chunk.Count, chunk.bytes = s.next, 0, chunk.bytes[:0]
	for s.left > 0 && len(chunk.bytes) < chunkBytes {
		if err := s.fillOne(chunk); err != nil {
			return fmt.Errorf("%d.%d: account %d: %w", s.Slot, s.ID, s.next, noEOF(err))
		}
		chunk.Count++
		s.next++
	}
	if chunk.Count == 0 {
		return io.EOF
	}
	return nil
}

func (s *Storage) fillOne(chunk *Chunk) error {
	if s.left < headerLength {
		return fmt.Errorf("%d bytes are left, and its header has %d", s.left, headerLength)
	}
	header, err := s.r.Peek(headerLength)
	if err != nil {
		return err
	}
	length := binary.LittleEndian.Uint64(header[lengthField:])
	if length > maxData || int64(length) > s.left-headerLength {
		return fmt.Errorf("%d bytes of data, and %d are left", length, s.left-headerLength)
	}
	if header[executableField] > 1 {
		return errors.New("it is neither executable nor not")
	}
	// The last account may have no padding.
	whole := min(headerLength+int64(length+7)&^7, s.left)
	start := len(chunk.bytes)
	end := start + int(whole)
	if end > cap(chunk.bytes) {
		chunk.bytes = append(make([]byte, 0, max(end, chunkBytes*3/2)), chunk.bytes...)
	}
	chunk.bytes = chunk.bytes[:end]
	if _, err := io.ReadFull(s.r, chunk.bytes[start:end]); err != nil {
		return err
	}
	s.left -= whole
	return nil
}

// Accounts yields the chunk's accounts with their places in the storage. An account is valid until
// the next one; its data until the chunk is filled again.
func (c *Chunk) Accounts() iter.Seq2[uint32, *lattice.Account] {
	return func(yield func(uint32, *lattice.Account) bool) {
		var account lattice.Account
		rest := c.bytes
		for i := range c.Count {
			length := binary.LittleEndian.Uint64(rest[lengthField:])
			account.Address = pubkey.Key(rest[addressField:])
			account.Owner = pubkey.Key(rest[ownerField:])
			account.Lamports = binary.LittleEndian.Uint64(rest[lamportsField:])
			account.Executable = rest[executableField] == 1
			account.Data = rest[headerLength : headerLength+length]
			if !yield(c.First+i, &account) {
				return
			}
			rest = rest[min(headerLength+(length+7)&^7, uint64(len(rest))):]
		}
	}
}
