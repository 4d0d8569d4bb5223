package holdings

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	sdk "github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

// worldMint is a mint of a world. Its authorities are all the world's one.
type worldMint struct {
	key, program pubkey.Key
	// size is that of its accounts.
	size uint64
	// fees are withheld of its transfers.
	fees bool
}

// world is a chain in LiteSVM: random transactions on the token programs themselves, each in the
// shape in which a node tells it.
type world struct {
	t      *testing.T
	vm     *svmtest.Machine
	random *rand.Rand
	slot   uint64
	// held are all accounts as the runtime has them; open the token accounts among them, sorted.
	held map[pubkey.Key]*solana.Account
	open []pubkey.Key

	mints                []worldMint
	wallets              []pubkey.Key
	payer, authority     pubkey.Key
	named                int
	succeeded, attempted map[string]int
}

const (
	worldStart   = 400_000_000
	worldRent    = 5_000_000 // more than any account here needs
	worldDecimal = 3
)

func newWorld(t *testing.T, random *rand.Rand) *world {
	w := &world{
		t: t, vm: svmtest.Start(t), random: random, slot: worldStart, held: map[pubkey.Key]*solana.Account{},
		payer: swaptest.Named("payer"), authority: swaptest.Named("authority"), succeeded: map[string]int{}, attempted: map[string]int{},
	}
	w.put(w.payer, pubkey.Key{}, nil, 1<<50)
	for i := range 6 {
		w.wallets = append(w.wallets, swaptest.Named(fmt.Sprint("wallet ", i)))
		w.put(w.wallets[i], pubkey.Key{}, nil, 1<<40)
	}
	fee := layout.TransferFee{ConfigAuthority: w.authority, WithdrawAuthority: w.authority, BasisPoints: 300, Maximum: 400}
	w.mint(tokenaccount.ProgramToken, nil)
	w.mint(tokenaccount.ProgramToken, nil)
	w.mint(tokenaccount.ProgramToken2022, nil)
	w.mint(tokenaccount.ProgramToken2022, layout.AppendExtension(nil, layout.ExtTransferFeeConfig, fee.Bytes()))
	w.mint(tokenaccount.ProgramToken2022, layout.AppendExtension(nil, permanentDelegate, w.authority[:]))
	wrapped := pubkey.MustParse(schemas.MintWrappedSOL)
	w.put(wrapped, tokenaccount.ProgramToken, (&layout.Mint{Decimals: 9}).Bytes(), worldRent)
	w.mints = append(w.mints, worldMint{key: wrapped, program: tokenaccount.ProgramToken, size: layout.TokenAccountSize})
	w.vm.Set(w.held)
	return w
}

// permanentDelegate is the extension of that name (spl-token-2022, extension/mod.rs).
const permanentDelegate = 12

func (w *world) put(key, owner pubkey.Key, data []byte, lamports uint64) {
	w.held[key] = &solana.Account{Owner: owner, Lamports: lamports, Data: data}
}

func (w *world) mint(program pubkey.Key, extensions []byte) {
	m := worldMint{key: swaptest.Named(fmt.Sprint("mint ", len(w.mints))), program: program, size: layout.TokenAccountSize}
	if at, _ := layout.Extension(append(make([]byte, layout.ExtensionsAt), extensions...), layout.ExtTransferFeeConfig); at >= 0 {
		m.fees, m.size = true, m.size+1+4+8 // TransferFeeAmount
	}
	of := layout.Mint{MintAuthority: layout.Some(w.authority), FreezeAuthority: layout.Some(w.authority), Decimals: worldDecimal, Extensions: extensions}
	w.put(m.key, program, of.Bytes(), worldRent)
	w.mints = append(w.mints, m)
}

// block runs some random transactions, and returns them as a block that a node told.
func (w *world) block() *chain.Block {
	w.slot++
	var list []map[string]any
	for range 1 + w.random.IntN(4) {
		list = append(list, w.transact())
	}
	hash := func(slot uint64) string { return swaptest.Named(fmt.Sprint("block ", slot)).String() }
	raw, err := json.Marshal(map[string]any{
		"blockhash": hash(w.slot), "previousBlockhash": hash(w.slot - 1), "parentSlot": w.slot - 1, "blockTime": 1_760_000_000 + w.slot - worldStart,
		"blockHeight": w.slot, "transactions": list,
	})
	require.NoError(w.t, err)
	block, err := parse.Reader{}.BlockJSON(raw, w.slot)
	require.NoError(w.t, err)
	require.False(w.t, block.Partial())
	return block
}

// transact runs one to three random steps as a transaction, and returns it as a node tells it.
func (w *world) transact() map[string]any {
	var calls []sdk.Instruction
	var kinds []string
	for range 1 + w.random.IntN(3) {
		kind, step := w.step()
		kinds = append(kinds, kind)
		calls = append(calls, step...)
	}
	tx, err := sdk.NewTransaction(calls, sdk.Hash{}, sdk.TransactionPayer(sdk.PublicKey(w.payer)))
	require.NoError(w.t, err)
	message, err := tx.Message.MarshalBinary()
	require.NoError(w.t, err)
	wire := []byte{tx.Message.Header.NumRequiredSignatures}
	w.named++
	for i := range int(tx.Message.Header.NumRequiredSignatures) {
		signature := [64]byte{1, byte(i)}
		binary.LittleEndian.PutUint64(signature[8:], uint64(w.named))
		wire = append(wire, signature[:]...)
	}
	wire = append(wire, message...)
	keys := make([]pubkey.Key, len(tx.Message.AccountKeys))
	for i, key := range tx.Message.AccountKeys {
		keys[i] = pubkey.Key(key)
	}
	before, tokensBefore := w.lamports(keys), w.tokens(keys)
	ran := w.vm.Run(wire)
	maps.Copy(w.held, ran.Accounts)
	for _, kind := range kinds {
		if w.attempted[kind]++; ran.Err == "" {
			w.succeeded[kind]++
		}
	}
	w.open = w.open[:0]
	for key := range w.held {
		if w.isToken(key) {
			w.open = append(w.open, key)
		}
	}
	slices.SortFunc(w.open, pubkey.Compare)
	meta := map[string]any{
		"err": nil, "fee": 5000, "preBalances": before, "postBalances": w.lamports(keys), "preTokenBalances": tokensBefore,
		"postTokenBalances": w.tokens(keys), "innerInstructions": inner(ran), "loadedAddresses": map[string]any{"writable": []string{}, "readonly": []string{}},
	}
	if ran.Err != "" {
		meta["err"] = map[string]any{"InstructionError": []any{0, map[string]int{"Custom": 1}}}
	}
	return map[string]any{"transaction": []string{base64.StdEncoding.EncodeToString(wire), "base64"}, "meta": meta, "version": "legacy"}
}

func inner(ran *svmtest.Ran) []map[string]any {
	all := []map[string]any{}
	for i, calls := range ran.Inner {
		list := []map[string]any{}
		for _, call := range calls {
			list = append(list, map[string]any{
				"programIdIndex": call.Program, "accounts": call.Accounts, "data": sdk.Base58(call.Data).String(), "stackHeight": call.Height,
			})
		}
		if len(list) > 0 {
			all = append(all, map[string]any{"index": i, "instructions": list})
		}
	}
	return all
}

func (w *world) lamports(keys []pubkey.Key) []uint64 {
	list := make([]uint64, len(keys))
	for i, key := range keys {
		if a := w.held[key]; a != nil {
			list[i] = a.Lamports
		}
	}
	return list
}

// isToken reports whether an account is an open token account.
func (w *world) isToken(key pubkey.Key) bool {
	a := w.held[key]
	return a != nil && (a.Owner == tokenaccount.ProgramToken || a.Owner == tokenaccount.ProgramToken2022) && layout.IsTokenAccount(a.Data)
}

// tokens are the balances that a node tells of a transaction's accounts.
func (w *world) tokens(keys []pubkey.Key) []map[string]any {
	list := []map[string]any{}
	for i, key := range keys {
		if !w.isToken(key) {
			continue
		}
		a := w.held[key]
		list = append(list, map[string]any{
			"accountIndex": i, "mint": layout.MintOf(a.Data).String(), "owner": layout.OwnerOf(a.Data).String(), "programId": a.Owner.String(),
			"uiTokenAmount": map[string]any{"amount": fmt.Sprint(layout.Amount(a.Data)), "decimals": w.held[layout.MintOf(a.Data)].Data[layout.MintDecimalsAt]},
		})
	}
	return list
}
