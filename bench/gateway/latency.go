package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/bench/report"
)

// What the stream adds beside direct Geyser: a client at the node and clients at the gateway read
// the same transactions, and each delivery is as late as it comes after the direct one.

const (
	latencyClients = 1000
	// settling is how long transactions flow that nobody wants, before the delays are measured.
	settling, measuring = 5 * time.Second, 30 * time.Second
)

// latency reports the delays at processed and at confirmed.
func latency(ctx context.Context, o options, results *report.Report) error {
	block, err := readBlock(o.block)
	if err != nil {
		return err
	}
	node, err := startNode(block)
	if err != nil {
		return err
	}
	defer node.stop()
	s, err := startUp(ctx, o.server, node.addr)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, level := range []struct {
		name          string
		commitment    pb.CommitmentLevel
		middle, worst time.Duration
	}{
		{"processed", pb.CommitmentLevel_PROCESSED, 2 * time.Millisecond, 0},
		{"confirmed", pb.CommitmentLevel_CONFIRMED, 25 * time.Millisecond, 150 * time.Millisecond},
	} {
		delays, err := delaysAt(node, s.addr, level.commitment)
		if err != nil {
			return fmt.Errorf("%s: %w", level.name, err)
		}
		note := fmt.Sprintf("%d deliveries", len(delays))
		add := func(name string, value, bound time.Duration) {
			f := report.Figure{Name: level.name + " " + name, Value: ms(value), Unit: "ms", Note: note}
			if bound > 0 {
				f.Goal, f.Met = fmt.Sprintf("<= %.0f ms", ms(bound)), value <= bound
			}
			results.Add(f)
		}
		add("p50", delays[len(delays)/2], level.middle)
		add("p99", delays[len(delays)*99/100], level.worst)
	}
	return nil
}

// startUp starts `mintlake up` with ingest and gateway, which read the node.
func startUp(ctx context.Context, binary, node string) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return nil, err
	}
	args := []string{"up", "--rooms", "ingest,gateway", "--data-dir", dir, "--source", "geyser+http://" + node, "--stream-processed", oneAddress}
	for _, surface := range []string{"api", "swap", "rpc", "stream", "metrics", "kafka", "clickhouse"} {
		args = append(args, "--"+surface+"-addr", "127.0.0.1:0")
	}
	process := exec.CommandContext(ctx, binary, args...) //nolint:gosec // the command is the operator's own
	process.Env = append(os.Environ(), "MINTLAKE_STREAM_TRANSACTIONS=all")
	return start(process)
}

// arrivals are the times at which a client got its transactions, in their order.
type arrivals struct {
	mu    sync.Mutex
	times []time.Time
}

func (a *arrivals) add() {
	at := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, at)
}

func (a *arrivals) list() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.times)
}

// delaysAt returns how much later than the direct client each delivery came, sorted.
func delaysAt(node *node, gateway string, level pb.CommitmentLevel) ([]time.Duration, error) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same clients in each run
	filters, _ := pick(r, node.block, latencyClients)
	time.Sleep(settling) // what clients before these want is confirmed meanwhile
	open := func(i int) (*client, error) {
		if i == len(filters) {
			return dialAt(node.addr, true, level, []string{wantedOnly})
		}
		return dialAt(gateway, i%2 == 0, level, filters[i])
	}
	clients, err := connect(len(filters)+1, open)
	if err != nil {
		return nil, err
	}
	came := make([]arrivals, len(clients))
	for i, c := range clients {
		defer c.conn.Close() //nolint:errcheck // the run is over
		go func() { _ = c.each(came[i].add) }()
	}
	time.Sleep(settling)
	node.begin()
	time.Sleep(measuring)
	sent := node.end()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		delays, err := compare(filters, came, sent)
		if err == nil || time.Now().After(deadline) {
			return delays, err
		}
	}
}

func dialAt(addr string, grpc bool, level pb.CommitmentLevel, addresses []string) (*client, error) {
	return dialWith(addr, grpc, func(c *client) error {
		c.processed = level == pb.CommitmentLevel_PROCESSED
		if grpc {
			return c.openGRPC(addr, addresses)
		}
		return c.openWebSocket(addr, addresses)
	})
}

// compare matches deliveries with those of the direct client, which is the last one. Each client
// gets what it wants in the order in which the node sent it: sent are the numbers of the
// transactions in the block.
func compare(filters [][]string, came []arrivals, sent []int) ([]time.Duration, error) {
	whose := make(map[string][]int)
	for c, addresses := range filters {
		for _, address := range addresses {
			whose[address] = append(whose[address], c)
		}
	}
	lists := make([][]time.Time, len(came))
	for c := range came {
		lists[c] = came[c].list()
	}
	direct := lists[len(filters)]
	if len(direct) != len(sent) {
		return nil, fmt.Errorf("the direct client got %d transactions of %d", len(direct), len(sent))
	}
	var delays []time.Duration
	for k, i := range sent {
		for _, c := range whose[base58.Encode(ownAccount(i))] {
			if len(lists[c]) == 0 {
				return nil, fmt.Errorf("client %d of the gateway got %d transactions, and not all that it wants", c, len(came[c].list()))
			}
			delays = append(delays, lists[c][0].Sub(direct[k]))
			lists[c] = lists[c][1:]
		}
	}
	for c := range filters {
		if len(lists[c]) > 0 {
			return nil, fmt.Errorf("client %d of the gateway got %d transactions more than it wants", c, len(lists[c]))
		}
	}
	slices.Sort(delays)
	return delays, nil
}
