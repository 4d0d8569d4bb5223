// Command keychecks measures how long a gateway's check of an API key takes when 100,000 keys are
// issued, compared with one SHA-256 of the key in the same run. It also measures whether the time
// reveals if a key exists. It fails when a bound is missed.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/keystest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// mostHashes is how many times as long as a SHA-256 a check may take. mostSpread is how far
	// apart the medians of the kinds of keys may lie.
	mostHashes = 3.0
	mostSpread = 0.20
	// batch is how many checks are timed together: the clock is too coarse for one.
	batch = 100
)

func main() {
	count := flag.Int("keys", 100_000, "issued keys")
	rounds := flag.Int("rounds", 3000, "batches of each kind")
	flag.Parse()
	if err := run(*count, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "keychecks:", err)
		os.Exit(1)
	}
}

func run(count, rounds int) error {
	issued, gate, err := issue(count)
	if err != nil {
		return err
	}
	kinds := []struct {
		name string
		key  func() string
	}{
		{"hit", func() string { return strings.Clone(issued[rand.IntN(len(issued))]) }}, //nolint:gosec // which key is checked is no secret
		{"miss", func() string { key, _ := keys.GenerateFor(keys.RPC, "live"); return key }},
		{"wrong prefix", func() string { key, _ := keys.GenerateFor(keys.Swap, "live"); return "x" + key[3:] }},
	}
	hashes := make([]float64, 0, rounds)
	checks := make([][]float64, len(kinds))
	presented := make([]string, batch)
	var sink byte
	// The kinds take turns, so that other work of the machine slows all of them alike.
	for range rounds {
		for kind := range kinds {
			for i := range presented {
				presented[i] = kinds[kind].key()
			}
			begin := time.Now()
			for _, key := range presented {
				if _, refused := gate.Admit(keys.Request{Key: key}); (refused == nil) != (kind == 0) {
					return fmt.Errorf("%s was judged wrongly", kinds[kind].name)
				}
			}
			checks[kind] = append(checks[kind], nanoseconds(begin))
		}
		for i := range presented {
			presented[i] = kinds[0].key()
		}
		begin := time.Now()
		for _, key := range presented {
			sum := sha256.Sum256([]byte(key))
			sink ^= sum[0]
		}
		hashes = append(hashes, nanoseconds(begin))
	}
	_ = sink
	return judge(kinds[0].name, kinds[1].name, kinds[2].name, checks, median(hashes), count)
}

// judge reports the medians and returns an error if a bound is missed.
func judge(hit, miss, prefix string, checks [][]float64, hash float64, count int) error {
	r := report.New("bench-gateway-keys")
	low, high := 0.0, 0.0
	for kind, name := range []string{hit, miss, prefix} {
		m := median(checks[kind])
		r.Add(report.Figure{
			Name: "key check, " + name, Value: m, Unit: "ns", Peer: "one SHA-256", PeerValue: hash, Goal: fmt.Sprintf("ratio <= %.1f", mostHashes), Met: m <= mostHashes*hash,
			Note: fmt.Sprintf("%d keys issued", count),
		})
		if low == 0 || m < low {
			low = m
		}
		high = max(high, m)
	}
	r.Add(report.Figure{
		Name: "medians of the kinds lie apart", Value: 100 * (high/low - 1), Unit: "%", Goal: fmt.Sprintf("<= %.0f %%", 100*mostSpread), Met: high/low-1 <= mostSpread,
	})
	if err := r.Write(); err != nil {
		return err
	}
	if high/hash > mostHashes {
		return fmt.Errorf("a check takes %.2f times a SHA-256", high/hash)
	}
	if high/low-1 > mostSpread {
		return fmt.Errorf("the medians lie %.0f %% apart: time tells keys apart", 100*(high/low-1))
	}
	return nil
}

func nanoseconds(begin time.Time) float64 { return float64(time.Since(begin).Nanoseconds()) / batch }

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// issue makes keys, puts them on the topic of issued keys, and returns a gate that has read them.
func issue(count int) (issued []string, gate *keys.Gate, err error) {
	topic := keystest.New()
	records := make([]kafka.Record, 0, count)
	for i := range count {
		key, hash := keys.GenerateFor(keys.RPC, "live")
		issued = append(issued, key)
		value, err := proto.Marshal(&eventspb.KeyChange{Product: "rpc", Name: fmt.Sprintf("key-%d", i), Version: 1, Change: &eventspb.KeyChange_Created{
			Created: &eventspb.KeyCreated{Sha256: hash[:], Prefix: keys.PrefixOf(key), Environment: "live"},
		}})
		if err != nil {
			return nil, nil, err
		}
		records = append(records, kafka.Record{Value: value})
	}
	if err := topic.Produce(context.Background(), records...); err != nil {
		return nil, nil, err
	}
	live, err := keys.NewLive(keys.Deps{Offsets: topic, OpenTail: func(_ []string, start map[kafka.TopicPartition]int64) (keys.Tailer, error) {
		return topic.Tail(start), nil
	}})
	if err != nil {
		return nil, nil, err
	}
	go func() { _ = live.Run(context.Background()) }() // ends with the process
	<-live.Loaded()
	configured, err := keys.NewStatic()
	if err != nil {
		return nil, nil, err
	}
	gate, err = keys.NewGate(keys.Join(live, configured), keys.RPC, "0.0.0.0:1", "--rpc-keys")
	return issued, gate, err
}
