package segments

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// someBatches are batches of one record each, from offset 0 on.
func someBatches(count int) (data []byte, starts []int) {
	for n := range count {
		starts = append(starts, len(data))
		data = append(data, marker("topic", n, int64(n), int64(n), 1_700_000_000_000+int64(n))...)
	}
	return data, append(starts, len(data))
}

// TestOneBitIsPutRight: whichever bit is flipped, the scan finds the batch it is in, and repair
// writes the very bytes that were there.
func TestOneBitIsPutRight(t *testing.T) {
	sound, starts := someBatches(3)
	for bit := range len(sound) * 8 {
		data := slices.Clone(sound)
		data[bit/8] ^= 1 << (bit % 8)
		s := segment{data: data, last: true, hint: 3}
		pieces := s.scan(0)
		require.Len(t, pieces, 3, "bit %d", bit)
		for n, p := range pieces {
			damaged := bit/8 >= starts[n] && bit/8 < starts[n+1]
			require.Equal(t, damaged, p.kind != whole, "bit %d, batch %d: %v", bit, n, p)
			require.Equal(t, int64(starts[n]), p.pos)
			raw := slices.Clone(data[p.pos : p.pos+p.size])
			switch p.kind {
			case header:
				setHeader(raw, p.batch.base, 0)
			case flipped:
				raw = correct(raw, p.batch.base)
			case whole:
			default:
				t.Fatalf("bit %d: %v", bit, p)
			}
			require.Equal(t, sound[starts[n]:starts[n+1]], raw, "bit %d", bit)
		}
	}
}

// TestCutIsTornOnlyAtTheEnd: a log that ends inside a batch is torn there and nowhere else; in a
// segment that others follow the same is a loss.
func TestCutIsTornOnlyAtTheEnd(t *testing.T) {
	sound, starts := someBatches(3)
	for size := range len(sound) {
		s := segment{data: sound[:size], last: true}
		pieces := s.scan(0)
		n := 0
		for n < 3 && starts[n+1] <= size {
			require.Equal(t, whole, pieces[n].kind)
			n++
		}
		if starts[n] == size {
			require.Len(t, pieces, n)
			continue
		}
		require.Len(t, pieces, n+1)
		require.Equal(t, torn, pieces[n].kind, "size %d", size)
		s = segment{data: sound[:size], hint: 3}
		pieces = s.scan(0)
		require.Equal(t, lost, pieces[n].kind, "size %d", size)
		require.Equal(t, [2]int64{int64(n), 2}, [2]int64{pieces[n].from, pieces[n].to})
	}
}

// TestTwoDamagedBatches: what lies between and behind damage is kept.
func TestTwoDamagedBatches(t *testing.T) {
	data, starts := someBatches(20)
	clear(data[starts[3]+30 : starts[3]+70])
	clear(data[starts[10]+2 : starts[12]+20])
	var kinds []pieceKind
	s := segment{data: data, last: true, hint: 20}
	for _, p := range s.scan(0) {
		kinds = append(kinds, p.kind)
		if p.kind == lost && p.pos > int64(starts[4]) {
			require.Equal(t, [2]int64{10, 12}, [2]int64{p.from, p.to})
		}
	}
	require.Equal(t, slices.Concat([]pieceKind{whole, whole, whole, lost}, slices.Repeat([]pieceKind{whole}, 6), []pieceKind{lost}, slices.Repeat([]pieceKind{whole}, 7)), kinds)
}

// TestRecordsThatLookLikeBatches: bytes inside a record that are a whole batch are not taken for
// one when the batch around them is damaged.
func TestRecordsThatLookLikeBatches(t *testing.T) {
	inner := marker("topic", 0, 5, 5, 1)
	outer := append(marker("topic", 0, 1, 1, 1), inner...) // as if it were in the record's value
	setHeader(outer, 1, 0)
	outer[70] ^= 0xff
	data := slices.Concat(marker("topic", 0, 0, 0, 1), outer, marker("topic", 0, 2, 2, 1))
	s := segment{data: data, last: true, hint: 3}
	pieces := s.scan(0)
	require.Len(t, pieces, 3)
	require.Equal(t, lost, pieces[1].kind)
	require.Equal(t, [2]int64{1, 1}, [2]int64{pieces[1].from, pieces[1].to})
}

// FuzzScan: no bytes make the scan fail, run on, or leave a byte without a piece.
func FuzzScan(f *testing.F) {
	sound, _ := someBatches(4)
	f.Add(sound, int64(0), true)
	f.Add(sound[:100], int64(0), true)
	f.Add(bytes.Repeat([]byte{0, 2}, 500), int64(7), false)
	f.Fuzz(func(t *testing.T, data []byte, expect int64, last bool) {
		if expect < 0 || expect > 1<<50 {
			return
		}
		s := segment{data: data, base: expect, last: last, hint: expect + 4}
		pos := int64(0)
		for _, p := range s.scan(expect) {
			require.Equal(t, pos, p.pos)
			pos += p.size
		}
		require.Equal(t, int64(len(data)), pos)
		sound, bad := soundEntries(data)
		require.Equal(t, len(data), len(sound)+bad)
	})
}

// benchSegment is a segment of batches of about 16 kB, from an offset on.
func benchSegment(offset int64, size int) (data []byte, next int64) {
	random := rand.New(rand.NewPCG(1, 1))
	for ; len(data) < size; offset++ {
		raw := marker("topic", 0, offset, offset, 1)
		for range 2000 {
			raw = binary.LittleEndian.AppendUint64(raw, random.Uint64())
		}
		setHeader(raw, offset, 0)
		binary.BigEndian.PutUint32(raw[posCRC:], crc32.Checksum(raw[posAttributes:], castagnoli))
		data = append(data, raw...)
	}
	return data, offset
}

// BenchmarkCheck is what the check of a log in the page cache costs: four partitions of two
// segments.
func BenchmarkCheck(b *testing.B) {
	root, bytes := b.TempDir(), 0
	topics := []Topic{{Name: "topic", ID: "AAAA", Partitions: 4, Replicas: 1}}
	for n := range 4 {
		k, offset := key{"topic", n}, int64(0)
		require.NoError(b, os.MkdirAll(filepath.Dir(k.path(filepath.Join(root, brokerDir), 0, dataSuffix)), 0o750))
		for range 2 {
			data, next := benchSegment(offset, 64<<20)
			require.NoError(b, os.WriteFile(k.path(filepath.Join(root, brokerDir), offset, dataSuffix), data, 0o600))
			offset, bytes = next, bytes+len(data)
		}
	}
	raw, err := json.Marshal(topicsDocument{formatVersion, topics})
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(root, brokerDir, topicsFile), raw, 0o600))
	b.SetBytes(int64(bytes))
	for b.Loop() {
		report, err := Check(root, nil)
		require.NoError(b, err)
		require.Empty(b, report.Damages)
	}
}

// TestTimesAroundDamageOfAClockThatWasSet: the clock was set back before the damage. The times are
// those of the records beside it, and a marker is as young as any record before it.
func TestTimesAroundDamageOfAClockThatWasSet(t *testing.T) {
	const noon = 1_700_000_000_000
	root := t.TempDir()
	k := key{"topic", 0}
	require.NoError(t, os.MkdirAll(filepath.Join(root, brokerDir, partitionsDir, k.dir()), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, brokerDir, topicsFile), []byte(`{"version":1,"topics":[{"name":"topic","id":"a2V5cw==","partitions":1,"replicas":1}]}`), 0o600))
	damaged := marker("topic", 0, 2, 2, noon-59_000)
	for i := range 8 {
		damaged[posCRC+i] ^= 0x55
	}
	data := slices.Concat(marker("topic", 0, 0, 0, noon), marker("topic", 0, 1, 1, noon-60_000), damaged, marker("topic", 0, 3, 3, noon-58_000))
	require.NoError(t, os.WriteFile(k.path(filepath.Join(root, brokerDir), 0, dataSuffix), data, 0o600))
	report, err := Check(root, nil)
	require.NoError(t, err)
	require.Len(t, report.Damages, 1)
	d := &report.Damages[0]
	require.EqualValues(t, 2, d.From)
	require.EqualValues(t, 2, d.To)
	require.EqualValues(t, noon-60_000, d.After.UnixMilli())
	require.EqualValues(t, noon-58_000, d.Before.UnixMilli())
	require.EqualValues(t, noon, d.time())
}
