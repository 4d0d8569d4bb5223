package trust

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestVersion1IsParsed: all 73 transactions that Solana's own crates agree on.
func TestVersion1IsParsed(t *testing.T) {
	type vector struct {
		Name   string
		Base64 []byte
		Expect struct {
			ID           string   `json:"txid"`
			AccountKeys  []string `json:"accountKeys"`
			Instructions []struct {
				Accounts []int  `json:"accounts"`
				Data     string `json:"data"`
				Program  int    `json:"programIdIndex"`
			} `json:"instructions"`
		}
	}
	list := testkit.SharedLines[vector](t, "data/chain-2026/transactions/valid.jsonl")
	for _, v := range list {
		balances := make([]uint64, len(v.Expect.AccountKeys))
		raw, err := json.Marshal(map[string]any{
			"slot": 7, "version": 1, "transaction": []string{base64.StdEncoding.EncodeToString(v.Base64), "base64"},
			"meta": map[string]any{"preBalances": balances, "postBalances": balances, "loadedAddresses": map[string]any{"writable": []string{}, "readonly": []string{}}},
		})
		require.NoError(t, err)
		tx, err := parseAnswer(raw)
		require.NoError(t, err, v.Name)
		require.Equal(t, v.Expect.ID, base58.Encode(tx.Signature[:]), v.Name)
		for i, key := range v.Expect.AccountKeys {
			require.Equal(t, key, tx.Keys[i].String(), v.Name)
		}
		require.Len(t, tx.Calls, len(v.Expect.Instructions), v.Name)
		for i, want := range v.Expect.Instructions {
			got := tx.Calls[i]
			require.Equal(t, [2]int{want.Program, 1}, [2]int{got.Program, got.Height}, v.Name)
			require.Equal(t, want.Data, base58.Encode(got.Data), v.Name)
			require.Len(t, got.Accounts, len(want.Accounts), v.Name)
			for j, account := range want.Accounts {
				require.EqualValues(t, account, got.Accounts[j], v.Name)
			}
		}
	}
	require.Len(t, list, 73)
}

// said is what a transaction did, whatever the order of its accounts is.
type said struct {
	calls    []saidCall
	lamports map[venue.Key][2]uint64
	writable map[venue.Key]bool
	tokens   [2]map[venue.Key]Tokens
}

type saidCall struct {
	program  venue.Key
	height   int
	accounts []venue.Key
	data     string
}

func saidBy(t *Transaction) (s said) {
	s.lamports, s.writable = map[venue.Key][2]uint64{}, map[venue.Key]bool{}
	for i, key := range t.Keys {
		s.writable[key] = t.Writable[i]
		s.lamports[key] = [2]uint64{t.Lamports[before][i], t.Lamports[after][i]}
	}
	for when, list := range t.Tokens {
		s.tokens[when] = map[venue.Key]Tokens{}
		for i, tokens := range list {
			s.tokens[when][t.Keys[i]] = tokens
		}
	}
	for _, c := range t.Calls {
		call := saidCall{program: t.Keys[c.Program], height: c.Height, data: string(c.Data)}
		for _, i := range c.Accounts {
			call.accounts = append(call.accounts, t.Keys[i])
		}
		s.calls = append(s.calls, call)
	}
	return s
}

// TestVersion1SaysTheSame: recorded transactions, rewritten as version 1, are read as the originals
// are, those with lookup tables too.
func TestVersion1SaysTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/transactions"), "*.json"))
	require.NoError(t, err)
	rewritten, loaded := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var recorded struct {
			Raw json.RawMessage `json:"raw"`
		}
		if json.Unmarshal(raw, &recorded) != nil {
			continue
		}
		made := swaptest.AsVersion1(recorded.Raw)
		if made == nil {
			continue // no transaction in base64
		}
		want, err := parseAnswer(recorded.Raw)
		require.NoError(t, err)
		got, err := parseAnswer(made)
		require.NoError(t, err)
		require.Equal(t, saidBy(want), saidBy(got), file)
		require.Equal(t, want.Signature, got.Signature)
		var a answered
		require.NoError(t, json.Unmarshal(recorded.Raw, &a))
		rewritten++
		loaded += len(a.Meta.Loaded.Writable) + len(a.Meta.Loaded.Readonly)
	}
	require.Greater(t, rewritten, 40)
	require.Greater(t, loaded, 20, "lookup tables")
}

// TestASwapOfVersion1IsJudged as the same swap of an older version: one that gave what we quote,
// and one that did not.
func TestASwapOfVersion1IsJudged(t *testing.T) {
	for more, want := range map[uint64]outcome{0: matched, 1: mismatched} {
		var judged []replayed
		for _, version1 := range []bool{false, true} {
			s := newScene(t)
			if version1 {
				s.chain.SendVersion1()
			}
			e := s.run(swaptest.Ran{Beside: []venue.Instruction{{Program: swaptest.Named("aggregator"), Data: []byte{1}}}}, more)
			judged = append(judged, e.replay())
		}
		require.Equal(t, want, judged[0].outcome, judged[0].why)
		require.Equal(t, judged[0], judged[1])
	}
}
