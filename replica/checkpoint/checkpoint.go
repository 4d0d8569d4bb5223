// Package checkpoint is the file in which a node keeps its copy of the registry for the next start.
//
// In: sections of bytes and of numbers, and a value about them. Out: a file, and the sections
// again.
// Guarantees: pure but for the file. What a Reader returns was compared with its checksum first,
// and no length in the file makes it allocate more than the file has bytes. The checksums tell
// damage, not forgery: whoever may write the file can make a node serve what it says.
//
// The form: blocks, the directory, the trailer. A block has a CRC-32C and up to blockSize bytes of
// one section; each but the section's last is full. The checksum covers the block's offset too, so
// that a block at another place of the file is found. The directory is JSON, in blocks like a
// section. The trailer has the directory's place and length, a checksum of both, and magic.
package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"unsafe"
)

const (
	// blockSize is how many bytes a checksum covers. A Reader holds one block in memory.
	blockSize = 1 << 20
	// blockHead is the checksum in front of a block.
	blockHead = 4
	// trailerSize: offset and length of the directory, their checksum, magic.
	trailerSize = 8 + 8 + 4 + 8
	// maxDirectory bounds the directory, in bytes: it names some ten sections and partitions.
	maxDirectory = 1 << 20
	magic        = "MLREPLC1"
)

// ErrDamaged is returned for a file whose bytes are not as they were written: one that is cut,
// changed, or no checkpoint at all.
var ErrDamaged = errors.New("the checkpoint is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of the block that begins at an offset of the file.
func checksum(offset int64, block []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(offset))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, block)
}

// directory is the last part of the file.
type directory struct {
	Sections []section       `json:"sections"`
	About    json.RawMessage `json:"about"`
}

// section is where the blocks of a section begin, and how many bytes it has without checksums.
type section struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// inFile returns how many bytes of the file so many bytes of a section take.
func inFile(bytes int64) int64 { return bytes + (bytes+blockSize-1)/blockSize*blockHead }

// memoryOf returns the bytes of a list. T must have neither pointers nor gaps.
func memoryOf[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one))) //nolint:gosec // numbers as they lie in memory: a copy of ten gigabytes would take longer than the disk
}
