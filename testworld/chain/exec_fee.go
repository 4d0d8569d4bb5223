package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Token-2022's transfer fee extension (spl-token-2022, extension/transfer_fee): the denominator of
// rates, and errors.
const (
	feeDenominator = 10_000

	tokHasWithheld     = 35
	tokFeeMismatch     = 32
	tokMintRequired    = 31
	tokFeeExceedsLimit = 30
)

// feeConfig returns the transfer fee extension of a mint; nil if it has none.
func feeConfig(mint []byte) []byte {
	if len(mint) <= layout.TokenAccountSize || mint[layout.TokenAccountSize] != layout.TypeMint {
		return nil
	}
	at, n := layout.Extension(mint, layout.ExtTransferFeeConfig)
	if at < 0 || n != layout.FeeConfigSize {
		return nil
	}
	return mint[at : at+n]
}

// TransferFee returns what a Token-2022 mint withholds from a transfer in an epoch:
// ⌈amount·bps/10000⌉, at most the maximum; 0 for other mints.
func TransferFee(mint []byte, epoch, amount uint64) uint64 {
	c := feeConfig(mint)
	if c == nil || amount == 0 {
		return 0
	}
	rate := c[layout.FeeOlderAt:]
	if epoch >= binary.LittleEndian.Uint64(c[layout.FeeNewerAt:]) {
		rate = c[layout.FeeNewerAt:]
	}
	maximum, bps := binary.LittleEndian.Uint64(rate[8:]), uint64(binary.LittleEndian.Uint16(rate[16:]))
	hi, lo := bits.Mul64(amount, bps)
	q, rem := bits.Div64(hi, lo, feeDenominator)
	if rem > 0 {
		q++
	}
	return min(q, maximum)
}

// InverseTransferFee returns the fee to add to an amount so that the whole amount arrives
// (calculate_inverse_epoch_fee).
func InverseTransferFee(mint []byte, epoch, after uint64) uint64 {
	c := feeConfig(mint)
	if c == nil || after == 0 {
		return 0
	}
	rate := c[layout.FeeOlderAt:]
	if epoch >= binary.LittleEndian.Uint64(c[layout.FeeNewerAt:]) {
		rate = c[layout.FeeNewerAt:]
	}
	maximum, bps := binary.LittleEndian.Uint64(rate[8:]), uint64(binary.LittleEndian.Uint16(rate[16:]))
	if bps >= feeDenominator {
		return maximum
	}
	hi, lo := bits.Mul64(after, feeDenominator)
	pre, rem := bits.Div64(hi, lo, feeDenominator-bps)
	if rem > 0 {
		pre++
	}
	if pre-after >= maximum {
		return maximum
	}
	return TransferFee(mint, epoch, pre)
}

// token22Fee runs instruction 26, TransferFeeExtension. Its second byte says which: 0 initialize, 1
// transfer with the fee stated, 2 withdraw from the mint, 4 harvest.
func token22Fee(x *machine, f *frame) error {
	if len(f.data) < 2 {
		return fail(ErrInvalidInstructionData)
	}
	body := f.data[2:]
	switch f.data[1] {
	case layout.FeeTagInitialize:
		x.log("Program log: TransferFeeInstruction: InitializeTransferFeeConfig")
		return feeInitialize(x, f, body)
	case layout.FeeTagTransfer:
		x.log("Program log: TransferFeeInstruction: TransferCheckedWithFee")
		if len(body) < 17 {
			return fail(ErrInvalidInstructionData)
		}
		fee := binary.LittleEndian.Uint64(body[9:])
		return tokenTransfer(x, f, true, body, &fee)
	case layout.FeeTagWithdraw:
		x.log("Program log: TransferFeeInstruction: WithdrawWithheldTokensFromMint")
		return feeWithdraw(x, f)
	case layout.FeeTagHarvest:
		x.log("Program log: TransferFeeInstruction: HarvestWithheldTokensToMint")
		return feeHarvest(x, f)
	}
	return fail(ErrInvalidInstructionData)
}

// feeInitialize runs InitializeTransferFeeConfig: the older and the newer fee start out the same.
func feeInitialize(x *machine, f *frame, body []byte) error {
	r := layout.Reader{Rest: body}
	option := func() (k Key) {
		if r.U8() == 1 {
			k = r.Key()
		}
		return k
	}
	authority, withdraw := option(), option()
	bps := r.U16()
	maximum := r.Take(8)
	if r.Bad || f.need(1) != nil {
		return fail(ErrInvalidInstructionData)
	}
	if bps > feeDenominator {
		return failCustom(tokFeeExceedsLimit)
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) <= layout.TokenAccountSize || a.Data[layout.MintInitializedAt] != 0 || layout.ExtensionsEnd(a.Data)+4+layout.FeeConfigSize > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	fee := layout.TransferFee{ConfigAuthority: authority, WithdrawAuthority: withdraw, Older: x.epoch, Newer: x.epoch, BasisPoints: bps,
		Maximum: binary.LittleEndian.Uint64(maximum)}
	d := x.mutable(f.accs[0]).Data
	layout.PutExtension(d, layout.ExtensionsEnd(d), layout.ExtTransferFeeConfig, fee.Bytes())
	d[layout.TokenAccountSize] = layout.TypeMint
	return nil
}

// withheld returns the counter of the fees that an account keeps back; nil if it has none.
func withheld(d []byte) []byte {
	if len(d) <= layout.TokenAccountSize || d[layout.TokenAccountSize] != layout.TypeAccount {
		return nil
	}
	at, n := layout.Extension(d, layout.ExtTransferFeeAmount)
	if at < 0 || n != 8 {
		return nil
	}
	return d[at : at+n]
}

// feeHarvest moves withheld fees of any number of accounts to the mint. It skips accounts that are
// not token accounts of the mint.
func feeHarvest(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	mint := f.accs[0]
	if x.acc(mint).Owner != Token2022Program || feeConfig(x.acc(mint).Data) == nil {
		return fail(ErrInvalidAccountData)
	}
	for _, r := range f.accs[1:] {
		a := x.acc(r)
		if r.idx == mint.idx || a.Owner != Token2022Program || !layout.IsTokenAccount(a.Data) || layout.MintOf(a.Data) != x.key(mint) || withheld(a.Data) == nil {
			continue
		}
		w := withheld(x.mutable(r).Data)
		addU64(feeConfig(x.mutable(mint).Data)[layout.FeeWithheldAt:], binary.LittleEndian.Uint64(w))
		clear(w)
	}
	return nil
}

// feeWithdraw pays the mint's withheld fees to an account. Accounts: mint, destination, withdraw
// authority.
func feeWithdraw(x *machine, f *frame) error {
	if err := f.need(3); err != nil {
		return err
	}
	mint, dst, auth := f.accs[0], f.accs[1], f.accs[2]
	c := feeConfig(x.acc(mint).Data)
	if x.acc(mint).Owner != Token2022Program || c == nil {
		return fail(ErrInvalidAccountData)
	}
	if k := x.key(auth); string(c[32:64]) != string(k[:]) {
		return failCustom(tokOwnerMismatch)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if err := tokenAccount(x, f, dst); err != nil {
		return err
	}
	if layout.MintOf(x.acc(dst).Data) != x.key(mint) {
		return failCustom(tokMintMismatch)
	}
	if x.acc(dst).Data[layout.AccountStateAt] == layout.StateFrozen {
		return failCustom(tokFrozen)
	}
	w := feeConfig(x.mutable(mint).Data)[layout.FeeWithheldAt : layout.FeeWithheldAt+8]
	d := x.mutable(dst).Data
	layout.SetAmount(d, layout.Amount(d)+binary.LittleEndian.Uint64(w))
	clear(w)
	return nil
}

// mintCloseInitialize runs instruction 25, which sets who may close the mint.
func mintCloseInitialize(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializeMintCloseAuthority")
	r := layout.Reader{Rest: f.data[1:]}
	var k Key
	if r.U8() == 1 {
		k = r.Key()
	}
	if r.Bad || f.need(1) != nil {
		return fail(ErrInvalidInstructionData)
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) <= layout.TokenAccountSize || a.Data[layout.MintInitializedAt] != 0 || layout.ExtensionsEnd(a.Data)+4+32 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(f.accs[0]).Data
	layout.PutExtension(d, layout.ExtensionsEnd(d), layout.ExtMintClose, k[:])
	d[layout.TokenAccountSize] = layout.TypeMint
	return nil
}
