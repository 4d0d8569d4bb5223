package chain

import "encoding/binary"

// Metaplex Token Metadata: instruction numbers, account size and limits (mpl-token-metadata,
// state/metadata.rs; 607 bytes since the accounts were shrunk in 2024), and the fee that creating
// an account costs.
const (
	mplUpdateV2    = 15
	mplCreateV3    = 33
	mplAccountSize = 607
	mplNameLen     = 32
	mplSymbolLen   = 10
	mplURILen      = 200
	mplCreateFee   = 10_000_000
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

// metaplexData is the part of DataV2 that the demo keeps: no creators, collection or uses.
type metaplexData struct {
	Name, Symbol, URI string
	Fee               uint16
}

func (d *metaplexData) append(b []byte) []byte {
	b = appendString(appendString(appendString(b, d.Name), d.Symbol), d.URI)
	b = binary.LittleEndian.AppendUint16(b, d.Fee)
	return append(b, 0, 0, 0) // creators, collection, uses: none
}

// metaplexData reads a DataV2. It skips the creators, the collection and the uses.
func (r *reader) metaplexData() metaplexData {
	d := metaplexData{Name: r.str(), Symbol: r.str(), URI: r.str(), Fee: r.u16()}
	if r.u8() == 1 {
		for n := r.u32(); n > 0 && !r.bad; n-- {
			r.take(34)
		}
	}
	if r.u8() == 1 {
		r.take(33)
	}
	if r.u8() == 1 {
		r.take(17)
	}
	return d
}

func (d *metaplexData) check() error {
	switch {
	case len(d.Name) > mplNameLen:
		return failCustom(mplNameTooLong)
	case len(d.Symbol) > mplSymbolLen:
		return failCustom(mplSymbolTooLong)
	case len(d.URI) > mplURILen:
		return failCustom(mplURITooLong)
	}
	return nil
}

func runMetaplex(x *machine, f *frame) error {
	x.used += 9000
	if len(f.data) == 0 {
		return fail(ErrInvalidInstructionData)
	}
	r := &reader{b: f.data[1:]}
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
func metaplexCreate(x *machine, f *frame, r *reader) error {
	d := r.metaplexData()
	mutable := r.u8() == 1
	if r.bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(6); err != nil {
		return err
	}
	meta, mint, auth, payer := f.accs[0], f.accs[1], f.accs[2], f.accs[3]
	if !isMint(x.acc(mint).Data) {
		return fail(ErrInvalidAccountData)
	}
	if x.derived.metadata(x.key(mint)) != x.key(meta) {
		return failCustom(mplInvalidMetadataKey)
	}
	k, ok := optionKey(x.acc(mint).Data)
	if !ok || k != x.key(auth) {
		return failCustom(mplInvalidMintAuthority)
	}
	if !auth.signer || !payer.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if err := d.check(); err != nil {
		return err
	}
	if err := metaplexAllocate(x, f, payer, meta); err != nil {
		return err
	}
	out := x.mutable(meta).Data
	encodeMetaplex(out, x.key(f.accs[4]), x.key(mint), &d, mutable, editionNonce(x.key(mint)), x.acc(mint).Data[mintDecimalsAt])
	return nil
}

// metaplexAllocate pays rent and fee, then allocates and assigns the account: the program's three
// System calls.
func metaplexAllocate(x *machine, f *frame, payer, meta ref) error {
	from := ref{idx: payer.idx, signer: payer.signer, writable: true}
	self := ref{idx: meta.idx, signer: true, writable: true}
	if err := x.call(f, SystemProgram, []ref{from, {idx: meta.idx, writable: true}},
		transferData(RentExempt(mplAccountSize)+mplCreateFee)); err != nil {
		return err
	}
	x.log("Program log: Allocate space for the account")
	if err := x.call(f, SystemProgram, []ref{self}, appendU64([]byte{sysAllocate, 0, 0, 0}, mplAccountSize)); err != nil {
		return err
	}
	x.log("Program log: Assign the account to the owning program")
	return x.call(f, SystemProgram, []ref{self}, append([]byte{sysAssign, 0, 0, 0}, MetaplexProgram[:]...))
}

func editionNonce(mint Key) uint8 {
	_, bump := pda(MetaplexProgram, []byte("metadata"), MetaplexProgram[:], mint[:], []byte("edition"))
	return bump
}

// encodeMetaplex writes the Metadata account: key, authorities, NUL-padded strings, then the
// optional parts.
func encodeMetaplex(out []byte, updateAuthority, mint Key, d *metaplexData, mutable bool, nonce, decimals uint8) {
	clear(out)
	b := out[:0]
	b = append(b, 4) // Key::MetadataV1
	b = append(b, updateAuthority[:]...)
	b = append(b, mint[:]...)
	b = appendPadded(b, d.Name, mplNameLen)
	b = appendPadded(b, d.Symbol, mplSymbolLen)
	b = appendPadded(b, d.URI, mplURILen)
	b = binary.LittleEndian.AppendUint16(b, d.Fee)
	b = append(b, 0, 0) // creators none; primary sale not happened
	if mutable {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	standard := byte(2) // Fungible
	if decimals == 0 {
		standard = 1 // FungibleAsset
	}
	_ = append(b, 1, nonce, 1, standard)
	out[len(out)-1] = 1 // the fee flag
}

func appendPadded(b []byte, s string, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = append(b, s...)
	return append(b, make([]byte, n-len(s))...)
}

// Offsets inside an account without creators, as encodeMetaplex writes it.
const (
	mplDataAt    = 65
	mplFeeAt     = mplDataAt + 4 + mplNameLen + 4 + mplSymbolLen + 4 + mplURILen
	mplMutableAt = mplFeeAt + 4
)

// metaplexUpdate runs UpdateMetadataAccountV2. Accounts: metadata, update authority. Data:
// Option<DataV2>, Option<authority>, Option<primary sale happened>, Option<mutable>.
func metaplexUpdate(x *machine, f *frame, r *reader) error {
	var d *metaplexData
	if r.u8() == 1 {
		v := r.metaplexData()
		d = &v
	}
	var next *Key
	if r.u8() == 1 {
		k := r.key()
		next = &k
	}
	if r.u8() == 1 {
		r.u8()
	}
	frozen := false
	if r.u8() == 1 {
		frozen = r.u8() == 0
	}
	if r.bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(2); err != nil {
		return err
	}
	meta, auth := f.accs[0], f.accs[1]
	old := x.acc(meta)
	if old.Owner != MetaplexProgram || len(old.Data) < mplAccountSize {
		return fail(ErrInvalidAccountData)
	}
	if k := x.key(auth); string(old.Data[1:33]) != string(k[:]) {
		return failCustom(mplUpdateAuthorityIncorrect)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	return metaplexApply(x, meta, d, next, frozen)
}

// metaplexApply writes new data, a new update authority, or that the metadata is frozen; each only
// if given.
func metaplexApply(x *machine, meta ref, d *metaplexData, next *Key, frozen bool) error {
	if d != nil {
		if x.acc(meta).Data[mplMutableAt] == 0 {
			return failCustom(mplDataImmutable)
		}
		if err := d.check(); err != nil {
			return err
		}
	}
	out := x.mutable(meta).Data
	if d != nil {
		b := appendPadded(out[:mplDataAt], d.Name, mplNameLen)
		b = appendPadded(b, d.Symbol, mplSymbolLen)
		b = appendPadded(b, d.URI, mplURILen)
		_ = binary.LittleEndian.AppendUint16(b, d.Fee)
	}
	if next != nil {
		copy(out[1:33], next[:])
	}
	if frozen {
		out[mplMutableAt] = 0
	}
	return nil
}
