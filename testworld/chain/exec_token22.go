package chain

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Discriminators of the token metadata interface (spl-token-metadata-interface, instruction.rs).
var (
	tmInitialize      = [8]byte{0xd2, 0xe1, 0x1e, 0xa2, 0x58, 0xb8, 0x4d, 0x8d}
	tmUpdateField     = [8]byte{0xdd, 0xe9, 0x31, 0x2d, 0xb5, 0xca, 0xdc, 0xc8}
	tmUpdateAuthority = [8]byte{0xd7, 0xe4, 0xa6, 0xe4, 0x54, 0x64, 0x56, 0x7b}
)

func token22Name(tag byte) string {
	switch tag {
	case layout.TagTransfer:
		return "Transfer"
	case layout.TagSetAuthority:
		return "SetAuthority"
	case layout.TagMintTo:
		return "MintTo"
	case layout.TagBurn:
		return "Burn"
	case layout.TagCloseAccount:
		return "CloseAccount"
	case layout.TagFreezeAccount:
		return "FreezeAccount"
	case layout.TagThawAccount:
		return "ThawAccount"
	case layout.TagTransferChecked:
		return "TransferChecked"
	case layout.TagMintToChecked:
		return "MintToChecked"
	case layout.TagBurnChecked:
		return "BurnChecked"
	case layout.TagInitializeAccount3:
		return "InitializeAccount3"
	case layout.TagInitializeMint2:
		return "InitializeMint2"
	case layout.TagAccountDataSize:
		return "GetAccountDataSize"
	case layout.TagImmutableOwner:
		return "InitializeImmutableOwner"
	}
	return ""
}

func runToken2022(x *machine, f *frame) error {
	if len(f.data) >= 8 {
		switch [8]byte(f.data[:8]) {
		case tmInitialize:
			return metadataInitialize(x, f, f.data[8:])
		case tmUpdateField:
			return metadataUpdateField(x, f, f.data[8:])
		case tmUpdateAuthority:
			return metadataUpdateAuthority(x, f, f.data[8:])
		}
	}
	x.used += 1400
	tag := f.data[0]
	if name := token22Name(tag); name != "" {
		x.log("Program log: Instruction: " + name)
	}
	switch tag {
	case layout.TagMintCloseAuthority:
		return mintCloseInitialize(x, f)
	case layout.TagTransferFee:
		return token22Fee(x, f)
	case layout.TagMetadataPointer:
		return pointerInitialize(x, f)
	case layout.TagImmutableOwner:
		return immutableOwner(x, f)
	case layout.TagAccountDataSize:
		return token22AccountSize(x, f)
	case layout.TagInitializeMint2:
		return token22InitMint(x, f)
	case layout.TagBatch:
		return fail(ErrInvalidInstructionData)
	}
	if p := powerOf(f.data); p != nil {
		return powerInitialize(x, f, p)
	}
	if tag == layout.TagScaledAmount && len(f.data) > 1 && f.data[1] == layout.ScaledTagUpdate {
		return multiplierUpdate(x, f)
	}
	return tokenBase(x, f, tag, f.data[1:])
}

// token22InitMint runs InitializeMint2 with a rule of Token-2022: the account has exactly the size
// of its extensions.
func token22InitMint(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	d := x.acc(f.accs[0]).Data
	if len(d) != layout.MintSize && layout.ExtensionsEnd(d) != len(d) {
		return fail(ErrInvalidAccountData)
	}
	return tokenBase(x, f, layout.TagInitializeMint2, f.data[1:])
}

// pointerInitialize writes the MetadataPointer extension of a mint that is not yet initialized.
func pointerInitialize(x *machine, f *frame) error {
	x.log("Program log: MetadataPointerInstruction::Initialize")
	if len(f.data) != 66 || f.data[1] != layout.PointerTagInitialize {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(1); err != nil {
		return err
	}
	r := f.accs[0]
	a := x.acc(r)
	if a.Owner != Token2022Program || len(a.Data) < layout.ExtensionsAt+4+64 || a.Data[layout.MintInitializedAt] != 0 {
		return fail(ErrInvalidAccountData)
	}
	if at := layout.ExtensionsEnd(a.Data); at+4+64 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(r).Data
	layout.PutExtension(d, layout.ExtensionsEnd(d), layout.ExtMetadataPointer, f.data[2:66])
	d[layout.TokenAccountSize] = layout.TypeMint
	return nil
}

// immutableOwner writes the ImmutableOwner extension of an account that is not yet initialized.
func immutableOwner(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) < layout.ExtensionsAt+4 || a.Data[layout.AccountStateAt] != 0 {
		return fail(ErrInvalidAccountData)
	}
	if layout.ExtensionsEnd(a.Data)+4 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(f.accs[0]).Data
	layout.PutExtension(d, layout.ExtensionsEnd(d), layout.ExtImmutableOwner, nil)
	d[layout.TokenAccountSize] = layout.TypeAccount
	return nil
}

// token22AccountSize returns the size of an account of the mint with the extensions asked for.
func token22AccountSize(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	m := x.acc(f.accs[0])
	if m.Owner != Token2022Program || !layout.IsMint(m.Data) {
		return failCustom(tokInvalidMint)
	}
	var asked []uint16
	for i := 1; i+1 < len(f.data); i += 2 {
		asked = append(asked, binary.LittleEndian.Uint16(f.data[i:]))
	}
	size := uint64(accountSize(m.Data, asked...))
	x.returnData(f, layout.AppendU64(nil, size))
	return nil
}

// The fields of UpdateField. FieldKey is followed by the key of an additional one.
const (
	FieldName = iota
	FieldSymbol
	FieldURI
	FieldKey
)

// metadataInitialize runs Initialize. Accounts: metadata, update authority, mint, mint authority
// (signer). Data: name, symbol, URI.
func metadataInitialize(x *machine, f *frame, body []byte) error {
	x.used += 3500
	x.log("Program log: TokenMetadataInstruction: Initialize")
	r := layout.Reader{Rest: body}
	m := &layout.TokenMetadata{Name: r.Text(), Symbol: r.Text(), URI: r.Text()}
	if r.Bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(4); err != nil {
		return err
	}
	mint, auth := f.accs[2], f.accs[3]
	if f.accs[0].idx != mint.idx || !layout.IsMint(x.acc(mint).Data) {
		return fail(ErrInvalidAccountData)
	}
	k, ok := layout.ReadOption(x.acc(mint).Data)
	if !ok || k != x.key(auth) {
		return failCustom(tmIncorrectMintAuthority)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if at, _ := layout.Extension(x.acc(mint).Data, layout.ExtTokenMetadata); at >= 0 {
		return failCustom(tokAlreadyInUse)
	}
	m.Mint, m.UpdateAuthority = x.key(mint), x.key(f.accs[1])
	return storeMetadata(x, mint, m)
}

// maxGrowth is how many bytes one instruction may add to an account (Solana's
// MAX_PERMITTED_DATA_INCREASE).
const maxGrowth = 10_240

// storeMetadata writes the extension as the last entry of the mint, growing or shrinking the
// account to fit.
func storeMetadata(x *machine, mint ref, m *layout.TokenMetadata) error {
	d := x.acc(mint).Data
	end := layout.ExtensionsEnd(d)
	if at, _ := layout.Extension(d, layout.ExtTokenMetadata); at >= 0 {
		end = at - 4 // it is always the last entry: no extension is initialized after it
	}
	value := m.Bytes()
	if end > len(d) || end+4+len(value) > len(d)+maxGrowth || len(value) > math.MaxUint16 {
		return fail(ErrInvalidRealloc)
	}
	a := x.resize(mint, end+4+len(value))
	layout.PutExtension(a.Data, end, layout.ExtTokenMetadata, value)
	return nil
}

// loadMetadata reads the mint's metadata for a change, which the update authority must sign.
// Accounts: metadata, update authority.
func loadMetadata(x *machine, f *frame) (*layout.TokenMetadata, error) {
	if err := f.need(2); err != nil {
		return nil, err
	}
	d := x.acc(f.accs[0]).Data
	at, n := layout.Extension(d, layout.ExtTokenMetadata)
	if at < 0 {
		return nil, fail(ErrInvalidAccountData)
	}
	m, ok := layout.ReadTokenMetadata(d[at : at+n])
	if !ok {
		return nil, fail(ErrInvalidAccountData)
	}
	auth := f.accs[1]
	if m.UpdateAuthority.IsZero() {
		return nil, failCustom(tmImmutableMetadata)
	}
	if m.UpdateAuthority != x.key(auth) {
		return nil, failCustom(tmIncorrectUpdateAuthority)
	}
	if !auth.signer {
		return nil, fail(ErrMissingRequiredSignature)
	}
	return m, nil
}

// metadataUpdateField runs UpdateField. Accounts: metadata, update authority. Data: the field, the
// key of FieldKey, the value.
func metadataUpdateField(x *machine, f *frame, body []byte) error {
	x.used += 4000
	x.log("Program log: TokenMetadataInstruction: UpdateField")
	m, err := loadMetadata(x, f)
	if err != nil {
		return err
	}
	r := layout.Reader{Rest: body}
	field := r.U8()
	key := ""
	if field == FieldKey {
		key = r.Text()
	}
	value := r.Text()
	if r.Bad || field > FieldKey {
		return fail(ErrInvalidInstructionData)
	}
	setField(m, field, key, value)
	return storeMetadata(x, f.accs[0], m)
}

// setField sets a field of the metadata; key is used with FieldKey only.
func setField(m *layout.TokenMetadata, field byte, key, value string) {
	switch field {
	case FieldName:
		m.Name = value
	case FieldSymbol:
		m.Symbol = value
	case FieldURI:
		m.URI = value
	default:
		for i := range m.Extra {
			if m.Extra[i][0] == key {
				m.Extra[i][1] = value
				return
			}
		}
		m.Extra = append(m.Extra, [2]string{key, value})
	}
}

func metadataUpdateAuthority(x *machine, f *frame, body []byte) error {
	x.used += 3800
	x.log("Program log: TokenMetadataInstruction: UpdateAuthority")
	if len(body) != 32 {
		return fail(ErrInvalidInstructionData)
	}
	m, err := loadMetadata(x, f)
	if err != nil {
		return err
	}
	if bytes.Equal(m.UpdateAuthority[:], body) {
		return nil
	}
	copy(m.UpdateAuthority[:], body)
	return storeMetadata(x, f.accs[0], m)
}
