package demo

import (
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
)

// A swap quoted from accounts read over RPC pays exactly what was quoted when it lands: what a
// wallet with a quoter does.
func TestQuotedSwapLandsExactly(t *testing.T) {
	cfg := testConfig()
	cfg.SkipRate, cfg.ForkRate = 0, 0
	n := start(t, cfg)
	require.NoError(t, n.Step(10))
	key := funded(t, n)
	read := func(k chain.Key) []byte {
		var out struct{ Value struct{ Data []byteText } }
		require.Nil(t, call(t, n, &out, "getAccountInfo", k.String(), map[string]any{"encoding": "base64", "commitment": "processed"}))
		return out.Value.Data[0].bytes(t)
	}
	var pools []struct{ Pubkey string }
	require.Nil(t, call(t, n, &pools, "getProgramAccounts", chain.CPMMProgram.String(), map[string]any{"encoding": "base64", "commitment": "processed",
		"dataSlice": map[string]int{"offset": 0, "length": 0}, "filters": []any{map[string]any{"dataSize": 637},
			map[string]any{"memcmp": map[string]any{"offset": 168, "bytes": chain.NativeMint.String()}},
			map[string]any{"memcmp": map[string]any{"offset": 200, "bytes": chain.USDCMint.String()}}}}))
	require.Len(t, pools, 1, "one pool of wrapped SOL and USDC: its address sorts first")
	pool := pubkey.MustParse(pools[0].Pubkey)
	p := read(pool)
	at := func(i int) chain.Key { return chain.Key(p[i : i+32]) }
	u64 := binary.LittleEndian.Uint64
	vaultIn, vaultOut := read(at(72)), read(at(104))
	config := read(at(8))
	amount := uint64(250_000_000)
	out, _ := chain.QuoteBaseInput(amount, u64(vaultIn[64:])-u64(p[341:])-u64(p[357:]), u64(vaultOut[64:])-u64(p[349:])-u64(p[365:]), u64(config[12:]))
	user := chain.Key(key.PublicKey())
	src, dst := chain.AssociatedAddress(user, chain.NativeMint, chain.TokenProgram), chain.AssociatedAddress(user, chain.USDCMint, chain.TokenProgram)
	before := u64(read(dst)[64:])
	data := binary.LittleEndian.AppendUint64([]byte{0x8f, 0xbe, 0x5a, 0xda, 0xc4, 0x1e, 0x33, 0xde}, amount)
	data = binary.LittleEndian.AppendUint64(data, out)
	w, s := func(k chain.Key) *solana.AccountMeta { return solana.Meta(solana.PublicKey(k)) }, func(k chain.Key) *solana.AccountMeta { return solana.Meta(solana.PublicKey(k)).WRITE() }
	ix := solana.NewInstruction(solana.PublicKey(chain.CPMMProgram), solana.AccountMetaSlice{w(user).SIGNER(), w(chain.CPMMAuthority), w(at(8)), s(pool), s(src), s(dst), s(at(72)), s(at(104)),
		w(at(232)), w(at(264)), w(at(168)), w(at(200)), s(at(296))}, data)
	tx, err := solana.NewTransaction([]solana.Instruction{ix}, blockhash(t, n), solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(t, err)
	wire, err := tx.ToBase64()
	require.NoError(t, err)
	var sig string
	require.Nil(t, call(t, n, &sig, "sendTransaction", wire, map[string]any{"encoding": "base64", "preflightCommitment": "processed"}))
	require.NoError(t, n.Step(2))
	f, ok := n.Ledger().Transaction(tx.Signatures[0])
	require.True(t, ok)
	require.Nil(t, f.Tx().Meta.Err, "%v", f.Tx().Meta.Logs)
	require.Zero(t, f.Index, "submitted transactions come first in their block")
	var got uint64
	for _, b := range f.Tx().Meta.PostTokens {
		if b.Mint == chain.USDCMint && b.Owner == user {
			got = b.Amount - before
		}
	}
	require.Equal(t, out, got)
}
