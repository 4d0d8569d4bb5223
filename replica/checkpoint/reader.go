package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// File is a checkpoint that was opened. Its sections may be read at the same time.
type File struct {
	file     *os.File
	size     int64
	sections map[string]section
	about    json.RawMessage
}

// Open opens a checkpoint and reads its directory. An error that is ErrDamaged says what is wrong
// with the file; one that is fs.ErrNotExist, that there is none.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, sections: map[string]section{}}
	if err := f.readDirectory(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// Close closes the file. What was read stays.
func (f *File) Close() error { return f.file.Close() }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// About unmarshals the value that the function sections returned when the file was written.
func (f *File) About(into any) error {
	if err := json.Unmarshal(f.about, into); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

func (f *File) readDirectory() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if f.size = info.Size(); f.size < trailerSize {
		return fmt.Errorf("%w: it has %d bytes only", ErrDamaged, f.size)
	}
	var trailer [trailerSize]byte
	if _, err := f.file.ReadAt(trailer[:], f.size-trailerSize); err != nil {
		return err
	}
	offset, length := binary.LittleEndian.Uint64(trailer[:]), binary.LittleEndian.Uint64(trailer[8:])
	if string(trailer[20:]) != magic || binary.LittleEndian.Uint32(trailer[16:]) != checksum(int64(offset), trailer[:16]) {
		return fmt.Errorf("%w: its end is not a checkpoint's", ErrDamaged)
	}
	if length > maxDirectory {
		return fmt.Errorf("%w: its directory has %d bytes", ErrDamaged, length)
	}
	r, err := f.read(section{Offset: int64(offset), Bytes: int64(length)})
	if err != nil {
		return err
	}
	text, read := r.take(int(length)), directory{}
	if r.err != nil {
		return r.err
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("%w: its directory: %w", ErrDamaged, err)
	}
	f.about = read.About
	for _, each := range read.Sections {
		f.sections[each.Name] = each
	}
	return nil
}

// Section returns a reader of a section.
func (f *File) Section(name string) (*Reader, error) {
	found, ok := f.sections[name]
	if !ok {
		return nil, fmt.Errorf("%w: it has no section %q", ErrDamaged, name)
	}
	return f.read(found)
}

func (f *File) read(of section) (*Reader, error) {
	if of.Offset < 0 || of.Bytes < 0 || of.Bytes > f.size || of.Offset > f.size-inFile(of.Bytes) {
		return nil, fmt.Errorf("%w: its section %q is said to lie outside of it", ErrDamaged, of.Name)
	}
	return &Reader{file: f.file, name: of.Name, offset: of.Offset, left: of.Bytes}, nil
}

// Reader reads a section from its beginning, for one goroutine. After an error it returns zeros and
// empty lists, and Err the error.
type Reader struct {
	file   *os.File
	name   string
	offset int64  // of the next block
	left   int64  // bytes of the section behind rest
	buf    []byte // of one block
	rest   []byte // what of the block is not read yet
	joined []byte // buffer of take
	err    error
}

// Err returns the first error: ErrDamaged, or one of the file system.
func (r *Reader) Err() error { return r.err }

// End returns Err, or an error if the section has more than was read.
func (r *Reader) End() error {
	if r.err == nil && (r.left > 0 || len(r.rest) > 0) {
		r.damaged("it has more than is read")
	}
	return r.err
}

// Refuse makes Err return ErrDamaged and ends the reading. The caller has read a value that cannot
// be right, and what says why.
func (r *Reader) Refuse(what string) { r.damaged(what) }

func (r *Reader) damaged(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: section %q: %s", ErrDamaged, r.name, what)
	}
	r.rest, r.left = nil, 0
}

// Left returns how many bytes of the section are not read yet.
func (r *Reader) Left() int64 { return int64(len(r.rest)) + r.left }

// next reads the next block and compares it with its checksum.
func (r *Reader) next() {
	if r.buf == nil {
		r.buf = make([]byte, blockHead+blockSize)
	}
	block := r.buf[:blockHead+min(r.left, blockSize)]
	if _, err := r.file.ReadAt(block, r.offset); err != nil {
		if errors.Is(err, io.EOF) {
			r.damaged("it ends too soon")
			return
		}
		r.err, r.rest, r.left = err, nil, 0
		return
	}
	if checksum(r.offset, block[blockHead:]) != binary.LittleEndian.Uint32(block) {
		r.damaged(fmt.Sprintf("the block at byte %d of the file is not as it was written", r.offset))
		return
	}
	r.rest = block[blockHead:]
	r.left -= int64(len(r.rest))
	r.offset += int64(len(block))
}

// into fills dst.
func (r *Reader) into(dst []byte) {
	if int64(len(dst)) > r.Left() {
		r.damaged("it ends too soon")
		return
	}
	for len(dst) > 0 && r.err == nil {
		if len(r.rest) == 0 {
			r.next()
		}
		n := copy(dst, r.rest)
		dst, r.rest = dst[n:], r.rest[n:]
	}
}

// take returns the next size bytes, valid until the next call; nil after an error.
func (r *Reader) take(size int) []byte {
	if size < 0 || int64(size) > r.Left() {
		r.damaged("it ends too soon")
		return nil
	}
	if len(r.rest) == 0 && size > 0 {
		r.next()
	}
	if size <= len(r.rest) {
		head := r.rest[:size]
		r.rest = r.rest[size:]
		return head
	}
	if cap(r.joined) < size {
		r.joined = make([]byte, size)
	}
	r.into(r.joined[:size])
	if r.err != nil {
		return nil
	}
	return r.joined[:size]
}

// Number reads a number of 8 bytes.
func (r *Reader) Number() uint64 {
	if text := r.take(8); text != nil {
		return binary.LittleEndian.Uint64(text)
	}
	return 0
}

// Fixed reads size bytes. They are valid until the next call; nil after an error.
func (r *Reader) Fixed(size int) []byte { return r.take(size) }

// Bytes reads a text with its length. It is valid until the next call; nil after an error.
func (r *Reader) Bytes() []byte {
	size := r.Number()
	if size > uint64(r.Left()) {
		r.damaged("a length in it is too large")
		return nil
	}
	return r.take(int(size))
}

// ListOf reads a list that List has written. T must have the memory layout that List's T had.
func ListOf[T any](r *Reader) []T {
	var one T
	count := r.Number()
	if count > uint64(r.Left())/uint64(unsafe.Sizeof(one)) {
		r.damaged("a length in it is too large")
		return nil
	}
	list := make([]T, count)
	if r.into(memoryOf(list)); r.err != nil {
		return nil
	}
	return list
}
