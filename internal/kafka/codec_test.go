package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/recordbatch"
)

// codecs of Kafka, by the number in a batch.
var codecs = map[byte]func(w io.Writer) io.WriteCloser{
	1: func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	3: func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
	4: func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		return z
	},
}

// batchWith is a batch that begins at an offset. Its records are compressed already.
func batchWith(base int64, codec byte, count int32, records []byte) []byte {
	const header = 61
	b := make([]byte, header, header+len(records))
	binary.BigEndian.PutUint64(b, uint64(base))
	b[16], b[22] = 2, codec
	binary.BigEndian.PutUint32(b[8:], uint32(header-12+len(records)))
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	b = append(b, records...)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// recordAt is a record at a distance from its batch, with a value of zeros.
func recordAt(delta int64, value int) []byte {
	body := binary.AppendVarint([]byte{0, 0}, delta)
	body = binary.AppendVarint(body, -1)
	body = binary.AppendVarint(body, int64(value))
	body = append(body, make([]byte, value)...)
	body = binary.AppendVarint(body, 0)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// packed compresses what write writes.
func packed(t *testing.T, codec byte, write func(w io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	if codec == 2 {
		var plain bytes.Buffer
		write(&plain)
		return s2.EncodeSnappy(nil, plain.Bytes())
	}
	w := codecs[codec](&out)
	write(w)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readBatches decodes batches as a fetch does. It returns what kafka-go and readRecords allocated.
func readBatches(t *testing.T, offset int64, batches ...[]byte) (records []Record, tooLarge []int64, next int64, allocated uint64, err error) {
	t.Helper()
	all := bytes.Join(batches, nil)
	wire := append(binary.BigEndian.AppendUint32(nil, uint32(len(all))), all...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var set protocol.RecordSet
	if _, err = set.ReadFrom(bytes.NewReader(wire)); err == nil {
		records, tooLarge, next, err = readRecords(set.Records, TopicPartition{Topic: "t"}, offset)
	}
	runtime.ReadMemStats(&after)
	return records, tooLarge, next, after.TotalAlloc - before.TotalAlloc, err
}

// TestABatchThatExpandsIsLeftOut: 192 MiB in a batch cost what the limit allows, and reading
// goes on behind the batch.
func TestABatchThatExpandsIsLeftOut(t *testing.T) {
	for _, codec := range []byte{1, 3, 4} {
		const records, size = 64, 192 << 20
		bomb := packed(t, codec, func(w io.Writer) {
			for i := range int64(records) {
				_, err := w.Write(recordAt(i, size/records))
				require.NoError(t, err)
			}
		})
		good := func(w io.Writer) { _, _ = w.Write(recordAt(0, 7)) }
		read, tooLarge, next, allocated, err := readBatches(t, 100,
			batchWith(100, codec, records, bomb), batchWith(164, codec, 1, packed(t, codec, good)))
		require.NoError(t, err, codec)
		require.Equal(t, []int64{163}, tooLarge, codec)
		require.Len(t, read, 1, codec)
		require.EqualValues(t, 164, read[0].Offset)
		require.EqualValues(t, 165, next)
		require.Less(t, allocated, uint64(8*recordbatch.MaxBytes), "codec %d", codec)
	}
}

// TestABatchOfManyRecordsIsLeftOut: within the bytes, but each record takes a multiple in memory.
func TestABatchOfManyRecordsIsLeftOut(t *testing.T) {
	write := func(n int64) func(w io.Writer) {
		return func(w io.Writer) {
			for i := range n {
				_, _ = w.Write(recordAt(i, 0))
			}
		}
	}
	for _, codec := range []byte{1, 2, 3, 4} {
		const many = recordbatch.MaxRecords + 1
		read, tooLarge, next, _, err := readBatches(t, 0, batchWith(0, codec, many, packed(t, codec, write(many))))
		require.NoError(t, err)
		require.Empty(t, read)
		require.Equal(t, []int64{many - 1}, tooLarge)
		require.EqualValues(t, many, next)

		read, tooLarge, _, _, err = readBatches(t, 10, batchWith(0, codec, 1000, packed(t, codec, write(1000))))
		require.NoError(t, err)
		require.Empty(t, tooLarge)
		require.Len(t, read, 990)
	}
	_, _, _, allocated, err := readBatches(t, 0, batchWith(0, 4, mostPlaces+1, packed(t, 4, write(mostPlaces+1))))
	require.ErrorIs(t, err, recordbatch.ErrTooLong)
	require.Less(t, allocated, uint64(12*recordbatch.MaxBytes))
}

// TestBatchesThatClaimWindowsAndLengths: what is claimed is not made room for.
func TestBatchesThatClaimWindowsAndLengths(t *testing.T) {
	// a zstd frame with a window of 512 MiB, and an empty block; a block of snappy of 4 GiB
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x98, 1, 0, 0}
	huge := binary.AppendUvarint(nil, 1<<32-1)
	xerial := append([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, byte(len(huge))}, huge...)
	for name, batch := range map[string][]byte{
		"window": batchWith(0, 4, 1, window), "snappy": batchWith(0, 2, 1, huge), "xerial": batchWith(0, 2, 1, xerial),
		"no gzip": batchWith(0, 1, 1, []byte("none")), "no lz4": batchWith(0, 3, 1, []byte("none")), "no zstd": batchWith(0, 4, 1, []byte("none")),
		"xerial length": batchWith(0, 2, 1, append(xerial[:16:16], 0xff, 0xff, 0xff, 0xff)),
	} {
		_, _, _, allocated, err := readBatches(t, 0, batch)
		require.Error(t, err, name)
		require.Less(t, allocated, uint64(2<<20), name)
	}
}

// TestALeftOutBatchIsTold by a counter and the log.
func TestALeftOutBatchIsTold(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	var log bytes.Buffer
	f := &fetcher{metrics: m, consumer: "c", log: newSampler(slog.New(slog.NewTextHandler(&log, nil)))}
	f.tooLarge(TopicPartition{Topic: "t", Partition: 3}, []int64{163, 200})
	require.Equal(t, 2.0, testutil.ToFloat64(m.batchesTooLarge.WithLabelValues("c", "t")))
	require.Contains(t, log.String(), "last_offset=163")
}
