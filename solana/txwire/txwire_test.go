package txwire_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
)

type vector struct {
	Name    string  `json:"name"`
	Base64  []byte  `json:"base64"`
	Runtime *string `json:"runtime"`
	Expect  struct {
		Version          int      `json:"version"`
		Recent           string   `json:"recentBlockhash"`
		AccountKeys      []string `json:"accountKeys"`
		Signatures       []string `json:"signatures"`
		MessageBytes     int      `json:"messageBytes"`
		TransactionBytes int      `json:"transactionBytes"`
		Config           json.RawMessage
		Header           struct {
			Signers         uint8 `json:"numRequiredSignatures"`
			ReadonlySigners uint8 `json:"numReadonlySignedAccounts"`
			ReadonlyOthers  uint8 `json:"numReadonlyUnsignedAccounts"`
		} `json:"header"`
		Instructions []struct {
			Accounts []int  `json:"accounts"`
			Data     string `json:"data"`
			Program  uint8  `json:"programIdIndex"`
		} `json:"instructions"`
	} `json:"expect"`
}

func vectors(t *testing.T, name string) []vector {
	t.Helper()
	return testkit.SharedLines[vector](t, "data/chain-2026/transactions/"+name+".jsonl")
}

func texts(list [][]byte) []string {
	out := []string{}
	for _, raw := range list {
		out = append(out, base58.Encode(raw))
	}
	return out
}

// TestValid: each valid transaction is parsed as Solana's own crates parse it, is within the
// limits, and is written back byte for byte.
func TestValid(t *testing.T) {
	list := vectors(t, "valid")
	require.Len(t, list, 73)
	var tx txwire.Transaction
	for _, v := range list {
		require.NoError(t, tx.Parse(v.Base64), v.Name)
		e := v.Expect
		require.EqualValues(t, e.Version, tx.Version, v.Name)
		require.Equal(t, txwire.Header(e.Header), tx.Header, v.Name)
		require.Equal(t, e.AccountKeys, texts(tx.Keys), v.Name)
		require.Equal(t, e.Signatures, texts(tx.Signatures), v.Name)
		require.Equal(t, e.Recent, base58.Encode(tx.Lifetime), v.Name)
		config, err := json.Marshal(tx.Config)
		require.NoError(t, err)
		require.JSONEq(t, string(e.Config), string(config), v.Name)
		require.Len(t, tx.Instructions, len(e.Instructions), v.Name)
		for i, want := range e.Instructions {
			got := tx.Instructions[i]
			require.Equal(t, want.Program, got.Program, v.Name)
			require.Equal(t, want.Data, base58.Encode(got.Data), v.Name)
			require.Len(t, got.Accounts, len(want.Accounts), v.Name)
			for j, account := range want.Accounts {
				require.EqualValues(t, account, got.Accounts[j], v.Name)
			}
		}
		require.NoError(t, tx.CheckLimits(len(v.Base64)), v.Name)
		back, err := tx.Append(nil)
		require.NoError(t, err, v.Name)
		require.Equal(t, v.Base64, back, v.Name)
		require.Len(t, back, e.TransactionBytes)
		message, err := tx.AppendMessage(nil)
		require.NoError(t, err)
		require.Len(t, message, e.MessageBytes)
	}
}

// TestInvalid: what no crate reads is refused. What only the runtime refuses is read, and its
// excess is told.
func TestInvalid(t *testing.T) {
	list := vectors(t, "invalid")
	require.Len(t, list, 53)
	var tx txwire.Transaction
	refused, above := 0, 0
	for _, v := range list {
		err := tx.Parse(v.Base64)
		if v.Runtime == nil {
			var version *txwire.VersionError
			require.True(t, errors.Is(err, txwire.ErrMalformed) || errors.As(err, &version), "%s: %v", v.Name, err)
			refused++
			continue
		}
		require.NoError(t, err, v.Name)
		require.ErrorIs(t, tx.CheckLimits(len(v.Base64)), txwire.ErrLimit, v.Name)
		back, err := tx.Append(nil)
		require.NoError(t, err, v.Name)
		require.Equal(t, v.Base64, back, v.Name)
		above++
	}
	require.Equal(t, []int{39, 14}, []int{refused, above})
}

// TestUnitPrice: what a transaction pays in all, as a price for a unit.
func TestUnitPrice(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	limit := func(n uint32) *uint32 { return &n }
	for _, c := range []struct {
		config txwire.Config
		want   uint64
	}{
		{txwire.Config{}, 0},
		{txwire.Config{PriorityFee: number(50_000), ComputeUnitLimit: limit(200_000)}, 250_000},
		{txwire.Config{PriorityFee: number(50_000)}, 0},
		{txwire.Config{PriorityFee: number(50_000), ComputeUnitLimit: limit(0)}, 0},
		{txwire.Config{PriorityFee: number(1), ComputeUnitLimit: limit(3)}, 333_333},
		{txwire.Config{PriorityFee: number(1 << 63), ComputeUnitLimit: limit(1)}, 1<<64 - 1},
		{txwire.Config{PriorityFee: number(1 << 63), ComputeUnitLimit: limit(1_000_000)}, 1 << 63},
	} {
		require.Equal(t, c.want, c.config.UnitPrice())
	}
}

// FuzzParse: what is accepted is written back byte for byte, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		// Version 1: a transfer with all members of the config.
		"gQEAAQMAAAAABWRMlCLjdkrB8fUprP0nzoMqEMsJHxdmJpbVW3TLJgEDlaNNgJBOtasdvad24fKM71R7P/BxtaicOkdRPyfJw4IXLpCbUdbRrak2zmSG5uwLnTV0NUdGWIxD/L/pP2DKUgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFBqZvhwAAAACAgwAAAECAAAAAgAAAAAAAAAyVD0b3tAhk0zntXk/2HoU2gBkwMIZr2dRI9bdxjlVFnSbGORXt4GjwGThV4Q/qh6DHccW/CuBjUV7MDMk8sQD",
	} {
		raw, err := base64.StdEncoding.DecodeString(text)
		require.NoError(f, err)
		f.Add(raw)
	}
	old := txwire.Transaction{
		Version: txwire.V0, Signatures: [][]byte{make([]byte, 64)}, Header: txwire.Header{Signers: 1}, Keys: [][]byte{make([]byte, 32), make([]byte, 32)},
		Lifetime: make([]byte, 32), Instructions: []txwire.Instruction{{Program: 1, Accounts: []byte{0, 2}, Data: make([]byte, 200)}},
		Lookups: []txwire.Lookup{{Table: make([]byte, 32), Writable: []byte{7}}},
	}
	legacy := old
	legacy.Version, legacy.Lookups = txwire.Legacy, nil
	for _, seed := range []txwire.Transaction{old, legacy} {
		raw, err := seed.Append(nil)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tx txwire.Transaction
		if tx.Parse(data) != nil {
			return
		}
		_ = tx.CheckLimits(len(data))
		_ = tx.Config.UnitPrice()
		back, err := tx.Append(nil)
		require.NoError(t, err)
		require.Equal(t, data, back)
	})
}
