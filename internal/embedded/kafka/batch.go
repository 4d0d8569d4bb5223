package kafka

import (
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
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxBatchBytes bounds the size of the records of one batch after decompression. Mintlake's own
	// batches have at most a megabyte before compression. A batch from outside has at most a
	// megabyte on the wire, but Zstandard packs a gigabyte of zeros into that, and a reader would
	// run out of memory.
	maxBatchBytes = 32 << 20

	// batchHeaderBytes is the length of a record batch (magic 2) before its records, see
	// https://kafka.apache.org/documentation/#recordbatch.
	batchHeaderBytes = 61
	batchMagicAt     = 16
	batchCodecAt     = 22 // the low byte of the attributes; its low three bits are the codec
	batchCountAt     = 57
)

var (
	errBatchTooLong = errors.New("batch decompresses to more than the limit")
	errBadBatch     = errors.New("batch does not hold the records that it says")
)

// checkBatch returns an error unless every reader can decode the batch in bounded memory: it
// decompresses to at most maxBatchBytes, and has as many whole records as its header says. Apache
// Kafka checks all of this but the size; kfake checks nothing, and kafka-go allocates as many
// records and headers as a batch claims to have. What is no batch of version 2 at all passes: the
// broker refuses it.
func checkBatch(batch []byte) error {
	if len(batch) < batchHeaderBytes || batch[batchMagicAt] != 2 {
		return nil
	}
	records, err := decompress(batch[batchCodecAt]&7, batch[batchHeaderBytes:])
	if err != nil {
		return err
	}
	count := int32(binary.BigEndian.Uint32(batch[batchCountAt:]))
	if count < 0 {
		return fmt.Errorf("%w: %d records", errBadBatch, count)
	}
	for i := range count {
		if records, err = skipRecord(records); err != nil {
			return fmt.Errorf("%w: record %d of %d", err, i, count)
		}
	}
	if len(records) > 0 {
		return fmt.Errorf("%w: %d bytes behind the last record", errBadBatch, len(records))
	}
	return nil
}

// skipRecord checks all lengths in the first record of b, and returns what is behind it.
func skipRecord(b []byte) ([]byte, error) {
	length, n := binary.Varint(b)
	if n <= 0 || length < 1 || length > int64(len(b)-n) {
		return nil, errBadBatch
	}
	record, rest := b[n:n+int(length)], b[n+int(length):]
	record = record[1:] // attributes
	for range 2 {       // deltas of timestamp and offset
		_, n := binary.Varint(record)
		if n <= 0 {
			return nil, errBadBatch
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
		return nil, errBadBatch
	}
	record = record[n:]
	for range headers {
		field(0)
		field(-1)
	}
	if !ok || len(record) > 0 {
		return nil, errBadBatch
	}
	return rest, nil
}

// zstdDecoder returns the one decoder of this process; it is safe for concurrent use.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBatchBytes))
})

// decompress returns the records, which are at most maxBatchBytes; only a batch without compression
// is returned as it is. codec is one of 0 (none), 1 (gzip), 2 (snappy), 3 (LZ4) and 4 (Zstandard).
func decompress(codec byte, b []byte) ([]byte, error) {
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
			out, err = decoder.DecodeAll(b, nil)
		}
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			err = errBatchTooLong
		}
	default:
		return nil, fmt.Errorf("%w: codec %d", errBadBatch, codec)
	}
	if err != nil && !errors.Is(err, errBatchTooLong) {
		return nil, fmt.Errorf("%w: decompress: %w", errBadBatch, err)
	}
	return out, err
}

func readBounded(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, maxBatchBytes+1))
	if len(out) > maxBatchBytes {
		return nil, errBatchTooLong
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
		if len(b) < lengthBytes || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-lengthBytes) {
			return nil, io.ErrUnexpectedEOF
		}
		end := lengthBytes + int(binary.BigEndian.Uint32(b))
		if out, err = unsnappyBlock(out, b[lengthBytes:end]); err != nil {
			return nil, err
		}
		b = b[end:]
	}
	return out, nil
}

// unsnappyBlock appends a decompressed block to out, which may have maxBatchBytes at most.
func unsnappyBlock(out, block []byte) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if size > maxBatchBytes-len(out) {
		return nil, errBatchTooLong
	}
	decoded, err := s2.Decode(nil, block)
	if err != nil {
		return nil, err
	}
	return append(out, decoded...), nil
}

// checkProduce checks each batch of a request. If one is bad, it returns the reason, and an answer
// that refuses all batches of the request.
func checkProduce(request *kmsg.ProduceRequest) (kmsg.Response, error) {
	var reason error
	for i := range request.Topics {
		for j := range request.Topics[i].Partitions {
			if err := checkBatch(request.Topics[i].Partitions[j].Records); err != nil {
				reason = err
			}
		}
	}
	if reason == nil {
		return nil, nil // nothing to refuse
	}
	response, _ := request.ResponseKind().(*kmsg.ProduceResponse)
	for i := range request.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = request.Topics[i].Topic, request.Topics[i].TopicID
		for j := range request.Topics[i].Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition = request.Topics[i].Partitions[j].Partition
			partition.ErrorCode = kerr.InvalidRecord.Code
			partition.ErrorMessage = kmsg.StringPtr(reason.Error())
			partition.BaseOffset = -1
			topic.Partitions = append(topic.Partitions, partition)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response, reason
}
