package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	kafkago "github.com/segmentio/kafka-go"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// replaySlot is the length of a slot, replayTransactions how many transactions it has: 1,500 a
	// second.
	replaySlot         = 400 * time.Millisecond
	replayTransactions = 600
	// replayWanted is how many of them the client wants: a tenth.
	replayWanted = replayTransactions / 10
	// replayFirst is the first slot.
	replayFirst = uint64(400_000_000)
	// replayTogether is how many clients replay together, as after an outage.
	replayTogether = 20
	// replayAtOnce is how many replays run while the delay of a live client is measured, and
	// replayLive how many slots that takes.
	replayAtOnce = 2
	replayLive   = 40
)

// chain writes slots of recorded transactions to the topic, as ingest does.
type chain struct {
	broker *broker
	block  []*pb.SubscribeUpdateTransaction
	next   uint64
}

// slot returns the records of the next slot: its transactions and its end.
func (c *chain) slot() ([]kafka.Record, error) {
	slot := c.next
	c.next++
	list := make([]*pb.SubscribeUpdateTransaction, replayTransactions)
	for i := range list {
		info := c.block[i].GetTransaction()
		signature := slices.Clone(info.GetSignature())
		for n := range 8 { // no signature occurs in two slots
			signature[8+n] ^= byte(slot >> (8 * n))
		}
		list[i] = &pb.SubscribeUpdateTransaction{Slot: slot, Transaction: &pb.SubscribeUpdateTransactionInfo{
			Signature: signature, Transaction: info.GetTransaction(), Meta: info.GetMeta(), Index: uint64(i)}}
	}
	out, err := records(schemas.TopicTransactions, list)
	if err != nil {
		return nil, err
	}
	parent := slot - 1
	end, err := proto.Marshal(&eventspb.StreamBlock{Slot: slot, ParentSlot: &parent, Published: replayTransactions})
	if err != nil {
		return nil, err
	}
	return append(out, kafka.Record{Topic: schemas.TopicTransactions, Key: strconv.AppendUint(nil, slot, 10), Value: end,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeStreamBlock)}}}), nil
}

// write writes a number of slots as fast as the broker takes them.
func (c *chain) write(ctx context.Context, slots int) error {
	for range slots {
		list, err := c.slot()
		if err != nil {
			return err
		}
		if err := c.broker.producer.Produce(ctx, list...); err != nil {
			return err
		}
	}
	return nil
}

// replays compares a replay with a plain consumer that reads the whole topic, and measures how much
// replays delay live clients.
func replays(ctx context.Context, o options, broker *broker, results *report.Report) error {
	block, err := readBlock(o.block)
	if err != nil {
		return err
	}
	c := &chain{broker: broker, block: block, next: replayFirst}
	slots := int(o.chain / replaySlot)
	if err := c.write(ctx, slots); err != nil {
		return err
	}
	s, err := startServer(ctx, broker, o.server, 1000)
	if err != nil {
		return err
	}
	defer s.stop()
	var ours, plain []time.Duration
	for range o.rounds { // in turns
		took, err := replayOnce(s.addr, slots*replayWanted)
		if err != nil {
			return err
		}
		ours = append(ours, took)
		if took, err = consume(ctx, broker, slots*(replayTransactions+1)); err != nil {
			return err
		}
		plain = append(plain, took)
	}
	slices.Sort(ours)
	slices.Sort(plain)
	mine, peer := ours[len(ours)/2], plain[len(plain)/2]
	results.Add(report.Figure{
		Name: fmt.Sprintf("replay of %s of the chain, a tenth of it wanted", o.chain), Value: ms(mine), Unit: "ms", Peer: "kafka-go, thrown away", PeerValue: ms(peer),
		Goal: "half as fast", Met: mine <= 2*peer, Note: fmt.Sprintf("%d transactions; all: %s; peer: %s", slots*replayTransactions, list(ours), list(plain)),
	})
	if err := together(ctx, s, slots, results); err != nil {
		return err
	}
	return compareLive(ctx, c, s, slots, results)
}

// together measures how many records are read from the topic for clients that replay it together.
func together(ctx context.Context, s *server, slots int, results *report.Report) error {
	const reads = "mintlake_gateway_stream_replay_reads_total"
	before, err := s.metric(ctx, reads)
	if err != nil {
		return err
	}
	took, failed := make([]time.Duration, replayTogether), make([]error, replayTogether)
	var clients sync.WaitGroup
	for i := range replayTogether {
		clients.Go(func() { took[i], failed[i] = replayOnce(s.addr, slots*replayWanted) })
	}
	clients.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	after, err := s.metric(ctx, reads)
	if err != nil {
		return err
	}
	records := float64(slots * (replayTransactions + 1))
	results.Add(report.Figure{
		Name: fmt.Sprintf("records read for %d replays at once", replayTogether), Value: after - before, Unit: "records", Peer: "records of the topic", PeerValue: records,
		Goal: "ratio <= 1.5", Met: after-before <= 1.5*records, Note: fmt.Sprintf("the last one was done after %s", list([]time.Duration{slices.Max(took)})),
	})
	return nil
}

// replayClient subscribes to a tenth of the transactions, from slot from on. If from is 0, it gets
// only live ones.
func replayClient(addr string, from uint64) (*client, error) {
	var addresses []string
	for i := range replayWanted {
		addresses = append(addresses, base58.Encode(ownAccount(i*replayTransactions/replayWanted)))
	}
	request := &pb.SubscribeRequest{Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mine": {AccountInclude: addresses}}}
	if from == 0 {
		return dial(addr, true, addresses)
	}
	request.FromSlot = &from
	return dialWith(addr, true, func(c *client) error { return c.sendGRPC(addr, request) })
}

// replayOnce replays from the first slot on. It returns the time from the connection until it has
// read that many transactions.
func replayOnce(addr string, transactions int) (time.Duration, error) {
	begin := time.Now()
	c, err := replayClient(addr, replayFirst)
	if err != nil {
		return 0, err
	}
	defer c.conn.Close() //nolint:errcheck // the run is over
	var left atomic.Int64
	left.Store(int64(transactions))
	var took time.Duration
	err = c.count(&left, func() {
		took = time.Since(begin)
		_ = c.conn.Close()
	})
	if left.Load() > 0 {
		return 0, fmt.Errorf("%d transactions of a replay did not come: %w", left.Load(), err)
	}
	return took, nil
}

// consume returns how long a plain consumer takes to read that many records of the topic.
func consume(ctx context.Context, broker *broker, records int) (time.Duration, error) {
	begin := time.Now()
	reader := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{broker.addr}, Topic: schemas.TopicTransactions, Partition: 0, MaxBytes: 10 << 20})
	defer reader.Close() //nolint:errcheck // the run is over
	for range records {
		if _, err := reader.ReadMessage(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// compareLive reports the delay of a live client with and without replays at the same time, in
// turns.
func compareLive(ctx context.Context, c *chain, s *server, slots int, results *report.Report) error {
	var alone, beside []time.Duration
	for range 2 {
		delays, err := live(ctx, c, s)
		if err != nil {
			return err
		}
		alone = append(alone, delays...)
		stop, stopped := make(chan struct{}), sync.WaitGroup{}
		for range replayAtOnce {
			stopped.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						// A replay that fails is only repeated: what is measured is the live
						// client.
						_, _ = replayOnce(s.addr, slots*replayWanted)
					}
				}
			})
		}
		delays, err = live(ctx, c, s)
		close(stop)
		stopped.Wait()
		if err != nil {
			return err
		}
		beside = append(beside, delays...)
	}
	slices.Sort(alone)
	slices.Sort(beside)
	p99 := func(d []time.Duration) float64 { return ms(d[len(d)*99/100]) }
	results.Add(report.Figure{
		Name: "delay of a live client, p99", Value: p99(beside), Unit: "ms", Peer: "without replays", PeerValue: p99(alone), Goal: "ratio <= 2", Met: p99(beside) <= 2*p99(alone),
		Note: fmt.Sprintf("%d replays beside it; median %.0f ms, without %.0f ms", replayAtOnce, ms(beside[len(beside)/2]), ms(alone[len(alone)/2])),
	})
	return nil
}

// live writes a slot each replaySlot, and returns how long each transaction takes from the producer
// to a live client.
func live(ctx context.Context, c *chain, s *server) ([]time.Duration, error) {
	client, err := replayClient(s.addr, 0)
	if err != nil {
		return nil, err
	}
	defer client.conn.Close() //nolint:errcheck // the run is over
	sent := make([]atomic.Int64, replayLive)
	var delays []time.Duration
	done := make(chan error, 1)
	go func() {
		err := client.each(func() {
			delays = append(delays, time.Duration(time.Now().UnixNano()-sent[len(delays)/replayWanted].Load()))
			if len(delays) == replayLive*replayWanted {
				_ = client.conn.Close()
			}
		})
		if len(delays) == replayLive*replayWanted {
			err = nil
		}
		done <- err
	}()
	tick := time.NewTicker(replaySlot)
	defer tick.Stop()
	for i := range sent {
		list, err := c.slot()
		if err != nil {
			return nil, err
		}
		<-tick.C
		sent[i].Store(time.Now().UnixNano())
		if err := c.broker.producer.Produce(ctx, list...); err != nil {
			return nil, err
		}
	}
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	case <-time.After(patience):
		return nil, errors.New("transactions did not come to the live client")
	}
	return delays, nil
}
