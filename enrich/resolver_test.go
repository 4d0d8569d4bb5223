package enrich

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// askAccount is the request of ingest that saw an update of a metadata account and not its mint.
func askAccount(account pubkey.Key, slot uint64, uri string) *eventspb.EnrichmentRequest {
	return &eventspb.EnrichmentRequest{Reason: metadataSet, Slot: slot, Uri: []byte(uri), MetadataAccount: account[:]}
}

func metaplexOf(mint pubkey.Key) pubkey.Key {
	address, _ := tokenaccount.MetaplexAddress(mint)
	return address
}

func TestMetadataAccountNamesItsMint(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "https://meta.test/now.json")
	w.request(t, askAccount(metaplexOf(mint), 900, "https://meta.test/asked.json"))
	e, _ := w.start(t)
	w.drained(t)

	facts := w.facts(t)
	require.Equal(t, []string{"mint_account", "metaplex_account", "offchain"}, kinds(facts))
	for i, record := range w.records("registry.enrichments.v1") {
		require.Equal(t, mint[:], facts[i].GetMint())
		require.Equal(t, mint.String(), string(record.Key), "facts have the mint as their key, whatever the request had")
		require.EqualValues(t, 1000, facts[i].GetSlot())
	}
	require.Equal(t, padded("Lake"), string(facts[1].GetMetaplexAccount().GetMetadata().GetName()))
	require.Equal(t, 1, w.web.fetched("https://meta.test/now.json"))
	require.Zero(t, w.web.fetched("https://meta.test/asked.json"))
	require.Equal(t, 1, counted(t, e.metrics.resolutions.WithLabelValues("mint")))
	require.Empty(t, w.deadLetters(t))
}

// A later update may have taken the URI away that the request's update set.
func TestTheAccountsURICountsNotTheRequests(t *testing.T) {
	w := newWorld()
	w.rpc.putMint(mintKey(1), "Lake", "")
	for range 2 {
		w.request(t, askAccount(metaplexOf(mintKey(1)), 900, "https://meta.test/gone"))
	}
	w.start(t)
	w.drained(t)
	require.Equal(t, []string{"mint_account", "metaplex_account"}, kinds(w.facts(t)))
	require.Zero(t, w.web.fetched("https://meta.test/gone"))
}

// A request with a URI is one that would need no read, were its mint known: nothing may be fetched
// for nobody.
func TestNothingIsFetchedBeforeTheMintIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		mint := mintKey(1)
		w.rpc.putMint(mint, "Lake", "https://meta.test/1.json")
		w.rpc.fail = func([]pubkey.Key) error { return errAway }
		w.request(t, askAccount(metaplexOf(mint), 900, "https://meta.test/1.json"))
		w.start(t)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Zero(t, w.web.fetched("https://meta.test/1.json"))
		require.Equal(t, 1, w.lag())
		w.rpc.mu.Lock()
		w.rpc.fail = nil
		w.rpc.mu.Unlock()
		w.drained(t)
		require.Equal(t, []string{"mint_account", "metaplex_account", "offchain"}, kinds(w.facts(t)))
	})
}

func TestMetadataAccountsThatNameNoMint(t *testing.T) {
	for name, test := range map[string]struct {
		account *solana.Account
		outcome resolution
		letters int
	}{
		"never was":                  {nil, resolvedClosed, 0},
		"closed, lamports sent":      {&solana.Account{Lamports: 5}, resolvedClosed, 0},
		"closed, fees left":          {&solana.Account{Owner: tokenaccount.ProgramMetaplex, Data: make([]byte, 1)}, resolvedClosed, 0},
		"closed, zeros left":         {&solana.Account{Owner: tokenaccount.ProgramMetaplex, Data: make([]byte, 607)}, resolvedClosed, 0},
		"owned by the token program": {mintAccount(6), resolvedOtherOwner, 0},
		"an edition":                 {&solana.Account{Owner: tokenaccount.ProgramMetaplex, Data: append([]byte{6}, make([]byte, 281)...)}, resolvedOtherKind, 0},
		"cut short":                  {&solana.Account{Owner: tokenaccount.ProgramMetaplex, Data: append([]byte{4}, make([]byte, 70)...)}, resolvedMalformed, 1},
		"about another mint":         {metaplexAccount(mintKey(2), "Lake", "https://meta.test/2"), resolvedForeign, 1},
		"text longer than is read": {&solana.Account{
			Owner: tokenaccount.ProgramMetaplex,
			Data:  append(append([]byte{4}, make([]byte, 64)...), append([]byte{0, 0, 1, 0}, make([]byte, 70000)...)...),
		}, resolvedMalformed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			account := metaplexOf(mintKey(1))
			w.rpc.putMint(mintKey(1), "", "")
			w.rpc.putMint(mintKey(2), "", "")
			if test.account != nil {
				w.rpc.accounts[account] = test.account
			}
			w.request(t, askAccount(account, 900, "https://meta.test/x"))
			e, _ := w.start(t)
			w.drained(t)
			w.request(t, askAccount(account, 950, ""))
			w.drained(t)
			require.Empty(t, w.facts(t))
			require.Zero(t, w.web.fetched("https://meta.test/x"))
			letters := w.deadLetters(t)
			require.Len(t, letters, test.letters)
			for _, letter := range letters {
				require.Contains(t, letter.GetReason(), reasonMetaplex+": account at slot 1000 is "+string(test.outcome))
				require.Equal(t, account.String(), string(letter.GetKey()))
			}
			require.Equal(t, 1, counted(t, e.metrics.resolutions.WithLabelValues(string(test.outcome))))
			require.Equal(t, 1, counted(t, e.metrics.dedup.WithLabelValues(dedupUnresolved)), "the second request is answered by the first's read")

			// What happened after the read is not.
			w.rpc.mu.Lock()
			w.rpc.slot = 2000
			w.rpc.mu.Unlock()
			w.rpc.putMint(mintKey(1), "Again", "")
			w.request(t, askAccount(account, 1500, ""))
			w.drained(t)
			require.Equal(t, []string{"mint_account", "metaplex_account"}, kinds(w.facts(t)))
		})
	}
}

func TestUpdatesOfOneAccountAreReadOnce(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "https://meta.test/1")
	for range 40 {
		w.request(t, askAccount(metaplexOf(mint), 900, ""))
	}
	e, _ := w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 3)
	require.Equal(t, 2, w.rpc.callCount(), "once for the mint, once for its accounts")
	require.Equal(t, 39, counted(t, e.metrics.dedup.WithLabelValues(dedupMetadataAccount)))
	require.Equal(t, 39, counted(t, e.metrics.dedup.WithLabelValues(dedupAccounts)))

	// A later update is read, with the mint at hand.
	w.rpc.putMint(mint, "River", "https://meta.test/1")
	w.rpc.mu.Lock()
	w.rpc.slot = 2000
	w.rpc.mu.Unlock()
	w.request(t, askAccount(metaplexOf(mint), 1500, ""))
	w.drained(t)
	require.Equal(t, 3, w.rpc.callCount())
	facts := w.facts(t)
	require.Equal(t, padded("River"), string(facts[4].GetMetaplexAccount().GetMetadata().GetName()))
}

func TestReadMintsNeedNoResolution(t *testing.T) {
	w := newWorld()
	mint := mintKey(1)
	w.rpc.putMint(mint, "Lake", "")
	w.request(t, ask(mint, sighted, 900, ""))
	w.start(t)
	w.drained(t)
	w.request(t, askAccount(metaplexOf(mint), 950, ""))
	w.drained(t)
	require.Equal(t, 1, w.rpc.callCount(), "the account read told which account is whose, at a slot behind the update")
}

func TestMetadataAccountsAreBatched(t *testing.T) {
	w := newWorld()
	w.cfg.batchWindow = hang // nothing is left over that would wait for it
	for i := range 300 {
		w.rpc.putMint(mintKey(i), "Lake", "")
		w.request(t, askAccount(metaplexOf(mintKey(i)), 1, ""))
	}
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 600)
	require.LessOrEqual(t, w.rpc.callCount(), 3+6)
	for _, keys := range w.rpc.calls {
		require.LessOrEqual(t, len(keys), solana.MaxAccountsPerCall)
	}
}

func TestRequestsThatNameNothing(t *testing.T) {
	w := newWorld()
	account := metaplexOf(mintKey(1))
	for i, request := range []*eventspb.EnrichmentRequest{
		{MetadataAccount: account[:31]},
		{MetadataAccount: make([]byte, 32), Uri: []byte("https://meta.test/1")},
		{Mint: []byte("short"), MetadataAccount: account[:]},
	} {
		w.request(t, ask(mintKey(i), sighted, 1, ""))
		w.raw([]byte{byte(i)}, marshalled(t, request))
	}
	w.start(t)
	w.drained(t)
	require.Len(t, w.facts(t), 3)
	letters := w.deadLetters(t)
	require.Len(t, letters, 3)
	for _, letter := range letters {
		require.Contains(t, letter.GetReason(), reasonBadRequest)
	}
}

func TestTheMintCountsWhereBothAreNamed(t *testing.T) {
	w := newWorld()
	w.rpc.putMint(mintKey(1), "Lake", "")
	w.rpc.putMint(mintKey(2), "Other", "")
	request := ask(mintKey(1), sighted, 1, "")
	other := metaplexOf(mintKey(2))
	request.MetadataAccount = other[:]
	w.request(t, request)
	w.start(t)
	w.drained(t)
	for _, fact := range w.facts(t) {
		require.Equal(t, mintKey(1), pubkey.Key(fact.GetMint()))
	}
}

// Whatever an account holds, it resolves to a mint only when the account's address is derived from
// that mint.
func TestNoAccountSpeaksForAnotherMint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claimed := mintKey(rapid.IntRange(0, 3).Draw(t, "claimed"))
		account := metaplexOf(mintKey(rapid.IntRange(0, 3).Draw(t, "account")))
		found := metaplexAccount(claimed, "Lake", "https://meta.test")
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			found.Data[rapid.IntRange(0, len(found.Data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		found.Data = found.Data[:rapid.IntRange(0, len(found.Data)).Draw(t, "length")]
		if rapid.Bool().Draw(t, "owner") {
			found.Owner = rapid.SampledFrom([]pubkey.Key{{}, tokenaccount.ProgramToken}).Draw(t, "program")
		}
		mint, outcome := resolve(account, found)
		if outcome != resolvedMint {
			require.True(t, mint.IsZero())
			return
		}
		require.Equal(t, account, metaplexOf(mint), fmt.Sprint(outcome))
		require.EqualValues(t, tokenaccount.ProgramMetaplex, found.Owner)
	})
}

func TestResolverCommitsNothingThatIsNotDurable(t *testing.T) {
	for name, prepare := range map[string]func(w *world){
		"facts":       func(*world) {},
		"dead letter": func(w *world) { w.rpc.accounts[metaplexOf(mintKey(1))].Data[40] ^= 1 },
		"behind":      func(w *world) { w.rpc.slot = 2; w.cfg.patience = 10 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.rpc.putMint(mintKey(1), "Lake", "")
			prepare(w)
			w.fail = func(call string) error {
				if call == "produce" {
					return errDisk
				}
				return nil
			}
			w.request(t, askAccount(metaplexOf(mintKey(1)), 5, ""))
			e, err := New(w.cfg, Deps{Consumer: w.member(), Producer: w.broker, RPC: w.rpc, Fetcher: w.web})
			require.NoError(t, err)
			require.ErrorIs(t, e.Run(context.Background()), errDisk)
			require.Equal(t, 1, w.lag())
		})
	}
}
