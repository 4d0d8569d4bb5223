package chain

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Token program error codes (spl-token, error.rs).
const (
	tokNotRentExempt      = 0
	tokInsufficientFunds  = 1
	tokInvalidMint        = 2
	tokMintMismatch       = 3
	tokOwnerMismatch      = 4
	tokFixedSupply        = 5
	tokAlreadyInUse       = 6
	tokUninitialized      = 9
	tokNativeNotSupported = 10
	tokNonNativeBalance   = 11
	tokInvalidInstr       = 12
	tokInvalidState       = 13
	tokOverflow           = 14
	tokNoSuchAuthority    = 15
	tokMintCannotFreeze   = 16
	tokFrozen             = 17
	tokDecimalsMismatch   = 18
	tokNonNative          = 19
	tokNonTransferable    = 37
	tokInvalidScale       = 66
)

// runToken runs SPL Token (as p-token does: without logs) and, for the Token-2022 program, its
// extensions.
func runToken(x *machine, f *frame) error {
	if len(f.data) == 0 {
		return fail(ErrInvalidInstructionData)
	}
	if f.p.id == Token2022Program {
		return runToken2022(x, f)
	}
	if f.data[0] == layout.TagBatch {
		return tokenBatch(x, f)
	}
	return tokenBase(x, f, f.data[0], f.data[1:])
}

// tokenBatch runs p-token's instruction 255: (accounts u8, length u8, instruction)* over the
// frame's accounts in order.
func tokenBatch(x *machine, f *frame) error {
	data, accs := f.data[1:], f.accs
	if len(data) == 0 {
		return fail(ErrInvalidInstructionData)
	}
	for len(data) > 0 {
		if len(data) < 2 || len(data) < 2+int(data[1]) || data[1] == 0 || int(data[0]) > len(accs) {
			return fail(ErrInvalidInstructionData)
		}
		n, body := int(data[0]), data[2:2+int(data[1])]
		if body[0] == layout.TagBatch {
			return fail(ErrInvalidInstructionData)
		}
		sub := *f
		sub.accs, sub.data = accs[:n], body
		if err := tokenBase(x, &sub, body[0], body[1:]); err != nil {
			return err
		}
		data, accs = data[2+len(body):], accs[n:]
	}
	return nil
}

// tokenBase runs the instructions that SPL Token and Token-2022 have in common.
func tokenBase(x *machine, f *frame, tag byte, body []byte) error {
	switch tag {
	case layout.TagInitializeMint, layout.TagInitializeMint2:
		return tokenInitMint(x, f, body)
	case layout.TagInitializeAccount3:
		return tokenInitAccount(x, f, body)
	case layout.TagImmutableOwner:
		x.used += 60
		return nil // InitializeImmutableOwner does nothing in SPL Token
	case layout.TagAccountDataSize:
		x.used += 100
		if err := f.need(1); err != nil {
			return err
		}
		x.returnData(f, binary.LittleEndian.AppendUint64(nil, layout.TokenAccountSize))
		return nil
	case layout.TagTransfer, layout.TagTransferChecked:
		return tokenTransfer(x, f, tag == layout.TagTransferChecked, body, nil)
	case layout.TagMintTo, layout.TagMintToChecked, layout.TagBurn, layout.TagBurnChecked:
		return tokenSupply(x, f, tag == layout.TagMintTo || tag == layout.TagMintToChecked, tag >= layout.TagMintToChecked, body)
	case layout.TagSetAuthority:
		return tokenSetAuthority(x, f, body)
	case layout.TagCloseAccount:
		return tokenClose(x, f)
	case layout.TagFreezeAccount, layout.TagThawAccount:
		return tokenFreeze(x, f, tag == layout.TagFreezeAccount)
	case layout.TagSyncNative:
		return tokenSyncNative(x, f)
	case layout.TagApprove, layout.TagRevoke:
		return tokenApprove(x, f, tag == layout.TagApprove, body)
	case layout.TagWithdrawExcess:
		return tokenWithdrawExcess(x, f)
	case layout.TagUnwrap:
		return tokenUnwrap(x, f, body)
	}
	return fail(ErrInvalidInstructionData)
}

func (x *machine) returnData(f *frame, b []byte) {
	x.meta.ReturnProgram, x.meta.ReturnData = f.p.id, b
	x.log("Program return: " + f.p.id.String() + " " + base64Std(b))
}

// tokenInitMint runs InitializeMint. Data: decimals, mint authority, and the freeze authority as an
// option.
func tokenInitMint(x *machine, f *frame, body []byte) error {
	x.used += 120
	if len(body) < 34 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(1); err != nil {
		return err
	}
	r := f.accs[0]
	a := x.acc(r)
	if a.Owner != f.p.id || len(a.Data) < layout.MintSize {
		return fail(ErrInvalidAccountData)
	}
	if a.Data[layout.MintInitializedAt] != 0 {
		return failCustom(tokAlreadyInUse)
	}
	if a.Lamports < RentExempt(len(a.Data)) {
		return failCustom(tokNotRentExempt)
	}
	d := x.mutable(r).Data
	layout.SetOption(d, Key(body[1:33]), true)
	d[layout.MintDecimalsAt], d[layout.MintInitializedAt] = body[0], 1
	if body[33] == 1 {
		if len(body) < 66 {
			return fail(ErrInvalidInstructionData)
		}
		layout.SetOption(d[layout.MintFreezeAt:], Key(body[34:66]), true)
	}
	if len(d) > layout.TokenAccountSize {
		d[layout.TokenAccountSize] = layout.TypeMint
	}
	return nil
}

// tokenInitAccount runs InitializeAccount3. Data: the owner. An account of the native mint starts
// with the lamports above its rent as its amount. Extensions of the mint may demand some of the
// account, and say that it begins frozen.
func tokenInitAccount(x *machine, f *frame, body []byte) error {
	x.used += 230
	if len(body) < 32 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	r, m := f.accs[0], f.accs[1]
	if x.acc(r).Owner != f.p.id || len(x.acc(r).Data) < layout.TokenAccountSize {
		return fail(ErrInvalidAccountData)
	}
	if x.acc(r).Data[layout.AccountStateAt] != 0 {
		return failCustom(tokAlreadyInUse)
	}
	if !layout.IsMint(x.acc(m).Data) || x.acc(m).Owner != f.p.id {
		return failCustom(tokInvalidMint)
	}
	if x.acc(r).Lamports < RentExempt(len(x.acc(r).Data)) {
		return failCustom(tokNotRentExempt)
	}
	a := x.mutable(r)
	k := x.key(m)
	copy(a.Data[:32], k[:])
	copy(a.Data[32:64], body[:32])
	a.Data[layout.AccountStateAt] = firstState(x.acc(m).Data)
	if k == NativeMint {
		rent := RentExempt(len(a.Data))
		layout.SetNative(a.Data, rent)
		layout.SetAmount(a.Data, a.Lamports-rent)
	}
	if len(a.Data) > layout.TokenAccountSize {
		a.Data[layout.TokenAccountSize] = layout.TypeAccount
	}
	return extendAccount(a.Data, x.acc(m).Data)
}

// tokenAccount checks that r is an initialized token account of this program.
func tokenAccount(x *machine, f *frame, r ref) error {
	// p-token looks at the length alone: the owner is the runtime's to check.
	if f.p.id == TokenProgram && len(x.acc(r).Data) != layout.TokenAccountSize {
		return fail(ErrInvalidAccountData)
	}
	if x.acc(r).Owner != f.p.id {
		return fail(ErrIncorrectProgramID)
	}
	if len(x.acc(r).Data) < layout.TokenAccountSize || !layout.IsTokenAccount(x.acc(r).Data) {
		return fail(ErrUninitializedAccount)
	}
	return nil
}

// tokenTransfer runs Transfer, TransferChecked and, if stated is set, Token-2022's
// TransferCheckedWithFee.
func tokenTransfer(x *machine, f *frame, checked bool, body []byte, stated *uint64) error {
	x.used += 80
	n := 3
	if checked {
		n = 4
		x.used += 30
	}
	if len(body) < 8 || checked && len(body) < 9 {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(n); err != nil {
		return err
	}
	src, dst, auth := f.accs[0], f.accs[n-2], f.accs[n-1]
	amount := binary.LittleEndian.Uint64(body)
	if err := tokenAccount(x, f, src); err != nil {
		return err
	}
	if err := tokenAccount(x, f, dst); err != nil {
		return err
	}
	s := x.acc(src).Data
	if err := transferChecks(x, f, s, x.acc(dst).Data, amount, checked, body); err != nil {
		return err
	}
	if err := tokenSpend(x, src, auth, amount, src.idx != dst.idx); err != nil {
		return err
	}
	fee := uint64(0)
	if checked {
		fee = TransferFee(x.acc(f.accs[1]).Data, x.epoch, amount)
	} else if withheld(s) != nil {
		return failCustom(tokMintRequired)
	}
	if stated != nil && *stated != fee {
		return failCustom(tokFeeMismatch)
	}
	if src.idx == dst.idx || amount == 0 {
		return nil
	}
	sd, dd := x.mutable(src), x.mutable(dst)
	layout.SetAmount(sd.Data, layout.Amount(sd.Data)-amount)
	layout.SetAmount(dd.Data, layout.Amount(dd.Data)+amount-fee)
	if w := withheld(dd.Data); fee > 0 && w != nil {
		addU64(w, fee)
	}
	if layout.IsNative(sd.Data) {
		moveLamports(x, src, dst, amount)
	}
	return nil
}

// transferChecks checks a transfer's two accounts, whose data is s and d. A checked transfer must
// also name the mint and its decimals.
func transferChecks(x *machine, f *frame, s, d []byte, amount uint64, checked bool, body []byte) error {
	if s[layout.AccountStateAt] == layout.StateFrozen || d[layout.AccountStateAt] == layout.StateFrozen {
		return failCustom(tokFrozen)
	}
	if layout.Amount(s) < amount {
		return failCustom(tokInsufficientFunds)
	}
	if layout.MintOf(s) != layout.MintOf(d) {
		return failCustom(tokMintMismatch)
	}
	if at, _ := layout.Extension(s, layout.ExtNonTransferableAccount); at >= 0 {
		return failCustom(tokNonTransferable)
	}
	if checked {
		m := f.accs[1]
		if layout.MintOf(s) != x.key(m) {
			return failCustom(tokMintMismatch)
		}
		if len(x.acc(m).Data) < layout.MintSize || x.acc(m).Data[layout.MintDecimalsAt] != body[8] {
			return failCustom(tokDecimalsMismatch)
		}
	}
	return nil
}
