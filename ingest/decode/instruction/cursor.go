package instruction

import (
	"bytes"
	"encoding/binary"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Cursor reads the little-endian and Borsh fields of instruction data. After the first failure all
// reads return zero values: read all fields, then check Err. Trailing bytes are allowed, because
// the programs allow them.
type Cursor struct {
	rest []byte
	err  error
}

// NewCursor returns a cursor at the first byte of data.
func NewCursor(data []byte) *Cursor { return &Cursor{rest: data} }

// Err returns the first failure; nil if there is none. A read fails with ErrTruncated or ErrValue.
func (c *Cursor) Err() error { return c.err }

// Fail sets the cursor's failure to err, unless it has one already.
func (c *Cursor) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

// Len is the number of bytes left.
func (c *Cursor) Len() int { return len(c.rest) }

// take returns the next n bytes, without copying them; nil after a failure.
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

// Bytes returns the next n bytes, without copying them; nil after a failure.
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

// OptionKey reads a one-byte flag and, if it is 1, a key; else it returns nil.
func (c *Cursor) OptionKey() *pubkey.Key {
	if !c.Bool() {
		return nil
	}
	key := c.Key()
	return &key
}

// String reads a Borsh string: a four-byte length and that many bytes. It returns a copy, never
// nil. It checks the length before it allocates.
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

// HasPrefix reports whether data starts with prefix.
func HasPrefix(data []byte, prefix [8]byte) bool { return bytes.HasPrefix(data, prefix[:]) }

// OptionalBytes returns the key's bytes; empty, never nil, if key is nil.
func OptionalBytes(key *pubkey.Key) []byte {
	if key == nil {
		return []byte{}
	}
	return key.Bytes()
}

// NonZeroBytes returns the key's bytes; empty, never nil, for an all-zero key, which the programs
// use for none (OptionalNonZeroPubkey).
func NonZeroBytes(key pubkey.Key) []byte {
	if key == (pubkey.Key{}) {
		return []byte{}
	}
	return key.Bytes()
}
