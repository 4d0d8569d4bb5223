package stream

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// BenchmarkEngine matches a block of 1,500 transactions against 1,000 clients of 20 addresses,
// without parsing and without sending. Each transaction is wanted by two of them on average. With
// MINTLAKE_BENCH_DIR it writes what it matches there, for bench/gateway/richat.
func BenchmarkEngine(b *testing.B) {
	const size, clients, each = 1500, 1000, 20
	recorded := block(b)
	own := func(i int) address {
		a := address{31: 1}
		binary.BigEndian.PutUint64(a[20:], uint64(i)+1)
		return a
	}
	var messages []*pb.SubscribeUpdateTransaction
	for i := range size {
		x := proto.CloneOf(recorded[i%len(recorded)])
		key := own(i)
		x.Transaction.Meta.LoadedReadonlyAddresses = append(x.Transaction.Meta.LoadedReadonlyAddresses, key[:])
		messages = append(messages, x)
	}
	list := parsed(b, messages)
	r := rand.New(rand.NewPCG(5, 6))
	filters := make([]addresses, clients)
	for range 2 {
		for i := range size {
			c := r.IntN(clients)
			for len(filters[c]) >= each || slices.Contains(filters[c], own(i)) {
				c = r.IntN(clients)
			}
			filters[c] = append(filters[c], own(i))
		}
	}
	h := runHub(b, clients, 1<<30)
	for i := range filters {
		for len(filters[i]) < each {
			filters[i] = append(filters[i], randomKey(r))
		}
		slices.SortFunc(filters[i], compareAddresses)
		sub, err := h.add("", "", 1<<20)
		require.NoError(b, err)
		require.NoError(b, h.set(sub, []namedFilter{{"f", &filter{include: filters[i]}}}, nil))
	}
	if dir := os.Getenv("MINTLAKE_BENCH_DIR"); dir != "" {
		writeEngineInput(b, dir, list, filters)
	}
	var done chan struct{}
	delivered := 0
	h.finished = func(b *batch) {
		delivered = int(b.delivered.Load())
		close(done)
	}
	var took []time.Duration
	for b.Loop() {
		done = make(chan struct{})
		began := time.Now()
		h.publish(context.Background(), list)
		<-done
		took = append(took, time.Since(began))
		for s := range h.subscribers {
			for _, ok := s.out.pop(); ok; _, ok = s.out.pop() {
			}
		}
	}
	require.Equal(b, 2*size, delivered)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs/block")
}

func writeEngineInput(b *testing.B, dir string, list []*transaction, filters []addresses) {
	b.Helper()
	var messages, lines []byte
	for _, t := range list {
		update := t.update(nil).Materialize()
		messages = binary.LittleEndian.AppendUint32(messages, uint32(len(update)))
		messages = append(messages, update...)
	}
	for _, f := range filters {
		texts := make([]string, len(f))
		for i, a := range f {
			texts[i] = base58.Encode(a[:])
		}
		lines = fmt.Appendln(lines, strings.Join(texts, " "))
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, "messages"), messages, 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "filters"), lines, 0o600))
}
