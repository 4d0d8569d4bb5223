package chain

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/mintlake/mintlake/testworld/layout"
)

func base64Std(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// tokenSupply runs MintTo, MintToChecked (accounts: mint, account, authority) and Burn, BurnChecked
// (account, mint, authority).
func tokenSupply(x *machine, f *frame, mintTo, checked bool, body []byte) error {
	x.used += 130
	if len(body) < 8 || checked && len(body) < 9 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(3); err != nil {
		return err
	}
	mint, dst, auth := f.accs[0], f.accs[1], f.accs[2]
	if !mintTo {
		mint, dst = dst, mint
	}
	amount := binary.LittleEndian.Uint64(body)
	if err := tokenAccount(x, f, dst); err != nil {
		return err
	}
	if x.acc(mint).Owner != f.p.id || !layout.IsMint(x.acc(mint).Data) {
		return fail(ErrInvalidAccountData)
	}
	if err := supplyChecks(x, mint, dst, amount, mintTo); err != nil {
		return err
	}
	if !mintTo && !freelyBurnt(x.acc(mint).Data) {
		return failCustom(tokInvalidInstr)
	}
	if checked && x.acc(mint).Data[layout.MintDecimalsAt] != body[8] {
		return failCustom(tokDecimalsMismatch)
	}
	if mintTo {
		if err := mintingAuthority(x, mint, auth); err != nil {
			return err
		}
	} else if err := tokenSpend(x, dst, auth, amount, true); err != nil {
		return err
	}
	md, dd := x.mutable(mint).Data, x.mutable(dst).Data
	if mintTo {
		layout.SetSupply(md, layout.Supply(md)+amount)
		layout.SetAmount(dd, layout.Amount(dd)+amount)
		return nil
	}
	layout.SetSupply(md, layout.Supply(md)-amount)
	layout.SetAmount(dd, layout.Amount(dd)-amount)
	return nil
}

// supplyChecks checks the account that an amount is minted to or burnt from.
func supplyChecks(x *machine, mint, dst ref, amount uint64, mintTo bool) error {
	d := x.acc(dst).Data
	if d[layout.AccountStateAt] == layout.StateFrozen {
		return failCustom(tokFrozen)
	}
	if layout.IsNative(d) {
		return failCustom(tokNativeNotSupported)
	}
	if layout.MintOf(d) != x.key(mint) {
		return failCustom(tokMintMismatch)
	}
	if !mintTo && layout.Amount(d) < amount {
		return failCustom(tokInsufficientFunds)
	}
	if mintTo && layout.Supply(x.acc(mint).Data) > math.MaxUint64-amount {
		return failCustom(tokOverflow)
	}
	return nil
}

// mintingAuthority checks that the mint authority signs.
func mintingAuthority(x *machine, mint, auth ref) error {
	want, ok := layout.ReadOption(x.acc(mint).Data)
	if !ok {
		return failCustom(tokFixedSupply)
	}
	if want != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	return nil
}

// tokenSetAuthority changes a mint's or an account's authority. Accounts: owned account, current
// authority.
func tokenSetAuthority(x *machine, f *frame, body []byte) error {
	x.used += 140
	if len(body) < 2 || body[1] == 1 && len(body) < 34 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	r, auth := f.accs[0], f.accs[1]
	if x.acc(r).Owner != f.p.id {
		return fail(ErrIncorrectProgramID)
	}
	var next Key
	some := body[1] == 1
	if some {
		copy(next[:], body[2:34])
	}
	if layout.IsMint(x.acc(r).Data) {
		return mintAuthority(x, r, auth, body[0], next, some)
	}
	if err := tokenAccount(x, f, r); err != nil {
		return err
	}
	if body[0] != layout.AuthorityAccountOwner && body[0] != layout.AuthorityClose {
		return failCustom(tokInvalidInstr)
	}
	if layout.OwnerOf(x.acc(r).Data) != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if body[0] == layout.AuthorityClose {
		x.setOption(r, layout.AccountCloseAuthorityAt, next, some)
		return nil
	}
	if !some {
		return failCustom(tokInvalidInstr)
	}
	copy(x.mutable(r).Data[layout.AccountOwnerAt:], next[:])
	noDelegate(x, r)
	return nil
}

// mintAuthority changes the mint or freeze authority of a mint to next, or to none unless some.
func mintAuthority(x *machine, r, auth ref, kind byte, next Key, some bool) error {
	at, none := 0, uint32(tokFixedSupply)
	switch kind {
	case layout.AuthorityMint:
	case layout.AuthorityFreeze:
		at, none = layout.MintFreezeAt, tokMintCannotFreeze
	default:
		return failCustom(tokInvalidInstr)
	}
	cur, ok := layout.ReadOption(x.acc(r).Data[at:])
	if !ok {
		return failCustom(none)
	}
	if cur != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	x.setOption(r, at, next, some)
	return nil
}

// setOption writes an optional authority. To clear one, SPL Token clears the tag only, Token-2022
// the key too.
func (x *machine) setOption(r ref, at int, k Key, ok bool) {
	a := x.mutable(r)
	layout.SetOption(a.Data[at:], k, ok)
	if !ok && a.Owner == Token2022Program {
		clear(a.Data[at+4 : at+36])
	}
}

// tokenClose closes an empty or native account and moves its lamports to the destination. Accounts:
// account, destination, owner.
func tokenClose(x *machine, f *frame) error {
	x.used += 120
	if err := f.need(3); err != nil {
		return err
	}
	r, dst, auth := f.accs[0], f.accs[1], f.accs[2]
	if err := tokenAccount(x, f, r); err != nil {
		return err
	}
	d := x.acc(r).Data
	if !layout.IsNative(d) && layout.Amount(d) != 0 {
		return failCustom(tokNonNativeBalance)
	}
	if layout.OwnerOf(d) != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if w := withheld(d); w != nil && binary.LittleEndian.Uint64(w) > 0 {
		return failCustom(tokHasWithheld)
	}
	moveLamports(x, r, dst, x.acc(r).Lamports)
	a := &x.accs[r.idx]
	a.cur.Owner, a.cur.Data, a.owned = SystemProgram, nil, true
	return nil
}

// tokenFreeze freezes or thaws. Accounts: account, mint, freeze authority.
func tokenFreeze(x *machine, f *frame, freeze bool) error {
	x.used += 130
	if err := f.need(3); err != nil {
		return err
	}
	r, mint, auth := f.accs[0], f.accs[1], f.accs[2]
	if err := tokenAccount(x, f, r); err != nil {
		return err
	}
	if (x.acc(r).Data[layout.AccountStateAt] == layout.StateFrozen) == freeze {
		return failCustom(tokInvalidState)
	}
	if layout.MintOf(x.acc(r).Data) != x.key(mint) {
		return failCustom(tokMintMismatch)
	}
	k, ok := layout.ReadOption(x.acc(mint).Data[layout.MintFreezeAt:])
	if !ok {
		return failCustom(tokMintCannotFreeze)
	}
	if k != x.key(auth) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	st := byte(layout.StateInitialized)
	if freeze {
		st = layout.StateFrozen
	}
	x.mutable(r).Data[layout.AccountStateAt] = st
	return nil
}

// tokenSyncNative sets a native account's amount to its lamports above rent.
func tokenSyncNative(x *machine, f *frame) error {
	x.used += 60
	if err := f.need(1); err != nil {
		return err
	}
	r := f.accs[0]
	if err := tokenAccount(x, f, r); err != nil {
		return err
	}
	d := x.acc(r).Data
	if !layout.IsNative(d) {
		return failCustom(tokNonNative)
	}
	reserve := binary.LittleEndian.Uint64(d[layout.AccountReserveAt:])
	if x.acc(r).Lamports < reserve {
		return failCustom(tokInvalidState)
	}
	layout.SetAmount(x.mutable(r).Data, x.acc(r).Lamports-reserve)
	return nil
}
