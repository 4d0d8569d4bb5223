package validator_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// member is a file of a tar archive.
type member struct {
	name    string
	content []byte
	size    int64 // what the header says, if it is not the content's
}

func members(t testing.TB, raw []byte) (files []member) {
	for in := tar.NewReader(bytes.NewReader(raw)); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			files = append(files, member{name: header.Name, content: content})
		}
	}
}

// pack makes an archive of files, whatever they are.
func pack(t testing.TB, files []member) []byte {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, file := range files {
		size := max(file.size, int64(len(file.content)))
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatGNU}))
		_, err := archive.Write(file.content)
		require.NoError(t, err)
		if size > int64(len(file.content)) {
			return out.Bytes()
		}
	}
	require.NoError(t, archive.Close())
	return out.Bytes()
}

func compress(t testing.TB, raw []byte) []byte {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(t, err)
	return encoder.EncodeAll(raw, nil)
}

// damaged is one damaged snapshot, and what the refusal must say.
type damaged struct {
	name    string
	archive []byte
	says    string
}

// sample is an undamaged snapshot in its layers.
type sample struct {
	name       string
	tar        []byte
	files      []member
	compressed []byte
}

func newSample(t testing.TB) *sample {
	w := newWorld(120, 240)
	w.PerStorage = 40
	s := w.full(snapshotfile.Agave3)
	var raw bytes.Buffer
	require.NoError(t, s.WriteTar(&raw))
	return &sample{name: s.Name("zst"), tar: raw.Bytes(), files: members(t, raw.Bytes()), compressed: compress(t, raw.Bytes())}
}

// with is the archive with one file changed.
func (s *sample) with(t testing.TB, index int, change func(m *member)) []byte {
	files := append([]member{}, s.files...)
	files[index].content = append([]byte{}, files[index].content...)
	change(&files[index])
	return compress(t, pack(t, files))
}

// storage is the index of the first file of accounts: version, status cache and manifest come
// before.
const storage, manifest = 3, 2

func cuts(t testing.TB, s *sample) (all []damaged) {
	for i := range 40 {
		all = append(all,
			damaged{fmt.Sprint("cut compressed ", i), s.compressed[:len(s.compressed)*i/40], ""},
			damaged{fmt.Sprint("cut tar ", i), compress(t, s.tar[:len(s.tar)*i/41]), ""})
	}
	return all
}

func flips(t testing.TB, s *sample) (all []damaged) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		flipped := append([]byte{}, s.compressed...)
		flipped[r.IntN(len(flipped))] ^= 1 << r.IntN(8)
		all = append(all, damaged{fmt.Sprint("flip compressed ", i), flipped, ""})
	}
	for i := range 50 {
		// Any bit of an account that counts but those of its write version, rent epoch and unused
		// hash, which no hash covers and nobody reads.
		fields := []int{16 + r.IntN(32), 48 + r.IntN(8), 64 + r.IntN(32), header + r.IntN(60)}
		all = append(all, damaged{fmt.Sprint("flip account ", i), s.with(t, storage+1+r.IntN(4), func(m *member) {
			m.content[newest(m.content)+fields[i%4]] ^= 1 << r.IntN(8)
		}), ""})
	}
	for i := range 10 {
		all = append(all, damaged{fmt.Sprint("flip length ", i), s.with(t, storage+1, func(m *member) { m.content[8+i%8] ^= 0x80 >> (i / 8) }), ""})
	}
	return all
}

// header is the bytes before an account's data.
const header = 136

// newest is where the last account with lamports and data stands in a storage: older versions stand
// in front.
func newest(content []byte) (at int) {
	for i := 0; i+header <= len(content); {
		length := binary.LittleEndian.Uint64(content[i+8:])
		if binary.LittleEndian.Uint64(content[i+48:]) > 0 && length > 80 {
			at = i
		}
		i += header + int(length+7)&^7
	}
	return at
}

func lies(t testing.TB, s *sample) []damaged {
	account := func(change func(content []byte)) []byte {
		return s.with(t, storage+1, func(m *member) { change(m.content) })
	}
	put := func(at int, value uint64) func(m *member) {
		return func(m *member) { binary.LittleEndian.PutUint64(m.content[at:], value) }
	}
	return []damaged{
		{"length of an account", account(func(c []byte) { binary.LittleEndian.PutUint64(c[8:], 1<<62) }), "account 0: 4611686018427387904 bytes of data"},
		{"negative length", account(func(c []byte) { binary.LittleEndian.PutUint64(c[8:], 1<<64-1) }), "bytes of data"},
		{"executable", account(func(c []byte) { c[96] = 2 }), "neither executable nor not"},
		{"no version", compress(t, pack(t, s.files[1:])), `the first file must be "version"`},
		{"other version", s.with(t, 0, func(m *member) { m.content = []byte("1.3.0") }), `version "1.3.0"`},
		{"no manifest", compress(t, pack(t, append(append([]member{}, s.files[:2]...), s.files[3:]...))), "must come before"},
		{"blockhashes", s.with(t, manifest, put(41, 1<<60)), "blockhashes: a length of"},
		{"bytes behind the manifest", s.with(t, manifest, func(m *member) { m.content = append(m.content, 9) }), "block id: a flag of 9"},
		{"manifest of another slot", s.with(t, manifest, func(m *member) { m.name = "snapshots/5/5" }), "must be snapshots/400000123/400000123"},
		{"storage too long", s.with(t, storage, func(m *member) { m.content = append(m.content, make([]byte, 17<<20)...) }), "bytes, and the manifest says"},
		{"storage of another id", s.with(t, storage, func(m *member) { m.name += "7" }), "the manifest says accounts/"},
		{"storage nobody knows", s.with(t, storage, func(m *member) { m.name = "accounts/1.1" }), "the manifest has no such storage"},
		{"storage twice", compress(t, pack(t, append(append([]member{}, s.files...), s.files[storage]))), "the manifest has no such storage, or it came before"},
		{"storage missing", compress(t, pack(t, s.files[:len(s.files)-1])), "are missing"},
		{"escape", s.with(t, storage, func(m *member) { m.name = "accounts/../../etc/passwd" }), "not accounts/SLOT.ID"},
		{"more behind the end", append(append([]byte{}, s.compressed...), compress(t, []byte("more"))...), "more follows"},
		{"not compressed", s.tar, "neither zstd nor lz4"},
		{"empty", nil, "0 bytes"},
		{"a bomb behind the end", append(append([]byte{}, s.compressed...), compress(t, make([]byte, 64<<20))...), "more follows"},
		{"a bomb for a version", s.with(t, 0, func(m *member) { m.content = make([]byte, 64<<20) }), `the first file must be "version"`},
		{"sizes that lie", compress(t, pack(t, []member{s.files[0], s.files[1], {name: s.files[2].name, content: s.files[2].content, size: 1 << 40}})), "a manifest of 1099511627776 bytes"},
	}
}

func swaps(t testing.TB, s *sample) (all []damaged) {
	for i := range 20 {
		a, b := storage+1+i%4, storage+2+i%5
		if a == b {
			b++
		}
		files := append([]member{}, s.files...)
		files[a].content, files[b].content = files[b].content, files[a].content
		all = append(all, damaged{fmt.Sprint("swap ", i), compress(t, pack(t, files)), ""})
	}
	return all
}

// TestDamagedSnapshotsAreRefused: cut, flipped, swapped, with lengths that lie, and bombs: each is
// refused by name, and nothing is written.
func TestDamagedSnapshotsAreRefused(t *testing.T) {
	s := newSample(t)
	all := append(append(append(cuts(t, s), flips(t, s)...), lies(t, s)...), swaps(t, s)...)
	require.GreaterOrEqual(t, len(all), 200)
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), s.name)
			require.NoError(t, os.WriteFile(path, d.archive, 0o600))
			out := newLog()
			_, err := run(t, validator.Config{Full: path}, out)
			require.ErrorContains(t, err, d.says)
			require.Zero(t, out.records)
		})
	}
	path := filepath.Join(t.TempDir(), s.name)
	require.NoError(t, os.WriteFile(path, s.compressed, 0o600))
	_, err := run(t, validator.Config{Full: path}, newLog())
	require.NoError(t, err, "undamaged it is read")
}

// TestArchivesThatDoNotBelongTogether: each is whole by itself.
func TestArchivesThatDoNotBelongTogether(t *testing.T) {
	w := newWorld(300, 600)
	full, incremental := w.pair(snapshotfile.Agave4)
	first, second := write(t, full, "zst"), write(t, incremental, "lz4")
	renamed := func(path, name string) string {
		to := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Link(path, to))
		return to
	}
	other := newWorld(150, 600)
	other.slot = full.Slot
	otherFull := write(t, &snapshotfile.Snapshot{Release: 4, Slot: other.slot, Storages: other.Storages(other.slot), Lattice: other.Sum()}, "zst")
	hash := (&lattice.Hash{1}).Checksum()
	for name, c := range map[string]struct {
		cfg  validator.Config
		says string
	}{
		"an incremental one alone":    {validator.Config{Full: second}, "a full snapshot is needed first"},
		"the same twice":              {validator.Config{Full: first, Incremental: first}, "and the full snapshot below it of"},
		"over another full one":       {validator.Config{Full: otherFull, Incremental: second}, "are not those of its manifest"},
		"a name with another slot":    {validator.Config{Full: renamed(first, "snapshot-77-"+text(hash)+".tar.zst")}, "its manifest is of slot"},
		"a name with another hash":    {validator.Config{Full: renamed(first, fmt.Sprintf("snapshot-%d-%s.tar.zst", full.Slot, text(hash)))}, "is not that of its name"},
		"a folder instead of a file":  {validator.Config{Full: t.TempDir()}, "name the archive"},
		"a file that is not there":    {validator.Config{Full: first + "x"}, "no such file"},
		"hash of a second source bad": {validator.Config{Full: first, ExpectHash: text(hash)}, "--expect-hash says"},
	} {
		t.Run(name, func(t *testing.T) {
			out := newLog()
			_, err := run(t, c.cfg, out)
			require.ErrorContains(t, err, c.says)
			require.Zero(t, out.records)
		})
	}
}

func text(hash [32]byte) string { return pubkey.Key(hash).String() }
