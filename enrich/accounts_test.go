package enrich

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

func TestRPCAwayLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cfg.patience = 300 * time.Millisecond
		for i := range 200 {
			w.rpc.putMint(mintKey(i), "", "")
			w.request(t, ask(mintKey(i), sighted, 1, ""))
		}
		w.rpc.fail = func([]pubkey.Key) error { return errAway }
		w.start(t)
		time.Sleep(2 * w.cfg.patience)
		synctest.Wait()
		require.Empty(t, w.deadLetters(t), "a backlog is not given up because the server is down")
		require.Equal(t, 200, w.lag())
		w.rpc.mu.Lock()
		w.rpc.fail = nil
		w.rpc.mu.Unlock()
		w.drained(t)
		require.Len(t, w.facts(t), 200)
	})
}

func TestServerThatRefusesEveryoneIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.rpc.putMint(mintKey(1), "", "")
		w.request(t, ask(mintKey(1), sighted, 1, ""))
		w.rpc.fail = func([]pubkey.Key) error { return errRefused }
		w.start(t)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, w.deadLetters(t))
		w.rpc.mu.Lock()
		w.rpc.fail = nil
		w.rpc.mu.Unlock()
		w.drained(t)
		require.Equal(t, []string{"mint_account"}, kinds(w.facts(t)))
		require.Empty(t, w.deadLetters(t))
	})
}

// A server that comes back between a read that failed and the look at its health has refused
// nobody.
func TestServerThatComesBackJustThen(t *testing.T) {
	w := newWorld()
	w.rpc.putMint(mintKey(1), "", "")
	w.request(t, ask(mintKey(1), sighted, 1, ""))
	calls := 0
	w.rpc.fail = func([]pubkey.Key) error {
		if calls++; calls <= w.cfg.withDefaults().attempts {
			return errRefused
		}
		return nil
	}
	w.start(t)
	w.drained(t)
	require.Equal(t, []string{"mint_account"}, kinds(w.facts(t)))
	require.Empty(t, w.deadLetters(t))
}

func TestPoisonIsFoundInItsBatch(t *testing.T) {
	for name, cause := range map[string]error{"refused": errRefused, "always fails": errAway} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.cfg.patience = 20 * time.Millisecond
			poison := mintKey(13)
			for i := range 40 {
				w.rpc.putMint(mintKey(i), "", "")
				w.request(t, ask(mintKey(i), sighted, 1, ""))
			}
			w.rpc.fail = func(keys []pubkey.Key) error {
				for _, key := range keys {
					if key == poison {
						return cause
					}
				}
				return nil
			}
			w.start(t)
			w.drained(t)
			require.Len(t, w.facts(t), 39)
			letters := w.deadLetters(t)
			require.Len(t, letters, 1)
			require.Contains(t, letters[0].GetReason(), reasonRPC)
			require.Equal(t, schemas.TopicEnrichmentRequests, letters[0].GetTopic())
			require.Equal(t, mintKey(13).String(), string(letters[0].GetKey()))
			again := &eventspb.EnrichmentRequest{}
			require.NoError(t, proto.Unmarshal(letters[0].GetValue(), again))
			require.Equal(t, poison[:], again.GetMint(), "a dead letter can be played again")
		})
	}
}

func TestReadsWaitForTheSlotOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		mint := mintKey(1)
		w.request(t, ask(mint, sighted, 1003, ""))
		w.start(t)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, w.facts(t), "no account yet is not: no mint")
		w.rpc.putMint(mint, "", "")
		w.rpc.mu.Lock()
		w.rpc.slot = 1003
		w.rpc.mu.Unlock()
		w.drained(t)
		require.Equal(t, []string{"mint_account"}, kinds(w.facts(t)))
	})
}

func TestServerThatStaysBehind(t *testing.T) {
	w := newWorld()
	w.cfg.patience = 30 * time.Millisecond
	w.rpc.putMint(mintKey(1), "", "")
	w.request(t, ask(mintKey(1), sighted, 5000, ""))
	w.request(t, ask(mintKey(2), sighted, 5000, ""))
	w.start(t)
	w.drained(t)
	require.Equal(t, []string{"mint_account"}, kinds(w.facts(t)), "an older fact is still a fact")
	letters := w.deadLetters(t)
	require.Len(t, letters, 1)
	require.Contains(t, letters[0].GetReason(), reasonRPCBehind)
}

func TestLargeMintIsReadWhole(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	value := append(make([]byte, 32), mint[:]...)
	for _, text := range []string{"Big", "BIG", "https://meta.test/big.json", ""} {
		if text == "" {
			value = append(value, 1, 0, 0, 0, 1, 0, 0, 0, 'k', 0x20, 0x4e, 0, 0)
			value = append(value, strings.Repeat("v", 20000)...)
			continue
		}
		value = append(value, byte(len(text)), 0, 0, 0)
		value = append(value, text...)
	}
	data := make([]byte, 166)
	data[45], data[165] = 1, 1
	data = append(append(data, 18, 0, 64, 0), append(make([]byte, 32), mint[:]...)...)
	data = append(append(data, 19, 0, byte(len(value)), byte(len(value)>>8)), value...)
	w.rpc.accounts[mint] = &solana.Account{Owner: tokenaccount.ProgramToken2022, Data: data}
	w.rpc.putMint(mintKey(2), "", "")
	w.request(t, ask(mint, sighted, 1, ""))
	w.request(t, ask(mintKey(2), sighted, 1, ""))
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 3)
	require.Equal(t, 1, w.web.fetched("https://meta.test/big.json"), "the Token-2022 URI counts when the pointer points to the mint")
}

func TestReadsAreBatched(t *testing.T) {
	w := newWorld()
	w.cfg.batchWindow = hang // nothing is left over that would wait for it
	for i := range 150 {
		w.rpc.putMint(mintKey(i), "", "")
		w.request(t, ask(mintKey(i), sighted, 1, ""))
	}
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 150)
	require.Equal(t, 3, w.rpc.callCount())
	for _, keys := range w.rpc.calls {
		require.LessOrEqual(t, len(keys), 100)
	}
}

func TestWhatIsNoMint(t *testing.T) {
	w := newWorld()
	account := mintAccount(0)
	account.Data = make([]byte, 165)
	w.rpc.accounts[mintKey(2)] = account
	w.rpc.accounts[mintKey(3)] = &solana.Account{Data: make([]byte, 10<<20)}
	for i := range 3 {
		w.request(t, ask(mintKey(i+1), apiBatch, 0, "https://meta.test/x"))
	}
	w.start(t)
	w.drained(t)
	reasons := map[string]bool{}
	for _, fact := range w.facts(t) {
		reasons[fact.GetNotAMint().GetReason()] = true
	}
	require.Equal(t, map[string]bool{"no account": true, "not a mint account": true, "owned by no token program": true}, reasons)
	require.Zero(t, w.web.fetched("https://meta.test/x"), "nothing is fetched for what is no mint")
	require.Empty(t, w.deadLetters(t))
}

func TestMalformedMetaplexAccount(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		w.rpc.putMint(mintKey(i), "Lake", "https://meta.test/1")
		address, _ := tokenaccount.MetaplexAddress(mintKey(i))
		account := w.rpc.accounts[address]
		switch i {
		case 0:
			account.Data = account.Data[:70]
		case 1:
			account.Data[40] ^= 1 // another mint
		case 2:
			account.Data[0] = 0 // closed: not malformed
		}
		w.request(t, ask(mintKey(i), sighted, 1, ""))
	}
	w.start(t)
	w.drained(t)
	require.Equal(t, []string{"mint_account", "mint_account", "mint_account"}, kinds(w.facts(t)))
	require.Len(t, w.deadLetters(t), 2)
}

func TestNoUpstream(t *testing.T) {
	w := newWorld()
	w.rpc = nil
	w.request(t, ask(mintKey(1), sighted, 1, ""))
	w.request(t, ask(mintKey(2), sighted, 1, "https://meta.test/2"))
	e, _ := w.start(t)
	w.drained(t)
	require.Equal(t, []string{"offchain"}, kinds(w.facts(t)))
	require.Equal(t, 2, counted(t, e.metrics.skipped.WithLabelValues(skipNoUpstream)))
}
