package decode_test

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/schemas"
)

// imbalance is what a transaction's events and its token balances disagree about.
type imbalance struct {
	mint, program string
	events, real  *big.Int
}

// imbalances compares, for each mint of a transaction, the sum of mint_to minus burn with the
// change of the token balances. It returns how many agree on a change, and those that do not agree.
func imbalances(tx *chain.Transaction, slot uint64) (changed int, differing []imbalance) {
	events, real, programs := map[string]*big.Int{}, map[string]*big.Int{}, map[string]string{}
	add := func(to map[string]*big.Int, mint string, amount uint64, sign int64) {
		if to[mint] == nil {
			to[mint] = new(big.Int)
		}
		delta := new(big.Int).SetUint64(amount)
		to[mint].Add(to[mint], delta.Mul(delta, big.NewInt(sign)))
	}
	for _, event := range decode.New(nil).Decode(tx, slot, 0) {
		mint := base58.Encode(event.GetMint())
		add(events, mint, event.GetMintTo().GetAmount(), 1)
		add(events, mint, event.GetBurn().GetAmount(), -1)
	}
	for sign, balances := range map[int64][]chain.TokenBalance{-1: tx.PreBalances, 1: tx.PostBalances} {
		for i := range balances {
			mint := base58.Encode(balances[i].Mint[:])
			add(real, mint, balances[i].Amount, sign)
			programs[mint] = text(balances[i].Program[:])
		}
	}
	for mint := range union(events, real) {
		e, r := orZero(events[mint]), orZero(real[mint])
		if e.Cmp(r) != 0 {
			differing = append(differing, imbalance{mint, programs[mint], e, r})
		} else if e.Sign() != 0 {
			changed++
		}
	}
	return changed, differing
}

func union(a, b map[string]*big.Int) map[string]struct{} {
	keys := map[string]struct{}{}
	for k := range a {
		keys[k] = struct{}{}
	}
	for k := range b {
		keys[k] = struct{}{}
	}
	return keys
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

// Names of the ways in which balances change without mint_to and burn. Nothing else may.
const (
	// byLamports: a native mint's tokens are lamports, so wrapping (InitializeAccount, SyncNative)
	// and unwrapping (CloseAccount, UnwrapLamports) make and take them; the mint's supply stays 0.
	byLamports = "wrapped or unwrapped lamports"
	// byFeeWithheld: a transfer's fee leaves the source's amount and waits beside the
	// destination's. At most what was transferred.
	byFeeWithheld = "transfer fee withheld"
	// byFeeCollected: withheld fees are withdrawn into an account's amount.
	byFeeCollected = "withheld fees collected"
	// byConfidential: Deposit moves tokens from an account's amount into its encrypted balance, and
	// Withdraw back. The supply stays.
	byConfidential = "deposited to or withdrawn from a confidential balance"
)

// explain names the reason for an imbalance, proven by the transaction's own instructions; empty
// when there is none.
func explain(tx *chain.Transaction, i imbalance) string {
	var wraps, collects bool
	transferred, hidden := new(big.Int), new(big.Int)
	for _, call := range tokenCalls(tx) {
		if len(call.Data) == 0 {
			continue
		}
		switch number := call.Data[0]; {
		case number == 1 || number == 16 || number == 18 || number == 9 || number == 17 || number == 45:
			// InitializeAccount, its two later forms, CloseAccount, SyncNative, UnwrapLamports
			wraps = true
		case number == 12 && len(call.Data) >= 9: // TransferChecked
			transferred.Add(transferred, new(big.Int).SetUint64(binary.LittleEndian.Uint64(call.Data[1:])))
		case number == 26 && len(call.Data) >= 10 && call.Data[1] == 1: // TransferCheckedWithFee
			transferred.Add(transferred, new(big.Int).SetUint64(binary.LittleEndian.Uint64(call.Data[2:])))
		case number == 26 && len(call.Data) > 1 && (call.Data[1] == 2 || call.Data[1] == 3):
			collects = true // WithdrawWithheldTokensFromMint, …FromAccounts
		case number == 27 && len(call.Data) >= 10 && call.Data[1] == 5: // Deposit
			hidden.Add(hidden, new(big.Int).SetUint64(binary.LittleEndian.Uint64(call.Data[2:])))
		case number == 27 && len(call.Data) >= 10 && call.Data[1] == 6: // Withdraw
			hidden.Sub(hidden, new(big.Int).SetUint64(binary.LittleEndian.Uint64(call.Data[2:])))
		}
	}
	missing := new(big.Int).Sub(i.events, i.real)
	native := i.mint == schemas.MintWrappedSOL || i.mint == nativeMint2022
	switch {
	case native && i.events.Sign() == 0 && wraps:
		return byLamports
	case i.program == schemas.ProgramToken2022 && hidden.Sign() != 0 && missing.Cmp(hidden) == 0:
		return byConfidential
	case i.program == schemas.ProgramToken2022 && missing.Sign() > 0 && missing.Cmp(transferred) <= 0:
		return byFeeWithheld
	case i.program == schemas.ProgramToken2022 && missing.Sign() < 0 && collects:
		return byFeeCollected
	}
	return ""
}

// nativeMint2022 is Token-2022's own wrapped SOL.
const nativeMint2022 = "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP"

// tokenCalls are the invocations of the token programs at any depth, Batch taken apart.
func tokenCalls(tx *chain.Transaction) []chain.Call {
	var all []chain.Call
	add := func(call *chain.Call) {
		program, ok := tx.Program(call)
		if name := text(program[:]); !ok || (name != schemas.ProgramToken && name != schemas.ProgramToken2022) {
			return
		}
		if !spltoken.IsBatch(call.Data) {
			all = append(all, *call)
			return
		}
		if parts, err := spltoken.SplitBatch(call); err == nil {
			all = append(all, parts...)
		}
	}
	for i := range tx.Instructions {
		add(&tx.Instructions[i].Call)
		for j := range tx.Instructions[i].Inner {
			add(&tx.Instructions[i].Inner[j])
		}
	}
	return all
}

// balanceTally is what checkBalances found.
type balanceTally struct {
	// changed counts mints of transactions whose events and balances agree on a change; explained
	// those where they differ, by name.
	changed   int
	explained map[string]int
}

func (b *balanceTally) check(t *testing.T, block *chain.Block) {
	t.Helper()
	for i := range block.Transactions {
		tx := &block.Transactions[i]
		if tx.Failed || tx.Vote {
			continue
		}
		changed, differing := imbalances(tx, block.Slot)
		b.changed += changed
		for _, d := range differing {
			name := explain(tx, d)
			require.NotEmpty(t, name, "%s, mint %s: events say %s, balances %s", base58.Encode(tx.Signature[:]), d.mint, d.events, d.real)
			b.explained[name]++
		}
	}
}

// TestBalances: in every transaction that we have, for every mint, mint_to minus burn is the change
// of the token balances, which the node reports independently of instructions. A mint or burn that
// no decoder saw would show here.
func TestBalances(t *testing.T) {
	for name, want := range map[string]balanceTally{
		"blocks/254170887.json.gz":           {changed: 38, explained: map[string]int{byLamports: 8}},
		"blocks/332254855.confirmedblock.pb": {changed: 2, explained: map[string]int{byLamports: 23, byFeeWithheld: 1}},
		"blocks/361774429.json.gz":           {changed: 2, explained: map[string]int{byLamports: 46}},
		"transactions":                       {changed: 11, explained: map[string]int{byLamports: 15, byFeeWithheld: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := balanceTally{explained: map[string]int{}}
			for _, block := range load(t, "data/"+name) {
				got.check(t, block)
			}
			require.Equal(t, want, got)
		})
	}
}

func TestSVMBalances(t *testing.T) {
	got := balanceTally{explained: map[string]int{}}
	for _, fixture := range loadSVM(t) {
		for i := range fixture.Steps {
			got.check(t, fixture.Steps[i].block(t))
		}
	}
	require.Equal(t, balanceTally{changed: 27, explained: map[string]int{byLamports: 6, byFeeWithheld: 1, byFeeCollected: 1, byConfidential: 3}}, got)
}
