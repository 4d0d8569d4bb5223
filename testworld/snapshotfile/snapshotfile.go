// Package snapshotfile writes snapshots of Solana validators for tests and benchmarks.
//
// In: accounts by slot, which versions of them are live, a release of Agave. Out: an archive as
// that release writes it: version, status cache, manifest, storages; in tar, compressed by zstd or
// lz4. Guarantees: equal snapshots give equal archives, but for the compression. The layout is made
// here from the definitions of Agave, and not by the product's reader.
package snapshotfile

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
)

// Releases whose layouts differ.
const (
	// Agave2 writes storages with an unused end, an epoch, a slot's write versions, and a hash for
	// each account.
	Agave2 = 2
	// Agave3 writes none of these but the epoch.
	Agave3 = 3
	// Agave4 adds a block id.
	Agave4 = 4
)

// Snapshot is what an archive is made of.
type Snapshot struct {
	Release int
	Slot    uint64
	// Base is the slot of the full snapshot below an incremental one; 0 makes a full one.
	Base     uint64
	Storages []Storage
	// Lattice is the hash of the live accounts, of Base's snapshot too; nil writes none.
	Lattice *lattice.Hash
	// Change may change the manifest's bytes, for damage.
	Change func(manifest []byte) []byte
}

// Storage is the accounts of a slot, in the order of the file. Accounts is called more than once,
// and yields the same each time.
type Storage struct {
	Slot, ID uint64
	Accounts iter.Seq[*lattice.Account]
}

// Name is the archive's file name.
func (s *Snapshot) Name(codec string) string {
	hash := pubkey.Key{}
	if s.Lattice != nil {
		hash = s.Lattice.Checksum()
	}
	if s.Base > 0 {
		return fmt.Sprintf("incremental-snapshot-%d-%d-%s.tar.%s", s.Base, s.Slot, hash, codec)
	}
	return fmt.Sprintf("snapshot-%d-%s.tar.%s", s.Slot, hash, codec)
}

// Write writes the archive; codec is "zst" or "lz4".
func (s *Snapshot) Write(w io.Writer, codec string) error {
	var compressed io.WriteCloser
	var err error
	switch codec {
	case "zst":
		compressed, err = zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	case "lz4":
		compressed = lz4.NewWriter(w)
	default:
		err = fmt.Errorf("codec %q", codec)
	}
	if err != nil {
		return err
	}
	if err := s.WriteTar(compressed); err != nil {
		return err
	}
	return compressed.Close()
}

// WriteTar writes the archive without compression.
func (s *Snapshot) WriteTar(w io.Writer) error {
	archive := tar.NewWriter(w)
	manifest := s.Manifest()
	if s.Change != nil {
		manifest = s.Change(manifest)
	}
	folder := fmt.Sprintf("snapshots/%d/", s.Slot)
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"version", []byte("1.2.0")}, {"snapshots/", nil}, {"snapshots/status_cache", make([]byte, 8)}, {folder, nil},
		{fmt.Sprintf("%s%d", folder, s.Slot), manifest}, {"accounts/", nil},
	} {
		if err := writeFile(archive, file.name, file.content); err != nil {
			return err
		}
	}
	for _, storage := range s.Storages {
		if err := s.writeStorage(archive, storage); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeFile(archive *tar.Writer, name string, content []byte) error {
	header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if content == nil {
		header.Typeflag = tar.TypeDir
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

func (s *Snapshot) writeStorage(archive *tar.Writer, storage Storage) error {
	length := storage.length()
	unused := int64(0)
	if s.Release == Agave2 {
		unused = 4096 - length%4096 // the end of the last page
	}
	header := &tar.Header{Name: fmt.Sprintf("accounts/%d.%d", storage.Slot, storage.ID), Mode: 0o644, Size: length + unused, Format: tar.FormatGNU}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	var line []byte
	number := uint64(0)
	for account := range storage.Accounts {
		number++
		line = s.appendAccount(line[:0], account, number)
		if _, err := archive.Write(line); err != nil {
			return err
		}
	}
	_, err := io.CopyN(archive, zeros{}, unused)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// accountHeader is the bytes before an account's data.
const accountHeader = 136

func (s *Storage) length() (n int64) {
	for account := range s.Accounts {
		n += accountHeader + int64(len(account.Data)+7)&^7
	}
	return n
}

func (s *Snapshot) appendAccount(out []byte, a *lattice.Account, number uint64) []byte {
	version, hash := uint64(0), byte(0)
	if s.Release == Agave2 {
		version, hash = number, 0xaa // neither is looked at
	}
	out = binary.LittleEndian.AppendUint64(out, version)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(a.Data)))
	out = append(out, a.Address[:]...)
	out = binary.LittleEndian.AppendUint64(out, a.Lamports)
	out = binary.LittleEndian.AppendUint64(out, 1<<64-1) // exempt from rent
	out = append(out, a.Owner[:]...)
	executable := byte(0)
	if a.Executable {
		executable = 1
	}
	out = append(out, executable, 0, 0, 0, 0, 0, 0, 0)
	out = append(out, bytes.Repeat([]byte{hash}, 32)...)
	out = append(out, a.Data...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	return out
}
