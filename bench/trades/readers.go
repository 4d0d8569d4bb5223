package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// measure knows when blocks arrived, and the delays of what came after them.
type measure struct {
	mu     sync.Mutex
	since  time.Time // zero: nothing is counted yet
	blocks map[string]time.Time
	count  int
	// trades arrived at a stream, by signature; seconds at the second direct client.
	trades, seconds []arrival
}

type arrival struct {
	signature, mint string
	at              time.Time
}

func (m *measure) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Now()
}

// direct notes that the first direct client has a block with these transactions.
func (m *measure) direct(at time.Time, signatures []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, signature := range signatures {
		m.blocks[signature] = at
	}
	if !m.since.IsZero() {
		m.count += len(signatures)
	}
}

// second notes that the second direct client has it.
func (m *measure) second(at time.Time, signatures []string) {
	if len(signatures) > 0 {
		m.add(&m.seconds, arrival{signature: signatures[0], at: at})
	}
}

// trade notes that a trade arrived at a stream.
func (m *measure) trade(a arrival) { m.add(&m.trades, a) }

func (m *measure) add(list *[]arrival, a arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.since.IsZero() {
		*list = append(*list, a)
	}
}

// busy is how many streams had trades.
func (m *measure) busy() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	mints := map[string]bool{}
	for i := range m.trades {
		mints[m.trades[i].mint] = true
	}
	return len(mints)
}

func (m *measure) transactions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// delays returns how much later than at the first direct client trades and blocks arrived, sorted.
func (m *measure) delays() (trades, direct []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := func(list []arrival) (delays []time.Duration) {
		for _, a := range list {
			if at, known := m.blocks[a.signature]; known && at.After(m.since) {
				delays = append(delays, max(0, a.at.Sub(at)))
			}
		}
		slices.Sort(delays)
		return delays
	}
	return of(m.trades), of(m.seconds)
}

// readBlocks subscribes to confirmed blocks until ctx ends, and tells of the signatures of each.
func readBlocks(ctx context.Context, addr string, tell func(at time.Time, signatures []string)) error {
	const largest = 512 << 20
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largest)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	if err != nil {
		return err
	}
	commitment, yes, no := pb.CommitmentLevel_CONFIRMED, true, false
	if err := stream.Send(&pb.SubscribeRequest{
		Commitment: &commitment, Blocks: map[string]*pb.SubscribeRequestFilterBlocks{"all": {IncludeTransactions: &yes, IncludeAccounts: &no, IncludeEntries: &no}},
	}); err != nil {
		return err
	}
	for {
		update, err := stream.Recv()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read blocks: %w", err)
		}
		if block := update.GetBlock(); block != nil {
			at := time.Now()
			signatures := make([]string, len(block.GetTransactions()))
			for i, tx := range block.GetTransactions() {
				signatures[i] = base58.Encode(tx.GetSignature())
			}
			tell(at, signatures)
		}
	}
}

// readTrades reads the stream of a mint until ctx ends, and tells of each trade.
func readTrades(ctx context.Context, api, mint string, tell func(a arrival)) error {
	body, err := open(ctx, api+"/trades/stream?mint="+mint)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	lines, last := bufio.NewReader(body), []byte(nil) // the last event says why the stream ended
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("stream of %s ended: %s", mint, last)
		case err != nil:
			return fmt.Errorf("stream of %s: %w", mint, err)
		}
		at := time.Now()
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		last = data
		var trade struct{ Signature string }
		if json.Unmarshal(data, &trade) == nil && trade.Signature != "" {
			tell(arrival{trade.Signature, mint, at})
		}
	}
}
