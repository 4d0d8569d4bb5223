package layout

import "encoding/binary"

// Metaplex Token Metadata: the sizes of an account and the room for its texts (mpl-token-metadata,
// state/metadata.rs). Accounts have 607 bytes since they were shrunk in 2024, most had 679 before.
const (
	MetaplexSize      = 607
	MetaplexSizeOld   = 679
	MetaplexNameLen   = 32
	MetaplexSymbolLen = 10
	MetaplexURILen    = 200
)

// Offsets inside an account without creators.
const (
	MetaplexAuthorityAt = 1
	MetaplexDataAt      = 65
	MetaplexFeeAt       = MetaplexDataAt + 4 + MetaplexNameLen + 4 + MetaplexSymbolLen + 4 + MetaplexURILen
	MetaplexMutableAt   = MetaplexFeeAt + 4
)

// MetaplexData is the part of DataV2 that the test world has: no creators, collection or uses.
type MetaplexData struct {
	Name, Symbol, URI string
	Fee               uint16
}

// Append appends the data as an instruction has it.
func (d *MetaplexData) Append(b []byte) []byte {
	b = AppendString(AppendString(AppendString(b, d.Name), d.Symbol), d.URI)
	b = binary.LittleEndian.AppendUint16(b, d.Fee)
	return append(b, 0, 0, 0) // creators, collection, uses: none
}

// appendAccount appends the data as an account has it: each text filled up with NULs.
func (d *MetaplexData) appendAccount(b []byte) []byte {
	b = appendPadded(b, d.Name, MetaplexNameLen)
	b = appendPadded(b, d.Symbol, MetaplexSymbolLen)
	b = appendPadded(b, d.URI, MetaplexURILen)
	return binary.LittleEndian.AppendUint16(b, d.Fee)
}

// PutMetaplexData writes other texts and another fee into an account.
func PutMetaplexData(account []byte, d *MetaplexData) { d.appendAccount(account[:MetaplexDataAt]) }

// MetaplexData reads a DataV2. It skips the creators, the collection and the uses.
func (r *Reader) MetaplexData() MetaplexData {
	d := MetaplexData{Name: r.Text(), Symbol: r.Text(), URI: r.Text(), Fee: r.U16()}
	if r.U8() == 1 {
		for n := r.U32(); n > 0 && !r.Bad; n-- {
			r.Take(34)
		}
	}
	if r.U8() == 1 {
		r.Take(33)
	}
	if r.U8() == 1 {
		r.Take(17)
	}
	return d
}

// Token standards (mpl-token-metadata, TokenStandard).
const (
	StandardFungibleAsset = 1 // a token without decimals
	StandardFungible      = 2
)

// Metaplex is a Metadata account.
type Metaplex struct {
	UpdateAuthority, Mint Key
	MetaplexData
	// Sold is whether the primary sale has happened.
	Sold, Mutable bool
	EditionNonce  byte
	Standard      byte
}

// Bytes returns the data of an account of 607 bytes.
func (m *Metaplex) Bytes() []byte {
	d := make([]byte, MetaplexSize)
	_ = m.Append(d[:0])
	return d
}

// Append appends the account's data up to the token standard. The rest of the account is NULs, but
// for the last byte, the flag of the creation fee.
func (m *Metaplex) Append(b []byte) []byte {
	b = append(b, 4) // Key::MetadataV1
	b = append(b, m.UpdateAuthority[:]...)
	b = append(b, m.Mint[:]...)
	b = append(m.appendAccount(b), 0) // no creators
	b = appendBool(appendBool(b, m.Sold), m.Mutable)
	return append(b, 1, m.EditionNonce, 1, m.Standard)
}
