// Bench-gateway measures the stream and the JSON-RPC proxy of a gateway: how long a block takes to
// reach its clients, how much memory an idle client takes, how fast a replay is, and how fast reads
// are passed on.
//
//	bench-gateway --server bin/mintlake --base /path/to/another/mintlake \
//	  --block 332254855.confirmedblock.pb
//	bench-gateway --server bin/mintlake --only idle
//
// It starts an embedded Kafka and, in turns, `mintlake gateway` of each binary, opens real
// connections, writes a block's transactions to the topic, and stops the clock when the last client
// has read its last byte. Clients, broker and server share the machine.
package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// options are the flags.
type options struct {
	server, base, block string
	rounds              int
	clients             []int
	idle                int
	only                string
	medians             []float64
	// chain is how much of the chain is replayed, in the chain's time.
	chain time.Duration
	nginx string
	// writer makes this process the server that does nothing but write.
	writer bool
}

func main() {
	var o options
	pflag.StringVar(&o.server, "server", "bin/mintlake", "binary that is measured")
	pflag.StringVar(&o.base, "base", "", "binary that it is compared with, if any")
	pflag.StringVar(&o.block, "block", "../shared/data/blocks/332254855.confirmedblock.pb", "recorded block, as protobuf ConfirmedBlock")
	pflag.IntVar(&o.rounds, "rounds", 5, "blocks that each server gets")
	pflag.IntSliceVar(&o.clients, "clients", []int{1000, 10_000}, "clients; the first number is that of --base too")
	pflag.IntVar(&o.idle, "idle", 10_000, "idle clients")
	pflag.StringVar(&o.only, "only", "", "fanout, idle, replay, latency or reads; all when empty")
	pflag.DurationVar(&o.chain, "chain", 10*time.Minute, "how much of the chain is replayed")
	pflag.StringVar(&o.nginx, "nginx", "nginx", "the peer of reads")
	pflag.Float64SliceVar(&o.medians, "medians", nil, "report these medians of the filter engine and of its peer, in ms, and end; for run.sh")
	pflag.BoolVar(&o.writer, "writer", false, "be the server that does nothing but write, the floor of the fan-out, and measure nothing")
	pflag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-gateway:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.writer {
		return serveWriter()
	}
	if len(o.medians) == 2 {
		r := report.New("bench-gateway-engine")
		r.Add(report.Figure{
			Name: "a block of 1,500 transactions for 1,000 clients of 20 addresses", Value: o.medians[0], Unit: "ms", Peer: "richat-filter 9.0.0", PeerValue: o.medians[1],
			Goal: "50 times as fast", Met: o.medians[1] >= 50*o.medians[0],
		})
		return r.Write()
	}
	r := report.New("bench-gateway-" + cmp.Or(o.only, "stream"))
	if err := measure(o, r); err != nil {
		return err
	}
	return r.Write()
}

func measure(o options, r *report.Report) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broker, err := startBroker(ctx)
	if err != nil {
		return err
	}
	defer broker.stop()
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"fanout", func() error { return fanouts(ctx, o, broker, r) }},
		{"idle", func() error {
			return errors.Join(idle(ctx, o, broker, false, r), idle(ctx, o, broker, true, r))
		}},
		{"replay", func() error { return replays(ctx, o, broker, r) }},
		{"latency", func() error { return latency(ctx, o, r) }},
		{"reads", func() error { return reads(ctx, o, broker, r) }},
	} {
		if o.only == "" || o.only == part.name {
			if err := part.measure(); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return nil
}

// recordedSlot is the slot of the recorded block.
const recordedSlot = 332254855

// inSlot returns the same transactions in another slot.
func inSlot(slot uint64, block []*pb.SubscribeUpdateTransaction) []*pb.SubscribeUpdateTransaction {
	list := make([]*pb.SubscribeUpdateTransaction, len(block))
	for i, x := range block {
		list[i] = &pb.SubscribeUpdateTransaction{Slot: slot, Transaction: x.GetTransaction()}
	}
	return list
}

// blockSize is how many transactions a block has: a full block of the chain.
const blockSize = 1500

// readBlock returns blockSize transactions of a recorded block. If it has fewer, they are repeated
// with other signatures. Each transaction gets an additional account that no other has
// (ownAccount), so that filters can select single transactions.
func readBlock(path string) ([]*pb.SubscribeUpdateTransaction, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var recorded pb.ConfirmedBlock
	if err := proto.Unmarshal(raw, &recorded); err != nil {
		return nil, err
	}
	var list []*pb.SubscribeUpdateTransaction
	for i := range blockSize {
		x := recorded.Transactions[i%len(recorded.Transactions)]
		signature := slices.Clone(x.Transaction.Signatures[0])
		signature[0] ^= byte(i / len(recorded.Transactions))
		meta := proto.CloneOf(x.Meta)
		meta.LoadedReadonlyAddresses = append(meta.LoadedReadonlyAddresses, ownAccount(i))
		list = append(list, &pb.SubscribeUpdateTransaction{Slot: recordedSlot, Transaction: &pb.SubscribeUpdateTransactionInfo{
			Signature: signature, Transaction: x.Transaction, Meta: meta, Index: uint64(i)}})
	}
	return list, nil
}

// accountsOf returns a transaction's accounts in base58.
func accountsOf(x *pb.SubscribeUpdateTransaction) (list []string) {
	info := x.Transaction
	for _, keys := range [][][]byte{info.Transaction.Message.AccountKeys, info.Meta.LoadedWritableAddresses, info.Meta.LoadedReadonlyAddresses} {
		for _, k := range keys {
			list = append(list, base58.Encode(k))
		}
	}
	return list
}

// addressesEach is how many addresses a client names.
const addressesEach = 20

// ownAccount returns the account that only transaction i has.
func ownAccount(i int) []byte {
	key := make([]byte, 32)
	binary.BigEndian.PutUint64(key[20:], uint64(i)+1)
	return key
}

// pick returns a filter of addressesEach addresses for each client. Of a thousand clients, two
// match each transaction, by its ownAccount. The other addresses occur in no transaction.
// deliveries is how many transactions of the block all clients together get.
func pick(r *rand.Rand, block []*pb.SubscribeUpdateTransaction, clients int) (filters [][]string, deliveries int) {
	filters = make([][]string, clients)
	for range max(1, 2*clients/1000) {
		for i := range block {
			own := base58.Encode(ownAccount(i))
			c := r.IntN(clients)
			for len(filters[c]) >= addressesEach || slices.Contains(filters[c], own) {
				c = r.IntN(clients)
			}
			filters[c] = append(filters[c], own)
			deliveries++
		}
	}
	for c := range filters {
		for len(filters[c]) < addressesEach {
			var key [32]byte
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			filters[c] = append(filters[c], base58.Encode(key[:]))
		}
	}
	return filters, deliveries
}

// topicBefore is the topic that binaries before chain.transactions.v2 read.
const topicBefore = "chain.transactions.v1"

// records returns the Kafka records of a block, as ingest writes them.
func records(topic string, block []*pb.SubscribeUpdateTransaction) ([]kafka.Record, error) {
	list := make([]kafka.Record, 0, len(block))
	now := fmt.Append(nil, time.Now().UnixMilli())
	for _, x := range block {
		value, err := proto.Marshal(x)
		if err != nil {
			return nil, err
		}
		list = append(list, kafka.Record{Topic: topic, Key: strconv.AppendUint(nil, x.Slot, 10), Value: value,
			Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeTransaction)}, {Key: schemas.HeaderReceivedAt, Value: now}}})
	}
	return list, nil
}

// fanouts measures how long a block takes to reach all clients that want a part of it.
func fanouts(ctx context.Context, o options, broker *broker, results *report.Report) error {
	block, err := readBlock(o.block)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same clients in each run
	few := o.clients[0]
	filters, deliveries := pick(r, block, few)
	every := slices.Clone(filters)
	common := accountsOf(block[0])[0]
	five := sharing(block, common, 5)
	for c := range every {
		every[c] = append(slices.Clone(filters[c][:addressesEach-1]), common)
	}
	ready, err := recordBlock(ctx, broker, o.server, filters, block, deliveries)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	var ours, base, all measured
	var least floor
	for range o.rounds { // in turns, so that other work of the machine slows all alike
		if o.base != "" {
			took, err := fanout(ctx, broker, o.base, topicBefore, filters, block, deliveries, 2)
			if err != nil {
				return fmt.Errorf("base: %w", err)
			}
			base.add(took)
		}
		took, err := fanout(ctx, broker, o.server, schemas.TopicTransactions, filters, block, deliveries, 3, oneAddress)
		if err != nil {
			return err
		}
		ours.add(took)
		if took, err = fanout(ctx, broker, o.server, schemas.TopicTransactions, every, five, 5*few, 3, oneAddress); err != nil {
			return err
		}
		all.add(took)
		lowest, err := measureFloor(ctx, broker, ready, block, deliveries, 3)
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		least.add(lowest)
	}
	name := fmt.Sprintf("%d transactions to %d clients, %d deliveries", blockSize, few, deliveries)
	before, beforeCPU := time.Duration(0), time.Duration(0)
	if o.base != "" {
		before, beforeCPU = base.show(results, name+", before")
	}
	now, nowCPU := ours.show(results, name)
	shared, _ := all.show(results, fmt.Sprintf("5 transactions that all %d want", few))
	if o.base != "" {
		results.Add(report.Figure{
			Name: "now / before", Value: ms(now), Unit: "ms", Peer: "before", PeerValue: ms(before), Goal: "20 times as fast",
			Met: ratio(before, now) >= 20, Note: fmt.Sprintf("%.1f times by processor time", ratio(beforeCPU, nowCPU)),
		})
	}
	least.report(results, before)
	results.Add(report.Figure{Name: "5 that all want", Value: ms(shared), Unit: "ms", Peer: "block", PeerValue: ms(now), Goal: "ratio <= 2", Met: shared <= 2*now})
	for _, many := range o.clients[1:] {
		filters, deliveries := pick(r, block, many)
		took, err := fanout(ctx, broker, o.server, schemas.TopicTransactions, filters, block, deliveries, 5, oneAddress)
		if err != nil {
			return err
		}
		more, _ := took.show(results, fmt.Sprintf("%d transactions to %d clients, %d deliveries", blockSize, many, deliveries))
		results.Add(report.Figure{
			Name: fmt.Sprintf("%d clients", many), Value: ms(more), Unit: "ms", Peer: fmt.Sprintf("%d clients", few), PeerValue: ms(now),
			Goal: fmt.Sprintf("ratio <= %d", many/few), Met: ratio(more, now) <= float64(many/few),
		})
	}
	return nil
}

// show adds the figure of a fan-out, and returns the medians.
func (m *measured) show(results *report.Report, what string) (took, cpu time.Duration) {
	slices.Sort(m.took)
	slices.Sort(m.cpu)
	took, cpu = m.took[len(m.took)/2], m.cpu[len(m.cpu)/2]
	results.Add(report.Figure{
		Name: what, Value: ms(took), Unit: "ms", Note: fmt.Sprintf("median; %.0f ms of the server's processor time; all: %s", ms(cpu), list(m.took)),
	})
	return took, cpu
}

// sharing returns n transactions that have the account. It is added to those that lack it.
func sharing(block []*pb.SubscribeUpdateTransaction, account string, n int) (list []*pb.SubscribeUpdateTransaction) {
	raw, err := base58.Decode(account)
	if err != nil {
		panic(err) // it was encoded above
	}
	for _, x := range block[:n] {
		x = proto.CloneOf(x)
		if !slices.Contains(accountsOf(x), account) {
			x.Transaction.Meta.LoadedReadonlyAddresses = append(x.Transaction.Meta.LoadedReadonlyAddresses, raw)
		}
		list = append(list, x)
	}
	return list
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func list(took []time.Duration) string {
	texts := make([]string, len(took))
	for i, d := range took {
		texts[i] = fmt.Sprintf("%.0f", ms(d))
	}
	return strings.Join(texts, " ")
}

var errEnd = errors.New("a client's connection ended")

// quiet returns whether an error only means that the connection was closed.
func quiet(err error) bool { return errors.Is(err, io.EOF) }

// idleFilter returns addresses that no transaction has, different ones for each n.
func idleFilter(n int) (list []string) {
	r := rand.New(rand.NewPCG(uint64(n), 3)) //nolint:gosec // the same clients in each run
	for range addressesEach {
		var key [32]byte
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		list = append(list, base58.Encode(key[:]))
	}
	return list
}
