package holdings

import (
	"encoding/binary"
	"fmt"
	"slices"

	sdk "github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

// worldSteps are what a random transaction does, some of them more often. Many fail: an account may
// be frozen, not empty, or of another mint.
var worldSteps = []string{
	"open", "open", "open associated", "open wrapped", "mint", "mint", "mint", "transfer", "transfer", "transfer", "transfer checked", "transfer with fee",
	"delegate transfers", "permanent delegate burns", "burn", "close", "close wrapped", "set owner", "approve", "revoke", "freeze", "thaw", "sync native",
	"withdraw withheld", "harvest", "withdraw from mint", "reopen", "batch",
}

// tokenFee begins the instructions of transfer fees.
const tokenFee = layout.TagTransferFee

// step returns a random step.
func (w *world) step() (kind string, calls []sdk.Instruction) {
	kind = worldSteps[w.random.IntN(len(worldSteps))]
	if len(w.open) < 6 || kind == "open" {
		return "open", w.opening(w.fresh(), w.mints[w.random.IntN(len(w.mints)-1)], layout.TokenAccountSize)
	}
	switch kind {
	case "open associated":
		return kind, w.openAssociated()
	case "open wrapped":
		return kind, w.opening(w.fresh(), w.mints[len(w.mints)-1], w.random.Uint64N(1000))
	case "sync native":
		to := w.pick(w.isWrapped)
		data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, 1+w.random.Uint64N(1000))
		calls = []sdk.Instruction{call(pubkey.Key{}, data, signs(w.wallet()), writes(to)), call(tokenaccount.ProgramToken, []byte{layout.TagSyncNative}, writes(to))}
		return kind, calls
	case "reopen":
		return kind, w.reopen()
	case "batch":
		return kind, w.batch()
	}
	return kind, []sdk.Instruction{w.onAccount(kind)}
}

// onAccount is one instruction on random accounts of a mint.
func (w *world) onAccount(kind string) sdk.Instruction {
	a := w.pick(w.fits(kind))
	m, owner := w.mintOf(a), w.ownerOf(a)
	b := w.pick(func(other pubkey.Key) bool { return other != a && w.mintOf(other).key == m.key })
	amount := w.amountOf(a)
	number := func(tag ...byte) []byte { return binary.LittleEndian.AppendUint64(tag, amount) }
	switch kind {
	case "mint":
		amount = w.random.Uint64N(100_000)
		return call(m.program, number(layout.TagMintTo), writes(m.key), writes(a), signs(w.authority))
	case "transfer checked":
		return call(m.program, append(number(layout.TagTransferChecked), w.decimals(m)), writes(a), reads(m.key), writes(b), signs(owner))
	case "transfer with fee":
		data := append(number(tokenFee, layout.FeeTagTransfer), w.decimals(m))
		return call(m.program, binary.LittleEndian.AppendUint64(data, feeOf(amount)), writes(a), reads(m.key), writes(b), signs(owner))
	case "delegate transfers":
		delegate, _ := layout.ReadOption(w.held[a].Data[layout.AccountDelegateAt:])
		return call(m.program, append(number(layout.TagTransferChecked), w.decimals(m)), writes(a), reads(m.key), writes(b), signs(delegate))
	case "permanent delegate burns":
		return call(m.program, number(layout.TagBurn), writes(a), writes(m.key), signs(w.authority))
	case "burn":
		return call(m.program, number(layout.TagBurn), writes(a), writes(m.key), signs(owner))
	case "close", "close wrapped":
		return call(m.program, []byte{layout.TagCloseAccount}, writes(a), writes(w.wallet()), signs(owner))
	case "set owner":
		next := w.wallet()
		return call(m.program, layout.SetAuthority(layout.AuthorityAccountOwner, &next), writes(a), signs(owner))
	case "approve":
		to := w.wallet()
		for to == owner { // it is not told what an owner spends that is its own delegate
			to = w.wallet()
		}
		return call(m.program, number(layout.TagApprove), writes(a), reads(to), signs(owner))
	case "revoke":
		return call(m.program, []byte{layout.TagRevoke}, writes(a), signs(owner))
	case "freeze":
		return call(m.program, []byte{layout.TagFreezeAccount}, writes(a), reads(m.key), signs(w.authority))
	case "thaw":
		return call(m.program, []byte{layout.TagThawAccount}, writes(a), reads(m.key), signs(w.authority))
	case "withdraw withheld":
		return call(m.program, []byte{tokenFee, feeTagWithdrawAccounts, 1}, reads(m.key), writes(a), signs(w.authority), writes(b))
	case "harvest":
		return call(m.program, []byte{tokenFee, layout.FeeTagHarvest}, writes(m.key), writes(a), writes(b))
	case "withdraw from mint":
		return call(m.program, []byte{tokenFee, layout.FeeTagWithdraw}, writes(m.key), writes(a), signs(w.authority))
	default:
		return call(m.program, number(layout.TagTransfer), writes(a), writes(b), signs(owner))
	}
}

// feeTagWithdrawAccounts is WithdrawWithheldTokensFromAccounts (spl-token-2022,
// extension/transfer_fee/instruction.rs).
const feeTagWithdrawAccounts = 3

// feeOf is what the mint with fees withholds: 3 %, rounded up, at most 400.
func feeOf(amount uint64) uint64 { return min((amount*300+9999)/10_000, 400) }

// fits returns which accounts a step is tried on: those on which it may succeed, but for one in
// ten.
func (w *world) fits(kind string) func(pubkey.Key) bool {
	if w.random.IntN(10) == 0 {
		return func(pubkey.Key) bool { return true }
	}
	return func(a pubkey.Key) bool {
		m, data := w.mintOf(a), w.held[a].Data
		frozen := data[layout.AccountStateAt] == layout.StateFrozen
		switch kind {
		case "mint", "freeze":
			return !frozen && m.key != w.mints[len(w.mints)-1].key
		case "thaw":
			return frozen
		case "close":
			return layout.Amount(data) == 0
		case "close wrapped":
			return w.isWrapped(a)
		case "transfer with fee", "withdraw withheld", "harvest", "withdraw from mint":
			return m.fees && !frozen
		case "delegate transfers", "revoke":
			return data[layout.AccountDelegateAt] == 1 && !frozen && layout.Amount(data) > 0
		case "permanent delegate burns":
			return m.key == w.mints[4].key && layout.Amount(data) > 0
		case "transfer":
			return layout.Amount(data) > 0 && !m.fees && !frozen
		}
		return layout.Amount(data) > 0 && !frozen
	}
}

func (w *world) wallet() pubkey.Key { return w.wallets[w.random.IntN(len(w.wallets))] }

// fresh is an address that has no account yet.
func (w *world) fresh() pubkey.Key {
	w.named++
	return swaptest.Named(fmt.Sprint("account ", w.named))
}

// pick returns a random open account that is wanted, or any if none is.
func (w *world) pick(wanted func(pubkey.Key) bool) pubkey.Key {
	start := w.random.IntN(len(w.open))
	for i := range w.open {
		if a := w.open[(start+i)%len(w.open)]; wanted(a) {
			return a
		}
	}
	return w.open[start]
}

func (w *world) isWrapped(a pubkey.Key) bool { return layout.IsNative(w.held[a].Data) }

func (w *world) ownerOf(a pubkey.Key) pubkey.Key { return layout.OwnerOf(w.held[a].Data) }

func (w *world) mintOf(a pubkey.Key) *worldMint {
	key := layout.MintOf(w.held[a].Data)
	at := slices.IndexFunc(w.mints, func(m worldMint) bool { return m.key == key })
	return &w.mints[at]
}

func (w *world) decimals(m *worldMint) byte { return w.held[m.key].Data[layout.MintDecimalsAt] }

// amountOf is all that an account has, or a part of it.
func (w *world) amountOf(a pubkey.Key) uint64 {
	amount := layout.Amount(w.held[a].Data)
	if amount > 0 && w.random.IntN(3) > 0 {
		amount = 1 + w.random.Uint64N(amount)
	}
	return amount
}

// opening opens an account for a random wallet. It has more lamports than its rent.
func (w *world) opening(account pubkey.Key, m worldMint, more uint64) []sdk.Instruction {
	data := binary.LittleEndian.AppendUint64([]byte{0, 0, 0, 0}, worldRent+more)
	data = append(binary.LittleEndian.AppendUint64(data, m.size), m.program[:]...)
	owner := w.wallet()
	return []sdk.Instruction{
		call(pubkey.Key{}, data, signs(w.payer), signs(account)),
		call(m.program, append([]byte{layout.TagInitializeAccount3}, owner[:]...), writes(account), reads(m.key)),
	}
}

func (w *world) openAssociated() []sdk.Instruction {
	m, owner := w.mints[w.random.IntN(len(w.mints))], w.wallet()
	program := pubkey.MustParse(schemas.ProgramAssociatedToken)
	account, ok := tokenaccount.Derive(program, owner[:], m.program[:], m.key[:])
	require.True(w.t, ok)
	return []sdk.Instruction{call(program, []byte{1}, signs(w.payer), writes(account), reads(owner), reads(m.key), reads(pubkey.Key{}), reads(m.program))}
}

// reopen closes an empty account and opens it for another mint, in one transaction.
func (w *world) reopen() []sdk.Instruction {
	a := w.pick(func(a pubkey.Key) bool { return layout.Amount(w.held[a].Data) == 0 })
	m := w.mintOf(a)
	closed := call(m.program, []byte{layout.TagCloseAccount}, writes(a), writes(w.wallet()), signs(w.ownerOf(a)))
	return append([]sdk.Instruction{closed}, w.opening(a, w.mints[w.random.IntN(len(w.mints))], 0)...)
}

// batch packs two transfers into one instruction of p-token: for each the number of its accounts,
// the length of its data, and its data.
func (w *world) batch() []sdk.Instruction {
	a := w.pick(func(a pubkey.Key) bool {
		return w.held[a].Owner == tokenaccount.ProgramToken && layout.Amount(w.held[a].Data) > 1
	})
	b := w.pick(func(other pubkey.Key) bool { return other != a && w.mintOf(other).key == w.mintOf(a).key })
	data := []byte{layout.TagBatch}
	var metas []*sdk.AccountMeta
	for range 2 {
		one := layout.Transfer(1 + w.random.Uint64N(max(layout.Amount(w.held[a].Data)/2, 1)))
		data = append(append(data, 3, byte(len(one))), one...)
		metas = append(metas, writes(a), writes(b), signs(w.ownerOf(a)))
	}
	return []sdk.Instruction{call(tokenaccount.ProgramToken, data, metas...)}
}

func call(program pubkey.Key, data []byte, metas ...*sdk.AccountMeta) sdk.Instruction {
	return sdk.NewInstruction(sdk.PublicKey(program), metas, data)
}

func reads(key pubkey.Key) *sdk.AccountMeta  { return sdk.Meta(sdk.PublicKey(key)) }
func writes(key pubkey.Key) *sdk.AccountMeta { return sdk.Meta(sdk.PublicKey(key)).WRITE() }
func signs(key pubkey.Key) *sdk.AccountMeta  { return sdk.Meta(sdk.PublicKey(key)).WRITE().SIGNER() }
