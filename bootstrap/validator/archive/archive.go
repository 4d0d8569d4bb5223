// Package archive reads the snapshot of a Solana validator as a stream.
//
// In: the bytes of a snapshot-SLOT-HASH.tar.zst or .tar.lz4, full or incremental, which are
// hostile. Out: the manifest, then the accounts of each storage, in the order of the archive.
// Guarantees: it reads forward only, and its memory does not depend on the archive's size, but for
// the list of storages. Every length is checked against what holds it before it is believed. Each
// storage of the manifest comes exactly once, in full; an archive that ends early, goes on behind
// its end, or has other files is an error that says where.
package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// layoutVersion is what the file "version" says, of all Agave versions so far.
	layoutVersion = "1.2.0"
	// maxWindow bounds zstd's memory, and what a small archive can make a reader allocate. Agave's
	// encoder uses 8 MiB at most.
	maxWindow = 128 << 20
	// maxSlack is how much longer than its accounts a storage's file may be: Agave 2 makes files of
	// 4 MiB, and writes their unused end into the archive.
	maxSlack = 16 << 20
	// maxStatusCache bounds the list of recent transactions, which is not read.
	maxStatusCache = 16 << 30
	// maxTrailer bounds what follows the archive's end: tar fills up its last record.
	maxTrailer = 1 << 20
)

// Reader reads one archive. It is for one goroutine.
type Reader struct {
	close    func()
	stream   io.Reader // the decompressed archive
	tar      *tar.Reader
	buf      *bufio.Reader // over the current storage
	manifest *Manifest
	pending  map[uint64]int // storages that have not come, by slot
	current  *Storage
	at       string // the file that was begun last, for errors
}

// Open reads the archive's beginning, up to and with the manifest. If the archive is wrong, the
// error names the file in it that is wrong.
func Open(compressed io.Reader) (*Reader, error) {
	stream, closeStream, err := decompress(compressed)
	if err != nil {
		return nil, err
	}
	return openTar(stream, closeStream)
}

// openTar is Open for a stream that is decompressed already.
func openTar(stream io.Reader, closeStream func()) (*Reader, error) {
	r := &Reader{close: closeStream, stream: stream, tar: tar.NewReader(stream), buf: bufio.NewReaderSize(nil, 256<<10)}
	if err := r.readHead(); err != nil {
		r.Close()
		return nil, r.explain(err)
	}
	r.pending = make(map[uint64]int, len(r.manifest.Storages))
	for i, storage := range r.manifest.Storages {
		r.pending[storage.Slot] = i
	}
	return r, nil
}

// Close ends the decompression.
func (r *Reader) Close() { r.close() }

// Manifest returns the archive's manifest. The caller must not change it.
func (r *Reader) Manifest() *Manifest { return r.manifest }

func decompress(compressed io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReaderSize(compressed, 1<<20)
	magic, err := buffered.Peek(4)
	if err != nil {
		return nil, nil, fmt.Errorf("the archive has %d bytes: %w", len(magic), noEOF(err))
	}
	switch {
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return decoder, decoder.Close, nil
	case bytes.Equal(magic, []byte{0x04, 0x22, 0x4d, 0x18}):
		return lz4.NewReader(buffered), func() {}, nil
	}
	return nil, nil, fmt.Errorf("the archive begins with %x, which is neither zstd nor lz4", magic)
}

// noEOF returns err, or io.ErrUnexpectedEOF for io.EOF, which would look like the end of the
// archive.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// explain adds the file of the archive in which an error is.
func (r *Reader) explain(err error) error {
	if r.at == "" {
		return fmt.Errorf("at the beginning of the archive: %w", noEOF(err))
	}
	return fmt.Errorf("%s in the archive: %w", r.at, noEOF(err))
}

// next goes on to the next file of the archive. It returns io.EOF behind the last one.
func (r *Reader) next() (name string, size int64, err error) {
	for {
		header, err := r.tar.Next()
		if err != nil {
			return "", 0, err
		}
		name := path.Clean(header.Name)
		r.at = strconv.QuoteToASCII(name[:min(len(name), 100)])
		for record := range header.PAXRecords {
			if strings.HasPrefix(record, "GNU.sparse") {
				return "", 0, errors.New("a sparse file")
			}
		}
		switch header.Typeflag {
		case tar.TypeDir:
		case tar.TypeReg:
			return name, header.Size, nil
		default:
			return "", 0, fmt.Errorf("type %q of tar, where a file must be", header.Typeflag)
		}
	}
}

// readHead reads the version, then the status cache and the manifest, these two in any order.
func (r *Reader) readHead() error {
	name, size, err := r.next()
	if err != nil {
		return err
	}
	if name != "version" || size > 64 {
		return errors.New(`the first file must be "version"`)
	}
	version, err := io.ReadAll(r.tar)
	if err != nil {
		return err
	}
	if string(version) != layoutVersion {
		return fmt.Errorf("version %q, and %s is read", version, layoutVersion)
	}
	cached := false
	for r.manifest == nil || !cached {
		name, size, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case name == "snapshots/status_cache" && !cached:
			if size > maxStatusCache {
				return fmt.Errorf("%d bytes", size)
			}
			cached = true
		case strings.HasPrefix(name, "snapshots/") && r.manifest == nil:
			if r.manifest, err = ReadManifest(r.tar, size); err != nil {
				return err
			}
			if want := fmt.Sprintf("snapshots/%d/%[1]d", r.manifest.Slot); name != want {
				return fmt.Errorf("it is of slot %d, and must be %s", r.manifest.Slot, want)
			}
		default:
			return errors.New("the manifest and the status cache must come before")
		}
	}
	return nil
}

// Next returns the next storage. It returns io.EOF when every storage of the manifest has come and
// the archive ends.
func (r *Reader) Next() (*Storage, error) {
	storage, err := r.nextStorage()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.explain(err)
	}
	return storage, err
}

func (r *Reader) nextStorage() (*Storage, error) {
	if r.current != nil && r.current.left > 0 {
		if err := r.current.Skip(); err != nil {
			return nil, err
		}
	}
	name, size, err := r.next()
	if errors.Is(err, io.EOF) {
		if err := r.end(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	index, err := r.find(name)
	if err != nil {
		return nil, err
	}
	entry := r.manifest.Storages[index]
	if size < entry.Length || size > entry.Length+maxSlack {
		return nil, fmt.Errorf("%d bytes, and the manifest says %d", size, entry.Length)
	}
	r.buf.Reset(r.tar)
	r.current = &Storage{StorageEntry: entry, Index: index, r: r.buf, left: entry.Length}
	return r.current, nil
}

// find returns the index in the manifest of the storage that a file has, and notes that it has
// come.
func (r *Reader) find(name string) (int, error) {
	text, _ := strings.CutPrefix(name, "accounts/")
	slotText, idText, _ := strings.Cut(text, ".")
	slot, err := strconv.ParseUint(slotText, 10, 64)
	if err != nil {
		return 0, errors.New("not accounts/SLOT.ID")
	}
	index, pending := r.pending[slot]
	if !pending {
		return 0, errors.New("the manifest has no such storage, or it came before")
	}
	if id := strconv.FormatUint(r.manifest.Storages[index].ID, 10); name != "accounts/"+slotText+"."+idText || id != idText {
		return 0, fmt.Errorf("the manifest says accounts/%d.%s", slot, id)
	}
	delete(r.pending, slot)
	return index, nil
}

// end checks that no storage is missing, and that only zeros follow.
func (r *Reader) end() error {
	for slot, index := range r.pending {
		return fmt.Errorf("the archive ends here, and accounts/%d.%d and %d others are missing",
			slot, r.manifest.Storages[index].ID, len(r.pending)-1)
	}
	rest, err := io.ReadAll(io.LimitReader(r.stream, maxTrailer+1))
	if err != nil {
		return err
	}
	if len(rest) > maxTrailer || len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("more follows behind the archive's end")
	}
	return nil
}
