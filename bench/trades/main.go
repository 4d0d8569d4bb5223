// Bench-trades measures how long a trade takes from the block's arrival to a stream of its mint:
// GET /trades/stream of `mintlake up`, with as many streams as --streams, of one mint each, while
// the demo chain makes --tps transactions a second.
//
//	bench-trades --mintlake bin/mintlake
//
// Two clients read blocks from the chain's Geyser server themselves, as ingest does. A delay counts
// from the first one's arrival. The second one's own delay is printed beside: it is what the
// machine and the network take. Chain, rooms and clients share the machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/bench/process"
	"github.com/mintlake/mintlake/bench/report"
)

// options are the flags.
type options struct {
	mintlake     string
	tps, streams int
	settle, last time.Duration
}

// firstSlot is where the chain begins.
const firstSlot = 400_000_000

// goal is what 99 of 100 trades must keep.
const goal = time.Second

func main() {
	var o options
	pflag.StringVar(&o.mintlake, "mintlake", "bin/mintlake", "binary that is measured")
	pflag.IntVar(&o.tps, "tps", 1500, "transactions a second of the chain")
	pflag.IntVar(&o.streams, "streams", 500, "streams, of one mint each")
	pflag.DurationVar(&o.settle, "settle", 30*time.Second, "how long everything runs before the streams are opened")
	pflag.DurationVar(&o.last, "duration", time.Minute, "how long it is measured")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-trades:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "bench-trades-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Tokens are created in the past, a minute of which has at most six.
	tokens := o.streams + o.streams/4
	chain, err := start(ctx, o.mintlake, "demo", "--chain", fmt.Sprintf("demo:?tps=%d&tokens=%d&wallets=2000&genesis_slot=%d&past=%dm", o.tps, tokens, firstSlot, tokens/6+10),
		"--geyser-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer chain.stop()
	node := strings.TrimSuffix(strings.TrimPrefix(chain.addresses["rpc"], "http://"), "/")
	args := []string{
		"up", "--rooms", "ingest,enrich,projector,volume,api", "--data-dir", dir, "--source", fmt.Sprintf("%s?from=%d", chain.addresses["geyser"], firstSlot), "--rpc-upstream", chain.addresses["rpc"],
		"--enrich-allow-private", node, "--rate-limits-enabled=false", "--api-streams-per-client", strconv.Itoa(o.streams), "--api-streams-max", strconv.Itoa(o.streams + 100),
	}
	for _, surface := range []string{"api", "metrics", "kafka", "clickhouse"} {
		args = append(args, "--"+surface+"-addr", "127.0.0.1:0")
	}
	up, err := start(ctx, o.mintlake, args...)
	if err != nil {
		return err
	}
	defer up.stop()
	m := &measure{blocks: map[string]time.Time{}}
	group, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	geyser := strings.TrimPrefix(chain.addresses["geyser"], "geyser+http://")
	group.Go(func() error { return readBlocks(ctx, geyser, m.direct) })
	group.Go(func() error { return readBlocks(ctx, geyser, m.second) })
	err = follow(ctx, group, up.addresses["api"], o, m)
	end()
	if stopped := group.Wait(); err == nil && stopped != nil && !errors.Is(stopped, context.Canceled) {
		err = stopped
	}
	if err != nil {
		return err
	}
	return tell(o, m)
}

// follow waits, opens the streams, and lets m count for a while. It waits first because a node
// that has just begun hands the past's trades out at once, which no reader of the busiest mint
// keeps up with.
func follow(ctx context.Context, group *errgroup.Group, api string, o *options, m *measure) error {
	mints, err := traded(ctx, api, o.streams)
	if err != nil {
		return err
	}
	pause := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := pause(o.settle); err != nil {
		return err
	}
	for _, mint := range mints {
		group.Go(func() error { return readTrades(ctx, api, mint, m.trade) })
	}
	const opening = 5 * time.Second
	if err := pause(opening); err != nil {
		return err
	}
	m.begin()
	return pause(o.last)
}

// traded returns the mints that are traded most; it waits until there are so many.
func traded(ctx context.Context, api string, n int) (mints []string, err error) {
	const page, patience = 100, 5 * time.Minute
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) {
		mints = mints[:0]
		for number := 1; len(mints) < n; number++ {
			var answer struct{ Items []struct{ Mint string } }
			if err = get(ctx, fmt.Sprintf("%s/tokens?sort=volume&limit=%d&page=%d&fields=mint", api, page, number), &answer); err != nil || len(answer.Items) == 0 {
				break
			}
			for _, item := range answer.Items {
				mints = append(mints, item.Mint)
			}
		}
		switch {
		case len(mints) >= n:
			return mints[:n], nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Now().After(deadline):
			return nil, errors.Join(fmt.Errorf("the API has %d tokens of %d after %s", len(mints), n, patience), err)
		}
	}
}

// get decodes the JSON at a URL.
func get(ctx context.Context, url string, into any) error {
	body, err := open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return json.NewDecoder(body).Decode(into)
}

// open returns the body of a good answer.
func open(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return response.Body, nil
}

// tell prints the delays.
func tell(o *options, m *measure) error {
	trades, direct := m.delays()
	if len(trades) == 0 || len(direct) == 0 {
		return errors.New("no trade reached a stream")
	}
	results := report.New("trades")
	at := func(list []time.Duration, share int) float64 {
		return float64(list[(len(list)-1)*share/100].Microseconds()) / 1000
	}
	note := fmt.Sprintf("%d trades on %d of %d streams, %d tx/s", len(trades), m.busy(), o.streams, m.transactions()/max(1, int(o.last.Seconds())))
	for _, share := range []int{50, 99, 100} {
		f := report.Figure{Name: fmt.Sprintf("trade on its stream p%d", share), Value: at(trades, share), Unit: "ms", Peer: "direct", PeerValue: at(direct, share), Note: note}
		if share == 99 {
			f.Goal, f.Met = fmt.Sprintf("<= %d ms", goal.Milliseconds()), trades[(len(trades)-1)*share/100] <= goal
		}
		results.Add(f)
	}
	return results.Write()
}

// server is a command with the addresses that it tells.
type server struct {
	command   *exec.Cmd
	addresses map[string]string
}

func start(ctx context.Context, program string, args ...string) (*server, error) {
	command := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator's own binary
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	addresses, err := process.Start(command)
	return &server{command, addresses}, err
}

func (s *server) stop() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	_ = s.command.Wait()
}
