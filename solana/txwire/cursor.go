package txwire

import "encoding/binary"

// cursor reads bytes in order. After the first read beyond the end, bad is true and every read
// returns zeros.
type cursor struct {
	data []byte
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || n > len(c.data) {
		c.bad = true
		return nil
	}
	out := c.data[:n:n]
	c.data = c.data[n:]
	return out
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// uint32If reads a number if present is true; otherwise it returns nil.
func (c *cursor) uint32If(present bool) *uint32 {
	if !present {
		return nil
	}
	n := c.uint32()
	return &n
}

// length reads a compact-u16: seven bits in each byte, lowest first, in as few bytes as possible.
func (c *cursor) length() int {
	n := 0
	for shift := 0; shift <= 14; shift += 7 {
		b := c.byte()
		n |= int(b&0x7f) << shift
		if b&0x80 != 0 {
			continue
		}
		if b == 0 && shift > 0 || n > 0xffff {
			break
		}
		return n
	}
	c.bad = true
	return 0
}

// chunks appends n chunks of size bytes to list.
func (c *cursor) chunks(list [][]byte, n, size int) [][]byte {
	raw := c.take(n * size)
	for ; len(raw) > 0; raw = raw[size:] {
		list = append(list, raw[:size:size])
	}
	return list
}
