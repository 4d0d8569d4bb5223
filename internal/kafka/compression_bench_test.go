package kafka

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/internal/testkit"
)

// blockTransactions are the transactions of a recorded mainnet block, each as the bytes that a
// record of chain.transactions.v2 holds but for its slot: field 4 of a ConfirmedBlock. Votes are
// left out, as Mintlake asks its providers to.
func blockTransactions(t testing.TB) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/blocks/332254855.confirmedblock.pb"))
	require.NoError(t, err)
	vote, err := base58.Decode("Vote111111111111111111111111111111111111111")
	require.NoError(t, err)
	var transactions [][]byte
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		require.Positive(t, n)
		size := protowire.ConsumeFieldValue(number, kind, raw[n:])
		require.Positive(t, size)
		if number == 4 {
			value, _ := protowire.ConsumeBytes(raw[n:])
			if !bytes.Contains(value, vote) {
				transactions = append(transactions, value)
			}
		}
		raw = raw[n+size:]
	}
	require.NotEmpty(t, transactions)
	return transactions
}

// BenchmarkCompression prints what a transaction takes in Kafka in each compression and what
// packing and unpacking it costs one core, in batches of the size that a Produce request has at
// most, and at mainnet's rate the bytes a day: docs/sizing.md.
func BenchmarkCompression(b *testing.B) {
	const mainnet = 1_566 // filtered transactions a second: 115 GB of 3.4 KB in six hours
	all := blockTransactions(b)
	var batches [][]byte
	var batch []byte
	for _, transaction := range all {
		if len(batch)+len(transaction) > DefaultMaxRecordBytes/4 {
			batches, batch = append(batches, batch), nil
		}
		batch = append(batch, transaction...)
	}
	batches = append(batches, batch)
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		b.Run(name, func(b *testing.B) {
			codec, err := codecOf(name)
			require.NoError(b, err)
			packed, before := 0, processorTime(b)
			for b.Loop() {
				packed = 0
				for _, batch := range batches {
					packed += len(packThere(b, codec, batch))
				}
			}
			perTransaction := float64(packed) / float64(len(all))
			b.ReportMetric(perTransaction, "B/transaction")
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N*len(all)), "cpu-µs/transaction")
			b.ReportMetric(perTransaction*mainnet*86_400/1e9, "GB/day")
		})
	}
}

// processorTime is what this process has used, whatever else the machine does.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// packThere compresses batch and decompresses it again.
func packThere(b *testing.B, codec kafkago.Compression, batch []byte) []byte {
	if codec == 0 {
		return batch
	}
	var out bytes.Buffer
	w := codec.Codec().NewWriter(&out)
	_, err := w.Write(batch)
	require.NoError(b, err)
	require.NoError(b, w.Close())
	r := codec.Codec().NewReader(bytes.NewReader(out.Bytes()))
	n, err := io.Copy(io.Discard, r)
	require.NoError(b, err)
	require.EqualValues(b, len(batch), n)
	require.NoError(b, r.Close())
	return out.Bytes()
}
