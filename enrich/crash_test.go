package enrich

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Lives end at random moments, every call fails at random, and in the end each request is answered:
// by its facts, or by a dead letter. make test-simulations runs a thousand seeds; on the clock of a
// synctest bubble their waits take no time.
func TestKilledAtRandomEveryRequestIsAnswered(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+uint64(testkit.Rounds(8, 1000)); seed++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld()
			w.cfg.retryDelay = time.Millisecond
			const mints = 150
			for i := range mints {
				switch i % 5 {
				case 0:
					w.rpc.putMint(mintKey(i), "Lake", fmt.Sprintf("https://host%d.test/%d", i%7, i))
					w.request(t, ask(mintKey(i), sighted, 1, ""))
				case 1:
					w.request(t, ask(mintKey(i), metadataSet, 5, fmt.Sprintf("https://host%d.test/%d", i%7, i)))
				case 2:
					w.request(t, ask(mintKey(i), apiBatch, 0, ""))
				case 3:
					w.rpc.putMint(mintKey(i), "Lake", fmt.Sprintf("https://host%d.test/%d", i%7, i))
					w.request(t, askAccount(metaplexOf(mintKey(i)), 5, ""))
				case 4:
					w.rpc.putMint(mintKey(i), "Lake", "")
					w.rpc.accounts[metaplexOf(mintKey(i))].Data[40] ^= 1
					w.request(t, askAccount(metaplexOf(mintKey(i)), 5, "https://host0.test/x"))
				}
			}
			w.rpc.fail = func([]pubkey.Key) error {
				if dice(10) == 0 {
					return errAway
				}
				return nil
			}
			w.web.serve = func(ctx context.Context, uri string) ([]byte, error) {
				if err := pause.For(ctx, time.Duration(dice(4))*time.Millisecond); err != nil {
					return nil, err
				}
				switch {
				case uri == "https://host3.test/10", uri == "https://host2.test/23":
					return nil, failed(fetch.ClassNotJSON, 0)
				case dice(12) == 0:
					return nil, failed(fetch.ClassConnection, 0)
				case dice(12) == 0:
					return nil, paused(time.Millisecond)
				}
				return []byte(`{"name":"x"}`), nil
			}
			lives := 0
			for w.lag() > 0 {
				lives++
				// A kill: after some writes and commits nothing arrives any more, also of what the
				// stop would still write. In every other life commits still do: then an offset that
				// is ahead of its facts would show.
				var killed atomic.Bool
				calls := r.IntN(100)
				w.mu.Lock()
				w.fail = func(call string) error {
					if calls--; calls >= 0 || lives > 40 || lives%2 == 0 && call == "commit" {
						return nil
					}
					killed.Store(true)
					return context.Canceled
				}
				w.mu.Unlock()
				_, stop := w.start(t)
				for !killed.Load() && w.lag() > 0 {
					time.Sleep(time.Millisecond)
				}
				_ = stop()
			}
			require.Greater(t, lives, 1, "the test kills at least once")
			requireAllAnswered(t, w, mints)
		})
		if t.Failed() {
			return
		}
	}
}

func dice(n int) int { return rand.IntN(n) }

func requireAllAnswered(t *testing.T, w *world, mints int) {
	t.Helper()
	answered := map[string]bool{}
	values := map[string][]byte{}
	for _, fact := range w.facts(t) {
		answered[string(fact.GetMint())+factrecord.Kind(fact)] = true
	}
	for _, record := range w.produced {
		for _, header := range record.Headers {
			if header.Key != "type" || string(header.Value) == "dead_letter" || string(header.Value) == "enrichment.document_check" {
				continue // a check has its time
			}
			// Repeats are equal, so that a replay changes nothing in the registry.
			id := string(record.Key) + string(header.Value)
			if old, ok := values[id]; ok {
				require.Equal(t, old, record.Value)
			}
			values[id] = record.Value
		}
	}
	for _, letter := range w.deadLetters(t) {
		answered[string(letter.GetKey())+"dead"] = true
	}
	for i := range mints {
		mint := mintKey(i)
		offchain := answered[string(mint[:])+"offchain"] || answered[mint.String()+"dead"]
		switch i % 5 {
		case 0, 3:
			offchain = offchain || answered[metaplexOf(mint).String()+"dead"]
			require.True(t, answered[string(mint[:])+"mint_account"] && answered[string(mint[:])+"metaplex_account"] && offchain, i)
		case 1:
			require.True(t, offchain, i)
		case 2:
			require.True(t, answered[string(mint[:])+"not_a_mint"], i)
		case 4:
			require.True(t, answered[metaplexOf(mint).String()+"dead"], i)
		}
	}
}
