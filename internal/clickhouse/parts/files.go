package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/go-faster/city"
)

// errNotHere says that this process cannot check a part by its files, so ClickHouse has to check
// it.
var errNotHere = errors.New("the part's files are not on this machine")

const (
	// checksumsFile lists the files of a part with their sizes and hashes.
	checksumsFile = "checksums.txt"
	// checksumsVersion is its first line. ClickHouse has written this version since 2016.
	checksumsVersion = "checksums format version: 4\n"
	// hashBlock is ClickHouse's DBMS_DEFAULT_HASHING_BLOCK_SIZE: a file's hash is chained over
	// blocks of this size.
	hashBlock = 2048
	// maxListed bounds what a damaged list can make us read. A part has some hundred files.
	maxListed = 100_000
)

// fileSum is an entry of checksumsFile.
type fileSum struct {
	name string
	size uint64
	hash city.U128
}

// checkFiles compares the files of a part's folder with its checksums. message says what differs;
// it is empty if nothing does. The error is errNotHere, or ctx's.
//
// CHECK TABLE does the same, but decompresses the files and may run for hours. When the checksum of
// a compressed block is wrong, ClickHouse flips each bit of the block in turn to find the wrong
// one. The time grows with the square of the block's size: minutes for 400 KiB, hours for 4 MiB. No
// setting turns this off, and such a query cannot be killed. checkFiles reads the files as they
// are.
func checkFiles(ctx context.Context, folder string) (message string, err error) {
	sums, err := readChecksums(filepath.Join(folder, checksumsFile))
	switch {
	case errors.Is(err, errNotHere):
		return "", err
	case err != nil:
		return checksumsFile + " is damaged: " + err.Error(), nil
	}
	buffer := make([]byte, 128*hashBlock)
	for _, sum := range sums {
		// The folder of a projection has checksums of its own.
		if strings.HasSuffix(sum.name, ".proj") {
			message, err := checkFiles(ctx, filepath.Join(folder, sum.name))
			if err != nil || message != "" {
				return message, err
			}
			continue
		}
		size, hash, err := hashFile(ctx, filepath.Join(folder, sum.name), buffer)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, fs.ErrPermission):
			return "", errNotHere
		case errors.Is(err, fs.ErrNotExist):
			return sum.name + " is missing", nil
		case err != nil:
			return sum.name + " cannot be read: " + err.Error(), nil
		case size != sum.size:
			return fmt.Sprintf("%s has %d bytes, checksums.txt says %d", sum.name, size, sum.size), nil
		case hash != sum.hash:
			return sum.name + " differs from its checksum", nil
		}
	}
	return "", nil
}

// readChecksums reads checksumsFile. It returns errNotHere if there is no such file, if it may not
// be read, or if it has another version.
func readChecksums(path string) (sums []fileSum, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, errNotHere
	}
	defer func() { _ = file.Close() }() // read only
	version := make([]byte, len(checksumsVersion))
	if _, err := io.ReadFull(file, version); err != nil || string(version) != checksumsVersion {
		return nil, errNotHere
	}
	list := proto.NewReader(compress.NewReader(file))
	count, err := list.UVarInt()
	if err != nil {
		return nil, err
	}
	if count > maxListed {
		return nil, fmt.Errorf("it lists %d files", count)
	}
	for range count {
		sum, err := readSum(list)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}

// readSum reads an entry: name, size and hash, and for a compressed file size and hash of the
// uncompressed data, which are skipped.
func readSum(list *proto.Reader) (sum fileSum, err error) {
	if sum.name, err = list.Str(); err != nil {
		return sum, err
	}
	if sum.size, sum.hash, err = readSizeAndHash(list); err != nil {
		return sum, err
	}
	compressed, err := list.Bool()
	if err == nil && compressed {
		_, _, err = readSizeAndHash(list)
	}
	if err == nil && !filepath.IsLocal(sum.name) {
		err = fmt.Errorf("%q is no file of a part", sum.name)
	}
	return sum, err
}

func readSizeAndHash(list *proto.Reader) (size uint64, hash city.U128, err error) {
	if size, err = list.UVarInt(); err == nil {
		var sum proto.UInt128
		sum, err = list.UInt128()
		hash = city.U128{Low: sum.Low, High: sum.High}
	}
	return size, hash, err
}

// hashFile returns a file's size and ClickHouse's hash of it: CityHash128 of each block, seeded
// with the hash of the blocks before. The length of buffer must be a multiple of hashBlock.
func hashFile(ctx context.Context, path string, buffer []byte) (size uint64, hash city.U128, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, hash, err
	}
	defer func() { _ = file.Close() }() // read only
	for ctx.Err() == nil {
		n, err := io.ReadFull(file, buffer)
		for rest := buffer[:n]; len(rest) > 0; {
			block := rest[:min(len(rest), hashBlock)]
			hash, rest = city.CH128Seed(block, hash), rest[len(block):]
		}
		size += uint64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, hash, nil
		}
		if err != nil {
			return size, hash, err
		}
	}
	return size, hash, ctx.Err()
}
