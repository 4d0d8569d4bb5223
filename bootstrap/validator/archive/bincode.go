package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// decoder reads bincode, as Rust's bincode 1 writes it with its defaults: little endian, lengths of
// 8 bytes, variants of 4, an option's tag of 1. The first error sticks. Nothing is allocated for a
// length before the bytes for it are known to be there.
type decoder struct {
	r    *bufio.Reader
	left int64
	err  error
	buf  [32]byte
}

// errEnd is in the error of a read beyond the end.
var errEnd = errors.New("ends early")

func (d *decoder) fail(what string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", what, err)
	}
}

// take reads n bytes, at most 32, and returns them until the next call.
func (d *decoder) take(what string, n int) []byte {
	part := d.buf[:n]
	if d.err == nil && int64(n) > d.left {
		d.fail(what, errEnd)
	}
	if d.err == nil {
		if _, err := io.ReadFull(d.r, part); err != nil {
			d.fail(what, err)
		}
	}
	if d.err != nil {
		clear(part)
	}
	d.left -= int64(n)
	return part
}

func (d *decoder) u64(what string) uint64 { return binary.LittleEndian.Uint64(d.take(what, 8)) }
func (d *decoder) u32(what string) uint32 { return binary.LittleEndian.Uint32(d.take(what, 4)) }
func (d *decoder) hash(what string) (h [32]byte) {
	copy(h[:], d.take(what, 32))
	return h
}

// flag reads a bool or an option's tag.
func (d *decoder) flag(what string) bool {
	value := d.take(what, 1)[0]
	if value > 1 {
		d.fail(what, fmt.Errorf("a flag of %d", value))
	}
	return value == 1
}

// count reads the length of a list whose elements have at least size bytes each.
func (d *decoder) count(what string, size int64) int {
	n := d.u64(what)
	if d.err == nil && n > uint64(max(d.left, 0))/uint64(size) {
		d.fail(what, fmt.Errorf("a length of %d, and %d bytes are left", n, d.left))
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// skip leaves out n bytes.
func (d *decoder) skip(what string, n int64) {
	if d.err == nil && (n < 0 || n > d.left) {
		d.fail(what, errEnd)
	}
	if d.err != nil {
		return
	}
	d.left -= n
	if _, err := io.CopyN(io.Discard, d.r, n); err != nil {
		d.fail(what, err)
	}
}

// skipList leaves out a list of elements of one size.
func (d *decoder) skipList(what string, size int64) {
	d.skip(what, int64(d.count(what, size))*size)
}

// ended reports whether everything was read, or an error came. Older snapshots do not have the last
// fields.
func (d *decoder) ended() bool { return d.err != nil || d.left == 0 }
