package chain

import (
	"encoding/binary"
	"math/bits"
)

// Token-2022's transfer fee extension (spl-token-2022, extension/transfer_fee): type numbers,
// sizes, offsets inside the mint's value and errors.
const (
	extTransferFeeConfig = 1
	extTransferFeeAmount = 2
	extMintClose         = 3
	feeConfigSize        = 108
	feeWithheldAt        = 64
	feeOlderAt           = 72
	feeNewerAt           = 90
	feeDenominator       = 10_000

	tokHasWithheld     = 35
	tokFeeMismatch     = 30
	tokMintRequired    = 31
	tokFeeExceedsLimit = 29
)

// feeConfig returns the transfer fee extension of a mint; nil if it has none.
func feeConfig(mint []byte) []byte {
	if len(mint) <= accountSize || mint[accountSize] != typeMint {
		return nil
	}
	at, n := tlv(mint, extTransferFeeConfig)
	if at < 0 || n != feeConfigSize {
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
	rate := c[feeOlderAt:]
	if epoch >= binary.LittleEndian.Uint64(c[feeNewerAt:]) {
		rate = c[feeNewerAt:]
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
	rate := c[feeOlderAt:]
	if epoch >= binary.LittleEndian.Uint64(c[feeNewerAt:]) {
		rate = c[feeNewerAt:]
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
	case feeTagInitialize:
		x.log("Program log: TransferFeeInstruction: InitializeTransferFeeConfig")
		return feeInitialize(x, f, body)
	case feeTagTransfer:
		x.log("Program log: TransferFeeInstruction: TransferCheckedWithFee")
		if len(body) < 17 {
			return fail(ErrInvalidInstructionData)
		}
		fee := binary.LittleEndian.Uint64(body[9:])
		return tokenTransfer(x, f, true, body, &fee)
	case feeTagWithdraw:
		x.log("Program log: TransferFeeInstruction: WithdrawWithheldTokensFromMint")
		return feeWithdraw(x, f)
	case feeTagHarvest:
		x.log("Program log: TransferFeeInstruction: HarvestWithheldTokensToMint")
		return feeHarvest(x, f)
	}
	return fail(ErrInvalidInstructionData)
}

// feeInitialize runs InitializeTransferFeeConfig: the older and the newer fee start out the same.
func feeInitialize(x *machine, f *frame, body []byte) error {
	r := reader{b: body}
	option := func() (k Key) {
		if r.u8() == 1 {
			k = r.key()
		}
		return k
	}
	authority, withdraw := option(), option()
	bps := r.u16()
	maximum := r.take(8)
	if r.bad || f.need(1) != nil {
		return fail(ErrInvalidInstructionData)
	}
	if bps > feeDenominator {
		return failCustom(tokFeeExceedsLimit)
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) <= accountSize || a.Data[mintInitializedAt] != 0 || tlvEnd(a.Data)+4+feeConfigSize > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	v := make([]byte, 0, feeConfigSize)
	v = append(append(v, authority[:]...), withdraw[:]...)
	v = appendU64(v, 0)
	for range 2 {
		v = append(appendU64(v, x.epoch), maximum...)
		v = binary.LittleEndian.AppendUint16(v, bps)
	}
	d := x.mutable(f.accs[0]).Data
	putTLV(d, tlvEnd(d), extTransferFeeConfig, v)
	d[accountSize] = typeMint
	return nil
}

// withheld returns the counter of the fees that an account keeps back; nil if it has none.
func withheld(d []byte) []byte {
	if len(d) <= accountSize || d[accountSize] != typeAccount {
		return nil
	}
	at, n := tlv(d, extTransferFeeAmount)
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
		if r.idx == mint.idx || a.Owner != Token2022Program || !isTokenAccount(a.Data) || tokenMint(a.Data) != x.key(mint) || withheld(a.Data) == nil {
			continue
		}
		w := withheld(x.mutable(r).Data)
		addU64(feeConfig(x.mutable(mint).Data)[feeWithheldAt:], binary.LittleEndian.Uint64(w))
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
	if tokenMint(x.acc(dst).Data) != x.key(mint) {
		return failCustom(tokMintMismatch)
	}
	if x.acc(dst).Data[accountStateAt] == stateFrozen {
		return failCustom(tokFrozen)
	}
	w := feeConfig(x.mutable(mint).Data)[feeWithheldAt : feeWithheldAt+8]
	d := x.mutable(dst).Data
	setTokenAmount(d, tokenAmount(d)+binary.LittleEndian.Uint64(w))
	clear(w)
	return nil
}

// mintCloseInitialize runs instruction 25, which sets who may close the mint.
func mintCloseInitialize(x *machine, f *frame) error {
	x.log("Program log: Instruction: InitializeMintCloseAuthority")
	r := reader{b: f.data[1:]}
	var k Key
	if r.u8() == 1 {
		k = r.key()
	}
	if r.bad || f.need(1) != nil {
		return fail(ErrInvalidInstructionData)
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) <= accountSize || a.Data[mintInitializedAt] != 0 || tlvEnd(a.Data)+4+32 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(f.accs[0]).Data
	putTLV(d, tlvEnd(d), extMintClose, k[:])
	d[accountSize] = typeMint
	return nil
}

// accountExtensions returns how many bytes a mint's extensions add to its token accounts: the
// counter of withheld fees.
func accountExtensions(mint []byte) int {
	if feeConfig(mint) != nil {
		return 4 + 8
	}
	return 0
}
