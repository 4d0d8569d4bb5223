package jsonrpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
)

// vector is a version-1 transaction, or bytes that are none.
type vector struct {
	Name   string `json:"name"`
	Base64 string `json:"base64"`
	Expect struct {
		ID           string `json:"txid"`
		MessageBytes int    `json:"messageBytes"`
	} `json:"expect"`
}

func vectors(t *testing.T, name string) []vector {
	t.Helper()
	return testkit.SharedLines[vector](t, "data/chain-2026/transactions/"+name+".jsonl")
}

func (v *vector) params() string { return fmt.Sprintf(`[%q,{"encoding":"base64"}]`, v.Base64) }

// TestSignaturesOfVersion1: every valid transaction gives its id, in base64 and, where it is short
// enough, in base58. What no node takes gives none.
func TestSignaturesOfVersion1(t *testing.T) {
	valid := vectors(t, "valid")
	require.Len(t, valid, 73)
	inBase58 := 0
	for _, v := range valid {
		require.Equal(t, v.Expect.ID, signatureOf(json.RawMessage(v.params())), v.Name)
		raw, err := base64.StdEncoding.DecodeString(v.Base64)
		require.NoError(t, err)
		got := signatureOf(json.RawMessage(`["` + base58.Encode(raw) + `"]`))
		if len(raw) > 1232 {
			require.Empty(t, got, v.Name)
			continue
		}
		require.Equal(t, v.Expect.ID, got, v.Name)
		inBase58++
	}
	require.Greater(t, inBase58, 30)
	invalid := vectors(t, "invalid")
	require.Len(t, invalid, 53)
	for _, v := range invalid {
		require.Empty(t, signatureOf(json.RawMessage(v.params())), v.Name)
	}
}

// sized is a transaction of a version with so many bytes.
func sized(t *testing.T, version txwire.Version, size int) []byte {
	t.Helper()
	tx := &txwire.Transaction{
		Version: version, Signatures: [][]byte{make([]byte, 64)}, Header: txwire.Header{Signers: 1}, Keys: [][]byte{make([]byte, 32), slices.Repeat([]byte{1}, 32)},
		Lifetime: make([]byte, 32), Instructions: []txwire.Instruction{{Program: 1, Data: make([]byte, 200)}},
	}
	tx.Signatures[0][0] = 7
	raw, err := tx.Append(nil)
	require.NoError(t, err)
	tx.Instructions[0].Data = make([]byte, 200+size-len(raw))
	raw, err = tx.Append(nil)
	require.NoError(t, err)
	require.Len(t, raw, size)
	return raw
}

// TestSizesOfTransactions: the limits are those of nodes, by version and encoding.
func TestSizesOfTransactions(t *testing.T) {
	for _, c := range []struct {
		version  txwire.Version
		encoding string
		most     int
	}{
		{txwire.Legacy, "base64", 1232}, {txwire.V0, "base64", 1232}, {txwire.V1, "base64", 4096},
		{txwire.Legacy, "base58", 1232}, {txwire.V1, "base58", 1232},
	} {
		for size, want := range map[int]bool{c.most: true, c.most + 1: false} {
			raw := sized(t, c.version, size)
			text := base64.StdEncoding.EncodeToString(raw)
			if c.encoding == "base58" {
				text = base58.Encode(raw)
			}
			got := readTransaction(json.RawMessage(fmt.Sprintf(`[%q,{"encoding":%q}]`, text, c.encoding)))
			require.Equal(t, want, got != nil, "%v %d", c, size)
		}
	}
	require.Equal(t, maxBase64, len(base64.StdEncoding.EncodeToString(sized(t, txwire.V1, 4096))))

	began := time.Now()
	for _, text := range []string{strings.Repeat("z", 200_000), strings.Repeat("1", 200_000), strings.Repeat("1", maxBase58), strings.Repeat("z", maxBase58)} {
		for _, options := range []string{``, `,{"encoding":"base58"}`, `,{"encoding":"base64"}`, `,{"encoding":"base16"}`, `,7`} {
			require.Empty(t, signatureOf(json.RawMessage(`["`+text+`"`+options+`]`)))
		}
	}
	require.Less(t, time.Since(began), 10*time.Second, "what is too long for a transaction is not decoded")
}

// TestTransactionsArePassedOnUnchanged: the gateway changes nothing in a transaction or a message
// and refuses none of them, not even one above today's limits.
func TestTransactionsArePassedOnUnchanged(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{n.URL}})
	pass := func(method, params string) {
		t.Helper()
		status, body := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, slot7, body)
		n.mu.Lock()
		defer n.mu.Unlock()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, n.bodies[len(n.bodies)-1])
	}
	longest := 0
	for _, v := range vectors(t, "valid") {
		raw, err := base64.StdEncoding.DecodeString(v.Base64)
		require.NoError(t, err)
		longest = max(longest, len(raw))
		pass("getFeeForMessage", fmt.Sprintf(`[%q,{"commitment":"processed"}]`, base64.StdEncoding.EncodeToString(raw[:v.Expect.MessageBytes])))
		pass("simulateTransaction", fmt.Sprintf(`[%q,{"sigVerify":false,"replaceRecentBlockhash":true,"encoding":"base64","accounts":{"addresses":[],"encoding":"base64"}}]`, v.Base64))
		pass("sendTransaction", v.params())
	}
	require.Equal(t, 4096, longest)
	for _, v := range vectors(t, "invalid") {
		for _, method := range []string{"getFeeForMessage", "simulateTransaction", "sendTransaction"} {
			pass(method, v.params())
		}
	}
}

func FuzzReadTransaction(f *testing.F) {
	for n := range 2 {
		params, _ := transaction(n)
		f.Add([]byte(params))
	}
	f.Add([]byte(`["x",{"encoding":"base64","skipPreflight":false}]`))
	f.Add([]byte(`[{}]`))
	f.Fuzz(func(t *testing.T, params []byte) {
		sent := readTransaction(params)
		if sent == nil {
			return
		}
		again, err := sent.again()
		require.NoError(t, err)
		require.Less(t, len(again), maxBase64+100)
		require.Equal(t, sent, readTransaction(again))
	})
}
