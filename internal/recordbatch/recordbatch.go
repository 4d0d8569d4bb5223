// Package recordbatch reads the records of Kafka's record batches of version 2 in bounded memory.
//
// In: the bytes after the header of a batch, compressed by one of Kafka's codecs. Out: its records,
// all lengths checked. Of a batch that is too large: the offset of its last record, and how many
// records it has. Guarantees: at most MaxBytes are held, whatever the batch claims.
package recordbatch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// MaxBytes bounds the size of the records of one batch after decompression. Mintlake's own
	// batches have at most a megabyte before compression. A batch from outside has at most a
	// megabyte on the wire, but Zstandard packs a gigabyte of zeros into that, and a reader would
	// run out of memory.
	MaxBytes = 32 << 20
	// MaxRecords bounds the records of one batch: the smallest record has seven bytes, and takes
	// two hundred in the memory of a reader. A megabyte without compression has fewer.
	MaxRecords = 1 << 18
)

var (
	// ErrTooLong is a batch with more than MaxBytes or MaxRecords.
	ErrTooLong = errors.New("batch decompresses to more than the limit")
	// ErrMalformed is a batch that does not hold the records that it says.
	ErrMalformed = errors.New("batch does not hold the records that it says")
)

// Skip checks all lengths in the first record of b, and returns the bytes after it.
func Skip(b []byte) ([]byte, error) {
	length, n := binary.Varint(b)
	if n <= 0 || length < 1 || length > int64(len(b)-n) {
		return nil, ErrMalformed
	}
	record, rest := b[n:n+int(length)], b[n+int(length):]
	record = record[1:] // attributes
	for range 2 {       // deltas of timestamp and offset
		_, n := binary.Varint(record)
		if n <= 0 {
			return nil, ErrMalformed
		}
		record = record[n:]
	}
	ok := true
	// field skips a length, which must not be below least, and as many bytes.
	field := func(least int64) {
		length, n := binary.Varint(record)
		if !ok || n <= 0 || length < least || length > int64(len(record)-n) {
			ok = false
			return
		}
		record = record[n+int(max(length, 0)):]
	}
	field(-1) // key; -1 is null
	field(-1) // value
	headers, n := binary.Varint(record)
	// A header has at least two bytes. So the count is bounded before anybody allocates for it.
	if !ok || n <= 0 || headers < 0 || headers > int64(len(record)-n)/2 {
		return nil, ErrMalformed
	}
	record = record[n:]
	for range headers {
		field(0)
		field(-1)
	}
	if !ok || len(record) > 0 {
		return nil, ErrMalformed
	}
	return rest, nil
}

// zstdDecoder returns the one decoder of this process; it is safe for concurrent use.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBytes))
})

// Decompress returns the records of b, or ErrTooLong for more than MaxBytes. codec is one of 0
// (none), 1 (gzip), 2 (snappy), 3 (LZ4) and 4 (Zstandard). Codec 0 returns b itself, whatever its
// size. The other codecs return the memory of buffer, which must be empty.
func Decompress(codec byte, b []byte, buffer *bytes.Buffer) ([]byte, error) {
	var out []byte
	var err error
	switch codec {
	case 0:
		return b, nil
	case 1:
		var reader io.Reader
		if reader, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = readBounded(reader)
		}
	case 2:
		out, err = unsnappy(b)
	case 3:
		out, err = readBounded(lz4.NewReader(bytes.NewReader(b)))
	case 4:
		var decoder *zstd.Decoder
		if decoder, err = zstdDecoder(); err == nil {
			out, err = decoder.DecodeAll(b, buffer.AvailableBuffer())
		}
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			err = ErrTooLong
		}
	default:
		return nil, fmt.Errorf("%w: codec %d", ErrMalformed, codec)
	}
	if err != nil && !errors.Is(err, ErrTooLong) {
		return nil, fmt.Errorf("%w: decompress: %w", ErrMalformed, err)
	}
	*buffer = *bytes.NewBuffer(out)
	return out, err
}

func readBounded(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if len(out) > MaxBytes {
		return nil, ErrTooLong
	}
	return out, err
}

// xerialMagic begins the framed snappy format of Java clients. Behind it are two version numbers of
// four bytes each, then blocks, each with its length in four bytes before it.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeadBytes = 16 // magic and versions

// unsnappy decompresses both forms of snappy: one plain block, or the framed format.
func unsnappy(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, xerialMagic) || len(b) < xerialHeadBytes {
		return unsnappyBlock(nil, b)
	}
	var out []byte
	var err error
	for b = b[xerialHeadBytes:]; len(b) > 0; {
		if len(b) < 4 || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
			return nil, io.ErrUnexpectedEOF
		}
		end := 4 + int(binary.BigEndian.Uint32(b))
		if out, err = unsnappyBlock(out, b[4:end]); err != nil {
			return nil, err
		}
		b = b[end:]
	}
	return out, nil
}

// unsnappyBlock appends a decompressed block to out, which may have MaxBytes at most.
func unsnappyBlock(out, block []byte) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if size > MaxBytes-len(out) {
		return nil, ErrTooLong
	}
	decoded, err := s2.Decode(nil, block)
	if err != nil {
		return nil, err
	}
	return append(out, decoded...), nil
}

// Count returns an error unless b is count whole records, and nothing else.
func Count(b []byte, count int32) error {
	switch {
	case count < 0:
		return fmt.Errorf("%w: %d records", ErrMalformed, count)
	case count > MaxRecords:
		return fmt.Errorf("%w: %d records", ErrTooLong, count)
	}
	var err error
	for i := range count {
		if b, err = Skip(b); err != nil {
			return fmt.Errorf("%w: record %d of %d", err, i, count)
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%w: %d bytes behind the last record", ErrMalformed, len(b))
	}
	return nil
}

// Many reports whether b has more than MaxRecords records.
func Many(b []byte) bool {
	for n := 0; len(b) > 0; n++ {
		length, size := binary.Varint(b)
		if size <= 0 || length < 0 || length > int64(len(b)-size) {
			return false // malformed: reading b gives the error
		}
		if n == MaxRecords {
			return true
		}
		b = b[size+int(length):]
	}
	return false
}

// Last returns the offset of the last record, counted from the first offset of the batch, and the
// number of records. For gzip, LZ4 and Zstandard it needs only the memory of a decoder's window,
// whatever the size of the batch. A snappy batch of more than MaxBytes is an error.
func Last(codec byte, b []byte) (delta, count int64, err error) {
	var r io.Reader = bytes.NewReader(b)
	switch codec {
	case 1:
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return 0, 0, fmt.Errorf("%w: decompress: %w", ErrMalformed, err)
		}
		r = unzipped
	case 3:
		r = lz4.NewReader(r)
	case 4:
		decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxBytes))
		if err != nil {
			return 0, 0, fmt.Errorf("%w: decompress: %w", ErrMalformed, err)
		}
		defer decoder.Close()
		r = decoder
	default: // without compression, or snappy, which expands a megabyte to less than MaxBytes
		records, err := Decompress(codec, b, new(bytes.Buffer))
		if err != nil {
			return 0, 0, err
		}
		r = bytes.NewReader(records)
	}
	if delta, count, err = last(&counted{Reader: bufio.NewReaderSize(r, 64<<10)}); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return delta, count, nil
}

// counted counts the bytes that are read one by one.
type counted struct {
	*bufio.Reader
	n int64
}

func (c *counted) ReadByte() (byte, error) {
	c.n++
	return c.Reader.ReadByte()
}

// last is Last for decompressed records.
func last(r *counted) (delta, count int64, err error) {
	for ; ; count++ {
		length, err := binary.ReadVarint(r)
		if errors.Is(err, io.EOF) {
			return delta, count, nil
		}
		if err != nil {
			return 0, 0, err
		}
		r.n = 0
		_, err = r.ReadByte() // attributes
		for range 2 {         // deltas of timestamp and offset
			if err == nil {
				delta, err = binary.ReadVarint(r)
			}
		}
		if err != nil || length < r.n {
			return 0, 0, io.ErrUnexpectedEOF
		}
		if _, err := r.Discard(int(length - r.n)); err != nil {
			return 0, 0, io.ErrUnexpectedEOF
		}
	}
}
