package enrich

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestCallsOfBothStagesAreBounded(t *testing.T) {
	w := newWorld()
	w.cfg.rpcConcurrency, w.cfg.batchMints = 2, 1
	var mu sync.Mutex
	under, most := 0, 0
	w.deps.RPC = rpcFunc(func(call func()) {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		call()
		mu.Lock()
		under--
		mu.Unlock()
	}, w.rpc)
	for i := range 60 {
		w.rpc.putMint(mintKey(i), "Lake", "")
		w.request(t, ask(mintKey(i), sighted, 1, ""))
		w.rpc.putMint(mintKey(100+i), "Lake", "")
		w.request(t, askAccount(metaplexOf(mintKey(100+i)), 1, ""))
	}
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 240)
	require.Equal(t, 2, most)
}

func TestAwayServerHoldsMetadataAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cfg.patience = 300 * time.Millisecond
		for i := range 120 {
			w.rpc.putMint(mintKey(i), "Lake", "")
			w.request(t, askAccount(metaplexOf(mintKey(i)), 1, ""))
		}
		w.rpc.fail = func([]pubkey.Key) error { return errAway }
		w.start(t)
		time.Sleep(2 * w.cfg.patience)
		synctest.Wait()
		require.Empty(t, w.deadLetters(t))
		require.Equal(t, 120, w.lag())
		w.rpc.mu.Lock()
		w.rpc.fail = nil
		w.rpc.mu.Unlock()
		w.drained(t)
		require.Len(t, w.facts(t), 240)
	})
}

func TestPoisonAmongMetadataAccounts(t *testing.T) {
	w := newWorld()
	w.cfg.patience = 20 * time.Millisecond
	poison := metaplexOf(mintKey(13))
	for i := range 40 {
		w.rpc.putMint(mintKey(i), "Lake", "")
		w.request(t, askAccount(metaplexOf(mintKey(i)), 1, ""))
	}
	w.rpc.fail = func(keys []pubkey.Key) error {
		for _, key := range keys {
			if key == poison {
				return errRefused
			}
		}
		return nil
	}
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 78)
	letters := w.deadLetters(t)
	require.Len(t, letters, 1)
	require.Contains(t, letters[0].GetReason(), reasonRPC)
	require.Equal(t, poison.String(), string(letters[0].GetKey()))
}

func TestMetadataAccountsWaitForTheSlot(t *testing.T) {
	for name, known := range map[string]bool{"account not there yet": false, "account as it was before": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				mint := mintKey(1)
				if known {
					w.rpc.putMint(mint, "Before", "")
				}
				w.request(t, askAccount(metaplexOf(mint), 1003, ""))
				w.start(t)
				time.Sleep(time.Second)
				synctest.Wait()
				require.Empty(t, w.facts(t))
				w.rpc.putMint(mint, "After", "")
				w.rpc.mu.Lock()
				w.rpc.slot = 1003
				w.rpc.mu.Unlock()
				w.drained(t)
				facts := w.facts(t)
				require.Equal(t, []string{"mint_account", "metaplex_account"}, kinds(facts))
				require.Equal(t, padded("After"), string(facts[1].GetMetaplexAccount().GetMetadata().GetName()))
				require.EqualValues(t, 1003, facts[1].GetSlot())
			})
		})
	}
}

// The update would be lost if an account as it was before the update counted as an answer.
func TestServerThatStaysBehindAnUpdate(t *testing.T) {
	w := newWorld()
	w.cfg.patience = 30 * time.Millisecond
	w.rpc.putMint(mintKey(1), "Before", "https://meta.test/1")
	for i := range 2 {
		w.request(t, askAccount(metaplexOf(mintKey(i+1)), 5000, "https://meta.test/2"))
	}
	w.start(t)
	w.drained(t)
	require.Empty(t, w.facts(t))
	letters := w.deadLetters(t)
	require.Len(t, letters, 2)
	for _, letter := range letters {
		require.Equal(t, "rpc_behind: server is at slot 1000, the request at 5000", letter.GetReason())
	}
}

func TestMetadataAccountWithoutUpstream(t *testing.T) {
	w := newWorld()
	w.rpc = nil
	w.request(t, askAccount(metaplexOf(mintKey(1)), 1, "https://meta.test/1"))
	e, _ := w.start(t)
	w.drained(t)
	require.Empty(t, w.facts(t))
	require.Empty(t, w.deadLetters(t))
	require.Zero(t, w.web.fetched("https://meta.test/1"))
	require.Equal(t, 1, counted(t, e.metrics.skipped.WithLabelValues(skipNoUpstream)))
}
