package demo

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/chain"
)

// transferV1 is a signed transaction of version 1 that moves lamports from a demo wallet, with a
// memo of that many bytes.
func transferV1(t *testing.T, n *Node, to chain.Key, lamports uint64, memo int) *txwire.Transaction {
	t.Helper()
	key := chain.DemoWallet(n.cfg.Seed, 0)
	fee, units, loaded := uint64(1234), uint32(50_000), uint32(1<<20)
	hash := blockhash(t, n)
	data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)
	tx := &txwire.Transaction{Version: txwire.V1, Header: txwire.Header{Signers: 1, ReadonlyOthers: 2}, Lifetime: hash[:],
		Config: txwire.Config{PriorityFee: &fee, ComputeUnitLimit: &units, LoadedAccountsDataSizeLimit: &loaded},
		Keys:   [][]byte{key.Public().(ed25519.PublicKey), to[:], chain.SystemProgram[:], chain.MemoProgram[:]},
		Instructions: []txwire.Instruction{{Program: 2, Accounts: []byte{0, 1}, Data: data},
			{Program: 3, Data: []byte(strings.Repeat("m", memo))}}}
	message, err := tx.AppendMessage(nil)
	require.NoError(t, err)
	require.EqualValues(t, 0x81, message[0])
	tx.Signatures = [][]byte{ed25519.Sign(key, message)}
	return tx
}

// TestSentVersion1Lands: a transaction of version 1 is executed and comes back in every encoding.
func TestSentVersion1Lands(t *testing.T) {
	n := steady(t, 5)
	to := chain.MadeUp("receiver of version 1", 1)
	tx := transferV1(t, n, to, 5_000_000, 3700)
	wire, err := tx.Append(nil)
	require.NoError(t, err)
	require.Greater(t, len(wire), 3900)
	text := base64.StdEncoding.EncodeToString(wire)
	b64 := map[string]any{"encoding": "base64", "preflightCommitment": "processed"}
	var sim struct {
		Value struct {
			Err                    any
			Fee                    uint64
			LoadedAccountsDataSize uint64
		}
	}
	require.Nil(t, call(t, n, &sim, "simulateTransaction", text, b64))
	require.Nil(t, sim.Value.Err)
	require.EqualValues(t, 5000+1234, sim.Value.Fee)
	require.Positive(t, sim.Value.LoadedAccountsDataSize)
	var signature string
	require.Nil(t, call(t, n, &signature, "sendTransaction", text, b64))
	require.Equal(t, chain.Signature(tx.Signatures[0]).String(), signature)
	require.NoError(t, n.Step(2))

	type answer struct {
		Version     any
		Transaction any
		Meta        struct {
			Err          any
			Fee          uint64
			PostBalances []uint64
		}
	}
	for _, encoding := range []string{"base64", "json", "jsonParsed"} {
		var got answer
		require.Nil(t, call(t, n, &got, "getTransaction", signature, opt("encoding", encoding, "maxSupportedTransactionVersion", 1)))
		require.EqualValues(t, 1, got.Version)
		require.Nil(t, got.Meta.Err)
		require.EqualValues(t, 5000+1234, got.Meta.Fee)
		require.EqualValues(t, 5_000_000, got.Meta.PostBalances[1])
		if encoding == "base64" {
			require.Equal(t, []any{text, "base64"}, got.Transaction)
			continue
		}
		config := got.Transaction.(map[string]any)["message"].(map[string]any)["transactionConfig"]
		require.Equal(t, map[string]any{"priorityFee": 1234., "computeUnitLimit": 50_000., "loadedAccountsDataSizeLimit": float64(1 << 20), "heapSize": nil}, config)
	}

	broken := transferV1(t, n, to, 1, 1)
	broken.Signatures[0][5] ^= 1
	wire, err = broken.Append(nil)
	require.NoError(t, err)
	e := call(t, n, nil, "sendTransaction", base64.StdEncoding.EncodeToString(wire), b64)
	require.Equal(t, -32002, code(e))
	none := transferV1(t, n, to, 1, 1)
	none.Config.LoadedAccountsDataSizeLimit = nil
	message, err := none.AppendMessage(nil)
	require.NoError(t, err)
	none.Signatures[0] = ed25519.Sign(chain.DemoWallet(n.cfg.Seed, 0), message)
	wire, err = none.Append(nil)
	require.NoError(t, err)
	e = call(t, n, nil, "sendTransaction", base64.StdEncoding.EncodeToString(wire), b64)
	require.Equal(t, -32002, code(e))
	require.Equal(t, "MaxLoadedAccountsDataSizeExceeded", e["data"].(map[string]any)["err"])
}
