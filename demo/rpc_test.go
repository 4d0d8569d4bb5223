package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
)

func opt(kv ...any) map[string]any {
	out := map[string]any{"commitment": "confirmed"}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}

func code(e map[string]any) int {
	if e == nil {
		return 0
	}
	return int(e["code"].(float64))
}

func TestGetBlockRules(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(60))
	require.Equal(t, -32015, code(call(t, n, nil, "getBlock", 1001, opt("encoding", "base64"))), "v0 without maxSupportedTransactionVersion")
	var sigs struct {
		Signatures   []string
		Transactions []any
		Rewards      []any
	}
	require.Nil(t, call(t, n, &sigs, "getBlock", 1001, opt("transactionDetails", "signatures", "rewards", false)))
	require.NotEmpty(t, sigs.Signatures)
	require.Empty(t, sigs.Rewards)
	require.Nil(t, call(t, n, &sigs, "getBlock", 1001, opt("transactionDetails", "none")))
	require.Len(t, sigs.Rewards, 1)
	skipped, dead := 0, 0
	for slot := uint64(1000); slot < 1058; slot++ {
		e := call(t, n, nil, "getBlock", slot, opt("transactionDetails", "none"))
		if e == nil {
			continue
		}
		require.Equal(t, -32007, code(e))
		skipped++
		if _, _, ok := n.Ledger().Block(slot); !ok {
			dead++
		}
	}
	require.Positive(t, skipped)
	require.Equal(t, skipped, dead)
	require.Equal(t, -32004, code(call(t, n, nil, "getBlock", 5000, opt())))
	require.Equal(t, -32602, code(call(t, n, nil, "getBlock", 1001, map[string]any{"commitment": "processed"})))
	require.Equal(t, -32602, code(call(t, n, nil, "getBlock", "x")))
	require.Equal(t, -32602, code(call(t, n, nil, "getBlock", 1001, opt("encoding", "yaml", "maxSupportedTransactionVersion", 1))))
	require.Equal(t, -32601, code(call(t, n, nil, "getNothing")))
}

func TestAccountMethods(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(10))
	usdc := chain.USDCMint.String()
	many := make([]string, 101)
	for i := range many {
		many[i] = usdc
	}
	require.Equal(t, -32602, code(call(t, n, nil, "getMultipleAccounts", many)))
	require.Equal(t, -32602, code(call(t, n, nil, "getMultipleAccounts", []string{"0"})))
	var info struct{ Value struct{ Data []byteText } }
	require.Nil(t, call(t, n, &info, "getAccountInfo", usdc, opt("encoding", "base64")))
	full := info.Value.Data[0].bytes(t)
	require.Len(t, full, 82)
	require.Nil(t, call(t, n, &info, "getAccountInfo", usdc, opt("encoding", "base64", "dataSlice", map[string]int{"offset": 44, "length": 1})))
	require.Equal(t, []byte{6}, info.Value.Data[0].bytes(t))
	require.Nil(t, call(t, n, &info, "getAccountInfo", usdc, opt("encoding", "base64", "dataSlice", map[string]int{"offset": 400, "length": 1})))
	require.Empty(t, info.Value.Data[0].bytes(t))
	require.Nil(t, call(t, n, &info, "getAccountInfo", usdc, opt("encoding", "base64+zstd")))
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	got, err := z.DecodeAll(info.Value.Data[0].bytes(t), nil)
	require.NoError(t, err)
	require.Equal(t, full, got)
	var supply struct {
		Value struct {
			Amount         string
			Decimals       int
			UIAmountString string
		}
	}
	require.Nil(t, call(t, n, &supply, "getTokenSupply", usdc, opt()))
	require.Equal(t, 6, supply.Value.Decimals)
	require.NotEmpty(t, supply.Value.Amount)
	require.Equal(t, -32602, code(call(t, n, nil, "getTokenSupply", chain.TokenProgram.String())))
	var accounts []struct {
		Pubkey  string
		Account struct{ Data []byteText }
	}
	require.Nil(t, call(t, n, &accounts, "getProgramAccounts", chain.TokenProgram.String(), opt("encoding", "base64", "filters", []any{
		map[string]any{"dataSize": 165}, map[string]any{"memcmp": map[string]any{"offset": 0, "bytes": usdc}}}, "dataSlice", map[string]int{"offset": 64, "length": 8})))
	require.NotEmpty(t, accounts)
	var sum uint64
	for _, a := range accounts {
		b := a.Account.Data[0].bytes(t)
		require.Len(t, b, 8)
		for i, v := range b {
			sum += uint64(v) << (8 * i)
		}
	}
	require.Equal(t, supply.Value.Amount, json.Number(chain.UIAmount(sum, 0)).String(), "the supply is the sum of all accounts")
	var bal struct{ Value struct{ Amount string } }
	require.Nil(t, call(t, n, &bal, "getTokenAccountBalance", accounts[0].Pubkey, opt()))
	require.NotEmpty(t, bal.Value.Amount)
	require.Equal(t, -32016, code(call(t, n, nil, "getAccountInfo", usdc, opt("minContextSlot", 99999))))
}

func TestSmallMethods(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(50))
	for _, m := range []string{"getVersion", "getHealth", "getGenesisHash", "getEpochInfo", "getLatestBlockhash", "getIdentity", "getFirstAvailableBlock",
		"minimumLedgerSlot", "getSlot", "getBlockHeight"} {
		var v any
		require.Nil(t, call(t, n, &v, m), m)
		require.NotNil(t, v, m)
	}
	var rent uint64
	require.Nil(t, call(t, n, &rent, "getMinimumBalanceForRentExemption", 165))
	require.EqualValues(t, 1_488_440, rent)
	var slots []uint64
	require.Nil(t, call(t, n, &slots, "getBlocksWithLimit", 1000, 5, opt()))
	require.Len(t, slots, 5)
	var when int64
	require.Nil(t, call(t, n, &when, "getBlockTime", slots[0]))
	require.Positive(t, when)
	// getSignaturesForAddress pages without gap or repeat
	usdc := chain.USDCMint.String()
	type row struct{ Signature string }
	var all, first, rest []row
	require.Nil(t, call(t, n, &all, "getSignaturesForAddress", usdc, opt("limit", 50)))
	require.Len(t, all, 50)
	require.Nil(t, call(t, n, &first, "getSignaturesForAddress", usdc, opt("limit", 20)))
	require.Nil(t, call(t, n, &rest, "getSignaturesForAddress", usdc, opt("limit", 30, "before", first[19].Signature)))
	require.Equal(t, all, append(first, rest...))
	var st struct {
		Value []*struct{ ConfirmationStatus string }
	}
	require.Nil(t, call(t, n, &st, "getSignatureStatuses", []string{all[0].Signature, solana.Signature{}.String()}))
	require.Equal(t, "finalized", st.Value[0].ConfirmationStatus, "both at one moment")
	require.Nil(t, st.Value[1])
	var tx struct {
		Slot        uint64
		Transaction []string
	}
	require.Nil(t, call(t, n, &tx, "getTransaction", all[0].Signature, opt("encoding", "base64", "maxSupportedTransactionVersion", 1)))
	require.Positive(t, tx.Slot)
	var none any
	require.Nil(t, call(t, n, &none, "getTransaction", solana.Signature{1}.String(), opt()))
	require.Nil(t, none)
}

func TestBatchesAndBadBodies(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(3))
	post := func(body string) (int, string) {
		resp, err := http.Post(n.RPCURL(), "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(b)
	}
	_, out := post(`[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","id":"a","method":"nope"},{"jsonrpc":"2.0","method":"getHealth"},7]`)
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list, 3, "a notification has no answer")
	require.Equal(t, "ok", list[0]["result"])
	require.Equal(t, "a", list[1]["id"])
	for body, want := range map[string]string{`{`: "-32700", `[`: "-32700", `[]`: "-32600", `{}`: "-32600", `7`: "-32600", ``: "-32700",
		`{"jsonrpc":"1.0","id":1,"method":"getHealth"}`: "-32600", `{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{"a":1}}`: "-32602",
		`{"jsonrpc":"2.0","id":{},"method":"getHealth"}`: "-32600"} {
		status, got := post(body)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, got, want, body)
	}
	status, _ := post(`"` + strings.Repeat("x", 2<<20) + `"`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	resp, err := http.Get(n.RPCURL())
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

// funded is the key of a demo wallet, which the chain gives SOL at genesis.
func funded(t *testing.T, n *Node) solana.PrivateKey {
	t.Helper()
	return solana.PrivateKey(chain.DemoWallet(n.cfg.Seed, 0))
}

func blockhash(t *testing.T, n *Node) solana.Hash {
	t.Helper()
	var out struct{ Value struct{ Blockhash string } }
	require.Nil(t, call(t, n, &out, "getLatestBlockhash", map[string]any{"commitment": "processed"}))
	return solana.MustHashFromBase58(out.Value.Blockhash)
}

func TestSentTransactionLands(t *testing.T) {
	cfg := testConfig()
	cfg.SkipRate, cfg.ForkRate = 0, 0
	n := start(t, cfg)
	require.NoError(t, n.Step(5))
	key := funded(t, n)
	to := solana.NewWallet().PublicKey()
	tx, err := solana.NewTransaction([]solana.Instruction{system.NewTransferInstruction(5_000_000, key.PublicKey(), to).Build()}, blockhash(t, n), solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(t, err)
	wire, err := tx.ToBase64()
	require.NoError(t, err)
	var sig string
	require.Nil(t, call(t, n, &sig, "sendTransaction", wire, map[string]any{"encoding": "base64"}))
	require.Equal(t, tx.Signatures[0].String(), sig)
	require.Nil(t, call(t, n, &sig, "sendTransaction", wire, map[string]any{"encoding": "base64"}), "sent again before it landed: no harm")
	require.NoError(t, n.Step(3))
	var got struct {
		Transaction []string
		Meta        struct {
			Err          any
			PostBalances []uint64
		}
	}
	require.Nil(t, call(t, n, &got, "getTransaction", sig, opt("encoding", "base64")))
	require.Equal(t, wire, got.Transaction[0])
	require.Nil(t, got.Meta.Err)
	require.EqualValues(t, 5_000_000, got.Meta.PostBalances[1])
	var bal struct{ Value uint64 }
	require.Nil(t, call(t, n, &bal, "getBalance", to.String(), opt()))
	require.EqualValues(t, 5_000_000, bal.Value)
	require.Equal(t, -32002, code(call(t, n, nil, "sendTransaction", wire, map[string]any{"encoding": "base64"})), "already processed")
}

func TestSendTransactionRefuses(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(5))
	key := funded(t, n)
	build := func(hash solana.Hash, lamports uint64, sign bool) string {
		tx, err := solana.NewTransaction([]solana.Instruction{system.NewTransferInstruction(lamports, key.PublicKey(), solana.PublicKey{9}).Build()}, hash, solana.TransactionPayer(key.PublicKey()))
		require.NoError(t, err)
		_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
		require.NoError(t, err)
		if !sign {
			tx.Signatures[0][3] ^= 1
		}
		wire, err := tx.ToBase64()
		require.NoError(t, err)
		return wire
	}
	b64 := map[string]any{"encoding": "base64"}
	good := blockhash(t, n)
	e := call(t, n, nil, "sendTransaction", build(good, 1, false), b64)
	require.Equal(t, -32002, code(e))
	require.Equal(t, "SignatureFailure", e["data"].(map[string]any)["err"])
	require.Equal(t, -32002, code(call(t, n, nil, "sendTransaction", build(solana.Hash{1}, 1, true), b64)))
	e = call(t, n, nil, "sendTransaction", build(good, 1<<62, true), b64)
	require.Equal(t, -32002, code(e))
	require.Contains(t, e["message"], "custom program error: 0x1")
	require.Equal(t, -32602, code(call(t, n, nil, "sendTransaction", "AAAA", b64)))
	require.Equal(t, -32602, code(call(t, n, nil, "sendTransaction", strings.Repeat("A", 3000), b64)))
	require.Equal(t, -32602, code(call(t, n, nil, "sendTransaction", "AA", map[string]any{"encoding": "hex"})))
	var sim struct {
		Value struct {
			Err  any
			Logs []string
		}
	}
	require.Nil(t, call(t, n, &sim, "simulateTransaction", build(good, 1<<62, true), b64))
	require.NotNil(t, sim.Value.Err)
	require.NotEmpty(t, sim.Value.Logs)
	require.Nil(t, call(t, n, &sim, "simulateTransaction", build(good, 890_880, false), map[string]any{"encoding": "base64", "sigVerify": true}))
	require.Equal(t, "SignatureFailure", sim.Value.Err)
	require.Nil(t, call(t, n, &sim, "simulateTransaction", build(solana.Hash{}, 890_880, true), map[string]any{"encoding": "base64", "replaceRecentBlockhash": true}))
	require.Nil(t, sim.Value.Err)
}
