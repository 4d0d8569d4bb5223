package chain

import (
	"github.com/mintlake/mintlake/testworld/layout"
)

// Metaplex Token Metadata: instruction numbers, and the fee that creating an account costs.
const (
	mplUpdateV2  = 15
	mplCreateV3  = 33
	mplCreateFee = 10_000_000
)

// Metaplex error codes (mpl-token-metadata, error.rs).
const (
	mplInvalidMetadataKey       = 5
	mplUpdateAuthorityIncorrect = 7
	mplNameTooLong              = 11
	mplSymbolTooLong            = 12
	mplURITooLong               = 13
	mplInvalidMintAuthority     = 15
	mplDataImmutable            = 59
)

// checkMetaplex refuses texts for which an account has no room.
func checkMetaplex(d *layout.MetaplexData) error {
	switch {
	case len(d.Name) > layout.MetaplexNameLen:
		return failCustom(mplNameTooLong)
	case len(d.Symbol) > layout.MetaplexSymbolLen:
		return failCustom(mplSymbolTooLong)
	case len(d.URI) > layout.MetaplexURILen:
		return failCustom(mplURITooLong)
	}
	return nil
}

func runMetaplex(x *machine, f *frame) error {
	x.used += 9000
	if len(f.data) == 0 {
		return fail(ErrInvalidInstructionData)
	}
	r := &layout.Reader{Rest: f.data[1:]}
	switch f.data[0] {
	case mplCreateV3:
		x.log("Program log: IX: Create Metadata Accounts v3")
		return metaplexCreate(x, f, r)
	case mplUpdateV2:
		x.log("Program log: IX: Update Metadata Accounts v2")
		return metaplexUpdate(x, f, r)
	}
	return fail(ErrInvalidInstructionData)
}

// metaplexCreate runs CreateMetadataAccountV3. Accounts: metadata, mint, mint authority, payer,
// update authority, system program, (rent).
func metaplexCreate(x *machine, f *frame, r *layout.Reader) error {
	d := r.MetaplexData()
	mutable := r.U8() == 1
	if r.Bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(6); err != nil {
		return err
	}
	meta, mint, auth, payer := f.accs[0], f.accs[1], f.accs[2], f.accs[3]
	if !layout.IsMint(x.acc(mint).Data) {
		return fail(ErrInvalidAccountData)
	}
	if x.derived.metadata(x.key(mint)) != x.key(meta) {
		return failCustom(mplInvalidMetadataKey)
	}
	k, ok := layout.ReadOption(x.acc(mint).Data)
	if !ok || k != x.key(auth) {
		return failCustom(mplInvalidMintAuthority)
	}
	if !auth.signer || !payer.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if err := checkMetaplex(&d); err != nil {
		return err
	}
	if err := metaplexAllocate(x, f, payer, meta); err != nil {
		return err
	}
	out := x.mutable(meta).Data
	encodeMetaplex(out, x.key(f.accs[4]), x.key(mint), &d, mutable, editionNonce(x.key(mint)), x.acc(mint).Data[layout.MintDecimalsAt])
	return nil
}

// metaplexAllocate pays rent and fee, then allocates and assigns the account: the program's three
// System calls.
func metaplexAllocate(x *machine, f *frame, payer, meta ref) error {
	from := ref{idx: payer.idx, signer: payer.signer, writable: true}
	self := ref{idx: meta.idx, signer: true, writable: true}
	if err := x.call(f, SystemProgram, []ref{from, {idx: meta.idx, writable: true}},
		transferData(RentExempt(layout.MetaplexSize)+mplCreateFee)); err != nil {
		return err
	}
	x.log("Program log: Allocate space for the account")
	if err := x.call(f, SystemProgram, []ref{self}, layout.AppendU64([]byte{sysAllocate, 0, 0, 0}, layout.MetaplexSize)); err != nil {
		return err
	}
	x.log("Program log: Assign the account to the owning program")
	return x.call(f, SystemProgram, []ref{self}, append([]byte{sysAssign, 0, 0, 0}, MetaplexProgram[:]...))
}

func editionNonce(mint Key) uint8 {
	_, bump := pda(MetaplexProgram, []byte("metadata"), MetaplexProgram[:], mint[:], []byte("edition"))
	return bump
}

// encodeMetaplex writes a Metadata account whose creation paid the fee.
func encodeMetaplex(out []byte, updateAuthority, mint Key, d *layout.MetaplexData, mutable bool, nonce, decimals uint8) {
	clear(out)
	m := layout.Metaplex{UpdateAuthority: updateAuthority, Mint: mint, MetaplexData: *d, Mutable: mutable, EditionNonce: nonce, Standard: layout.StandardFungible}
	if decimals == 0 {
		m.Standard = layout.StandardFungibleAsset
	}
	_ = m.Append(out[:0])
	out[len(out)-1] = 1 // the fee flag
}

// metaplexUpdate runs UpdateMetadataAccountV2. Accounts: metadata, update authority. Data:
// Option<DataV2>, Option<authority>, Option<primary sale happened>, Option<mutable>.
func metaplexUpdate(x *machine, f *frame, r *layout.Reader) error {
	var d *layout.MetaplexData
	if r.U8() == 1 {
		v := r.MetaplexData()
		d = &v
	}
	var next *Key
	if r.U8() == 1 {
		k := r.Key()
		next = &k
	}
	if r.U8() == 1 {
		r.U8()
	}
	frozen := false
	if r.U8() == 1 {
		frozen = r.U8() == 0
	}
	if r.Bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	meta, auth := f.accs[0], f.accs[1]
	old := x.acc(meta)
	if old.Owner != MetaplexProgram || len(old.Data) < layout.MetaplexSize {
		return fail(ErrInvalidAccountData)
	}
	if x.key(auth) != keyAt(old.Data, layout.MetaplexAuthorityAt) {
		return failCustom(mplUpdateAuthorityIncorrect)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	return metaplexApply(x, meta, d, next, frozen)
}

// metaplexApply writes new data, a new update authority, or that the metadata is frozen; each only
// if given.
func metaplexApply(x *machine, meta ref, d *layout.MetaplexData, next *Key, frozen bool) error {
	if d != nil {
		if x.acc(meta).Data[layout.MetaplexMutableAt] == 0 {
			return failCustom(mplDataImmutable)
		}
		if err := checkMetaplex(d); err != nil {
			return err
		}
	}
	out := x.mutable(meta).Data
	if d != nil {
		layout.PutMetaplexData(out, d)
	}
	if next != nil {
		copy(out[layout.MetaplexAuthorityAt:], next[:])
	}
	if frozen {
		out[layout.MetaplexMutableAt] = 0
	}
	return nil
}
