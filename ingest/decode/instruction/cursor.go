package instruction

import (
	"bytes"
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Cursor reads the little-endian and Borsh fields of instruction data. The first failure sticks:
// read all fields, then ask Err. Trailing bytes are allowed, as the programs allow them.
type Cursor struct {
	rest []byte
	err  error
}

// NewCursor reads data from its first byte.
func NewCursor(data []byte) *Cursor { return &Cursor{rest: data} }

// Err is the first failure: ErrTruncated or ErrValue.
func (c *Cursor) Err() error { return c.err }

// Fail makes err the cursor's failure unless it has one.
func (c *Cursor) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

// Len is the number of bytes left.
func (c *Cursor) Len() int { return len(c.rest) }

// take returns the next n bytes, which still belong to the transaction; nil after a failure.
func (c *Cursor) take(n int) []byte {
	if c.err != nil || n < 0 || n > len(c.rest) {
		c.Fail(ErrTruncated)
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

// Skip passes over n bytes.
func (c *Cursor) Skip(n int) { c.take(n) }

// Bytes returns n bytes, which still belong to the transaction; nil after a failure.
func (c *Cursor) Bytes(n int) []byte { return c.take(n) }

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (c *Cursor) U32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (c *Cursor) U64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Bool reads a byte that must be 0 or 1, as Borsh demands.
func (c *Cursor) Bool() bool {
	b := c.U8()
	if b > 1 {
		c.Fail(ErrValue)
	}
	return b == 1
}

// Key reads 32 bytes.
func (c *Cursor) Key() pubkey.Key {
	var key pubkey.Key
	copy(key[:], c.take(len(key)))
	return key
}

// OptionKey reads a one-byte flag and, if it is 1, a key; nil for none.
func (c *Cursor) OptionKey() *pubkey.Key {
	if !c.Bool() {
		return nil
	}
	key := c.Key()
	return &key
}

// String reads a Borsh string: a four-byte length and that many bytes, copied, never nil. The
// length is checked against what is left before anything is allocated.
func (c *Cursor) String() []byte {
	n := c.U32()
	if uint64(n) > uint64(len(c.rest)) {
		c.Fail(ErrTruncated)
		return []byte{}
	}
	return append([]byte{}, c.take(int(n))...)
}

// Option reads a one-byte flag.
func (c *Cursor) Option() bool { return c.Bool() }

// HasPrefix says whether data starts with prefix.
func HasPrefix(data []byte, prefix [8]byte) bool { return bytes.HasPrefix(data, prefix[:]) }

// OptionalBytes is the key's bytes; empty, never nil, for none.
func OptionalBytes(key *pubkey.Key) []byte {
	if key == nil {
		return []byte{}
	}
	return key.Bytes()
}

// NonZeroBytes is the bytes of a key that is none when all zero (the programs'
// OptionalNonZeroPubkey); empty, never nil, for none.
func NonZeroBytes(key pubkey.Key) []byte {
	if key == (pubkey.Key{}) {
		return []byte{}
	}
	return key.Bytes()
}
