package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// tokenApprove sets a delegate and the amount it may move (accounts: source, delegate, owner), or
// removes both (source, owner).
func tokenApprove(x *machine, f *frame, approve bool, body []byte) error {
	x.used += 120
	n := 2
	if approve {
		n = 3
		if len(body) < 8 {
			return fail(ErrInvalidInstructionData)
		}
	}
	if err := f.need(n); err != nil {
		return err
	}
	src, auth := f.accs[0], f.accs[n-1]
	if err := tokenAccount(x, f, src); err != nil {
		return err
	}
	if x.acc(src).Data[layout.AccountStateAt] == layout.StateFrozen {
		return failCustom(tokFrozen)
	}
	if layout.OwnerOf(x.acc(src).Data) != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if !approve {
		noDelegate(x, src)
		return nil
	}
	x.setOption(src, layout.AccountDelegateAt, x.key(f.accs[1]), true)
	copy(x.mutable(src).Data[layout.AccountDelegatedAmountAt:], body[:8])
	return nil
}

// noDelegate lets nobody but the owner spend.
func noDelegate(x *machine, account ref) {
	x.setOption(account, layout.AccountDelegateAt, Key{}, false)
	binary.LittleEndian.PutUint64(x.mutable(account).Data[layout.AccountDelegatedAmountAt:], 0)
}

// tokenSpend checks that the delegate or the owner signs, and lowers what the delegate may spend if
// moves says that the account loses the amount. A delegate that spent all is none anymore.
func tokenSpend(x *machine, account, auth ref, amount uint64, moves bool) error {
	d := x.acc(account).Data
	delegate, any := layout.ReadOption(d[layout.AccountDelegateAt:])
	isDelegate := any && delegate == x.key(auth)
	if !isDelegate && layout.OwnerOf(d) != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if !isDelegate {
		return nil
	}
	left := binary.LittleEndian.Uint64(d[layout.AccountDelegatedAmountAt:])
	switch {
	case left < amount:
		return failCustom(tokInsufficientFunds)
	case moves && left == amount:
		noDelegate(x, account)
	case moves:
		binary.LittleEndian.PutUint64(x.mutable(account).Data[layout.AccountDelegatedAmountAt:], left-amount)
	}
	return nil
}

// tokenWithdrawExcess moves the lamports above rent of a mint or a non-native account. Accounts:
// source, destination, authority.
func tokenWithdrawExcess(x *machine, f *frame) error {
	x.used += 260
	if err := f.need(3); err != nil {
		return err
	}
	src, dst, auth := f.accs[0], f.accs[1], f.accs[2]
	a := x.acc(src)
	if a.Owner != f.p.id {
		return fail(ErrIncorrectProgramID)
	}
	var want Key
	switch {
	case layout.IsMint(a.Data):
		k, ok := layout.ReadOption(a.Data)
		if want = k; !ok {
			want = x.key(src) // a mint without authority must sign itself
		}
	case layout.IsTokenAccount(a.Data):
		if layout.IsNative(a.Data) {
			return failCustom(tokNativeNotSupported)
		}
		want = layout.OwnerOf(a.Data)
	default:
		return failCustom(tokInvalidState)
	}
	if want != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	rent := RentExempt(len(a.Data))
	if a.Lamports < rent {
		return failCustom(tokNotRentExempt)
	}
	moveLamports(x, src, dst, a.Lamports-rent)
	return nil
}

// tokenUnwrap pays wrapped SOL out of an account that stays open: an amount, or all of it.
// Accounts: source, destination, owner.
func tokenUnwrap(x *machine, f *frame, body []byte) error {
	x.used += 140
	if err := f.need(3); err != nil {
		return err
	}
	src, dst, auth := f.accs[0], f.accs[1], f.accs[2]
	if len(body) == 0 || body[0] > 1 || body[0] == 1 && len(body) < 9 {
		return fail(ErrInvalidInstructionData)
	}
	if err := tokenAccount(x, f, src); err != nil {
		return err
	}
	d := x.acc(src).Data
	if !layout.IsNative(d) {
		return failCustom(tokNonNative)
	}
	amount := layout.Amount(d)
	if body[0] == 1 {
		n := binary.LittleEndian.Uint64(body[1:])
		if n > amount {
			return failCustom(tokInsufficientFunds)
		}
		amount = n
	}
	if err := tokenSpend(x, src, auth, amount, true); err != nil {
		return err
	}
	if amount == 0 || src.idx == dst.idx {
		return nil
	}
	layout.SetAmount(x.mutable(src).Data, layout.Amount(d)-amount)
	moveLamports(x, src, dst, amount)
	return nil
}
