package rpc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// chainSubmitter executes at the tip and keeps nothing.
type chainSubmitter struct{ g *chain.Generator }

func (c chainSubmitter) Submit(*chain.Tx) error { return errors.New("not in this test") }
func (c chainSubmitter) Airdrop(to chain.Key, lamports uint64) (*chain.Tx, error) {
	return c.g.Airdrop(to, lamports, 1)
}
func (c chainSubmitter) Simulate(tx *chain.Tx) error { return c.g.Simulate(tx) }

// testServer serves a few slots of a small chain.
func testServer(t testing.TB) (*Server, *chain.Block) {
	t.Helper()
	g, err := chain.New(chain.Config{Seed: 5, TPS: 200, Tokens: 30, Wallets: 16, GenesisSlot: 1000})
	require.NoError(t, err)
	l := ledger.New(ledger.Config{}, 1000, 0, g.Genesis())
	var last *chain.Block
	for range 4 {
		s, _ := g.Next(nil)
		require.NoError(t, s.Block.Sign())
		l.Add(s)
		last = s.Block
	}
	srv, err := New(Deps{Ledger: l, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Submitter: chainSubmitter{g}, GenesisHash: g.GenesisHash(), Chain: g.Config()})
	require.NoError(t, err)
	return srv, last
}

// FuzzHandle: any body gets an answer that is JSON-RPC, or none at all for notifications.
func FuzzHandle(f *testing.F) {
	s, _ := testServer(f)
	for name := range s.Methods {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + name + `"}`))
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":[1001,{"encoding":"base64","maxSupportedTransactionVersion":0,"commitment":"confirmed"}]}`))
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":["` + chain.USDCMint.String() + `",{"commitment":"processed","encoding":"base64","filters":[{"memcmp":{"offset":0,"bytes":"3Mc6vR"}}],"dataSlice":{"offset":18446744073709551615,"length":18446744073709551615}}]}`))
	}
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[["11111111111111111111111111111111"]]},{},[],null]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		out := s.Handle(body)
		if out != nil && !json.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
	})
}

// FuzzSend: any transaction bytes are refused or simulated without a panic.
func FuzzSend(f *testing.F) {
	s, b := testServer(f)
	for i, tx := range b.Txs {
		if i%3 == 0 {
			f.Add(tx.Wire())
		}
	}
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, wire []byte) {
		text := base64.StdEncoding.EncodeToString(wire)
		raw, err := decodeTransaction(text, "base64")
		if err != nil {
			var e *jsonrpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("not an RPC error: %v", err)
			}
			return
		}
		tx, err := s.toChain(raw)
		if err != nil {
			return
		}
		if s.submit.Simulate(tx) == nil {
			encodeMeta(tx)
		}
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": []any{text, map[string]string{"encoding": "base64"}}})
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(s.Handle(body)) {
			t.Fatal("not JSON")
		}
	})
}
