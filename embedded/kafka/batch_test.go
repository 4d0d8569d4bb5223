package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/recordbatch"
)

// wireRecord is one record with a value and n headers said to follow, of which it has one.
func wireRecord(value []byte, headers int64) []byte {
	body := []byte{0, 0, 0, 1} // attributes, deltas, key: null
	body = binary.AppendVarint(body, int64(len(value)))
	body = append(body, value...)
	body = binary.AppendVarint(body, headers)
	if headers > 0 {
		body = append(body, 2, 'k', 2, 'v')
	}
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// wireBatch is a batch of records that were compressed with codec.
func wireBatch(codec byte, count int32, records []byte) []byte {
	b := make([]byte, batchHeaderBytes, batchHeaderBytes+len(records))
	b[batchMagicAt], b[batchCodecAt] = 2, codec
	binary.BigEndian.PutUint32(b[8:], uint32(batchHeaderBytes-12+len(records)))
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	for i := 43; i < batchCountAt; i++ {
		b[i] = 0xff // no producer id, epoch, sequence
	}
	binary.BigEndian.PutUint32(b[batchCountAt:], uint32(count))
	b = append(b, records...)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func goodBatch() []byte {
	return wireBatch(0, 2, append(wireRecord([]byte("one"), 1), wireRecord(nil, 0)...))
}

func pack(t testing.TB, codec byte, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch codec {
	case 0:
		return b
	case 1:
		w := gzip.NewWriter(&out)
		_, err := w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case 2:
		return s2.EncodeSnappy(nil, b)
	case 3:
		w := lz4.NewWriter(&out)
		_, err := w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case 4:
		w, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return w.EncodeAll(b, nil)
	}
	return out.Bytes()
}

// xerial wraps snappy as Java clients do.
func xerial(b []byte) []byte {
	block := s2.EncodeSnappy(nil, b)
	out := append([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}, 0, 0, 0, 1, 0, 0, 0, 1)
	return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
}

func TestBatchesThatReadersCanDecodePass(t *testing.T) {
	records := append(wireRecord(bytes.Repeat([]byte("value"), 1000), 1), wireRecord(nil, 0)...)
	for codec := range byte(5) {
		require.NoError(t, checkBatch(wireBatch(codec, 2, pack(t, codec, records))), "codec %d", codec)
	}
	require.NoError(t, checkBatch(wireBatch(2, 2, xerial(records))), "snappy of Java clients")
	require.NoError(t, checkBatch([]byte("no batch")), "the broker refuses that")
}

func TestBatchesThatHarmReadersAreRefused(t *testing.T) {
	record := wireRecord([]byte("value"), 0)
	zeros := make([]byte, recordbatch.MaxBytes+1)
	for name, test := range map[string]struct {
		batch []byte
		err   error
	}{
		"two thousand million records": {wireBatch(0, 1<<31-1, record), recordbatch.ErrTooLong},
		"a few records too many":       {wireBatch(4, recordbatch.MaxRecords+1, pack(t, 4, bytes.Repeat(wireRecord(nil, 0), recordbatch.MaxRecords+1))), recordbatch.ErrTooLong},
		"more records than there are":  {wireBatch(0, 1000, record), recordbatch.ErrMalformed},
		"fewer than none":              {wireBatch(0, -1, record), recordbatch.ErrMalformed},
		"more than it says":            {wireBatch(0, 1, append(record, record...)), recordbatch.ErrMalformed},
		"a million headers":            {wireBatch(0, 1, wireRecord(nil, 1<<40)), recordbatch.ErrMalformed},
		"a longer value than there is": {wireBatch(0, 1, []byte{12, 0, 0, 0, 1, 0x7e, 0}), recordbatch.ErrMalformed},
		"a damaged frame":              {wireBatch(4, 1, []byte("no frame")), recordbatch.ErrMalformed},
		"an unknown codec":             {wireBatch(7, 1, record), recordbatch.ErrMalformed},
		"a bomb of gzip":               {wireBatch(1, 1, pack(t, 1, zeros)), recordbatch.ErrTooLong},
		"a bomb of snappy":             {wireBatch(2, 1, pack(t, 2, zeros)), recordbatch.ErrTooLong},
		"a bomb of snappy in blocks":   {wireBatch(2, 1, xerial(zeros)), recordbatch.ErrTooLong},
		"a bomb of lz4":                {wireBatch(3, 1, pack(t, 3, zeros)), recordbatch.ErrTooLong},
		"a bomb of zstd":               {wireBatch(4, 1, pack(t, 4, zeros)), recordbatch.ErrTooLong},
	} {
		require.ErrorIs(t, checkBatch(test.batch), test.err, name)
	}
}

// FuzzCheckBatch: a batch that passes has as many records as it says, so readers may make room for
// them.
func FuzzCheckBatch(f *testing.F) {
	f.Add(goodBatch())
	for codec := range byte(5) {
		f.Add(wireBatch(codec, 1, pack(f, codec, wireRecord([]byte("value"), 1))))
	}
	f.Fuzz(func(t *testing.T, batch []byte) {
		if checkBatch(batch) != nil || len(batch) < batchHeaderBytes || batch[batchMagicAt] != 2 {
			return
		}
		records, err := recordbatch.Decompress(batch[batchCodecAt]&7, batch[batchHeaderBytes:], new(bytes.Buffer))
		require.NoError(t, err)
		count := int(int32(binary.BigEndian.Uint32(batch[batchCountAt:])))
		require.LessOrEqual(t, count*7, len(records), "a record has seven bytes at least")
	})
}

// produceFrame is a request that writes each batch to partition 0 of topic t.
func produceFrame(t testing.TB, version, acks int16, batches ...[]byte) []byte {
	t.Helper()
	request := kmsg.NewPtrProduceRequest()
	request.SetVersion(version)
	request.Acks = acks
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	for _, batch := range batches {
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Records = batch
		topic.Partitions = append(topic.Partitions, partition)
	}
	request.Topics = append(request.Topics, topic)
	header := []byte{0xff, 0xff}
	if request.IsFlexible() {
		header = append(header, 0)
	}
	return frame(keyProduce, version, request.AppendTo(header))
}

// TestABatchThatHarmsReadersIsAnsweredAndNotKept: its producer hears INVALID_RECORD, and the
// connection goes on.
func TestABatchThatHarmsReadersIsAnsweredAndNotKept(t *testing.T) {
	addr := guarded(t)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(4)
	create.Topics = append(create.Topics, topicRequest("t", 1, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}))
	_, err = conn.Write(frame(keyCreateTopics, 4, create.AppendTo([]byte{0xff, 0xff})))
	require.NoError(t, err)
	readFrame(t, conn)

	bomb := wireBatch(4, 1, pack(t, 4, make([]byte, recordbatch.MaxBytes+1)))
	require.Less(t, len(bomb), 10_000)
	for i, test := range []struct {
		batch []byte
		code  int16
	}{{goodBatch(), 0}, {bomb, kerr.InvalidRecord.Code}, {wireBatch(0, 1<<30, wireRecord(nil, 0)), kerr.InvalidRecord.Code}, {goodBatch(), 0}} {
		for _, version := range []int16{3, 8, 9, 12} {
			_, err := conn.Write(append(produceFrame(t, version, 0, goodBatch()), produceFrame(t, version, -1, test.batch)...))
			require.NoError(t, err)
			answer := readFrame(t, conn)[correlationBytes:]
			response := kmsg.NewPtrProduceResponse()
			response.SetVersion(version)
			if response.IsFlexible() {
				answer = answer[1:]
			}
			require.NoError(t, response.ReadFrom(answer))
			require.Equal(t, test.code, response.Topics[0].Partitions[0].ErrorCode, "request %d, version %d", i, version)
		}
	}
}
