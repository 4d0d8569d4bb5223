package chain

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Token-2022 extension types (spl-token-2022, extension/mod.rs) and TLV offsets: base padded to
// 165, account type, then entries.
const (
	extImmutableOwner  = 7
	extMetadataPointer = 18
	extTokenMetadata   = 19
	tlvStart           = accountSize + 1
)

// Discriminators of the token metadata interface (spl-token-metadata-interface, instruction.rs).
var (
	tmInitialize      = [8]byte{0xd2, 0xe1, 0x1e, 0xa2, 0x58, 0xb8, 0x4d, 0x8d}
	tmUpdateField     = [8]byte{0xdd, 0xe9, 0x31, 0x2d, 0xb5, 0xca, 0xdc, 0xc8}
	tmUpdateAuthority = [8]byte{0xd7, 0xe4, 0xa6, 0xe4, 0x54, 0x64, 0x56, 0x7b}
)

func token22Name(tag byte) string {
	switch tag {
	case tagTransfer:
		return "Transfer"
	case tagSetAuthority:
		return "SetAuthority"
	case tagMintTo:
		return "MintTo"
	case tagBurn:
		return "Burn"
	case tagCloseAccount:
		return "CloseAccount"
	case tagFreezeAccount:
		return "FreezeAccount"
	case tagThawAccount:
		return "ThawAccount"
	case tagTransferChecked:
		return "TransferChecked"
	case tagMintToChecked:
		return "MintToChecked"
	case tagBurnChecked:
		return "BurnChecked"
	case tagInitializeAccount3:
		return "InitializeAccount3"
	case tagInitializeMint2:
		return "InitializeMint2"
	case tagAccountDataSize:
		return "GetAccountDataSize"
	case tagImmutableOwner:
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
	case tagMintCloseAuthority:
		return mintCloseInitialize(x, f)
	case tagTransferFee:
		return token22Fee(x, f)
	case tagMetadataPointer:
		return pointerInitialize(x, f)
	case tagImmutableOwner:
		return immutableOwner(x, f)
	case tagAccountDataSize:
		return token22AccountSize(x, f)
	case tagInitializeMint2:
		return token22InitMint(x, f)
	case tagBatch:
		return fail(ErrInvalidInstructionData)
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
	if len(d) != mintSize && tlvEnd(d) != len(d) {
		return fail(ErrInvalidAccountData)
	}
	return tokenBase(x, f, tagInitializeMint2, f.data[1:])
}

// tlvEnd returns the offset after the last TLV entry.
func tlvEnd(d []byte) int {
	at := tlvStart
	for at+4 <= len(d) && binary.LittleEndian.Uint16(d[at:]) != 0 {
		at += 4 + int(binary.LittleEndian.Uint16(d[at+2:]))
	}
	return at
}

// tlv returns the offset and the length of an extension's value; -1 if it is not there.
func tlv(d []byte, ext uint16) (at, n int) {
	for at = tlvStart; at+4 <= len(d); {
		t, size := binary.LittleEndian.Uint16(d[at:]), int(binary.LittleEndian.Uint16(d[at+2:]))
		if t == 0 || at+4+size > len(d) {
			break
		}
		if t == ext {
			return at + 4, size
		}
		at += 4 + size
	}
	return -1, 0
}

func putTLV(d []byte, at int, ext uint16, value []byte) {
	binary.LittleEndian.PutUint16(d[at:], ext)
	binary.LittleEndian.PutUint16(d[at+2:], uint16(len(value)))
	copy(d[at+4:], value)
}

// pointerInitialize writes the MetadataPointer extension of a mint that is not yet initialized.
func pointerInitialize(x *machine, f *frame) error {
	x.log("Program log: MetadataPointerInstruction::Initialize")
	if len(f.data) != 66 || f.data[1] != pointerTagInitialize {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(1); err != nil {
		return err
	}
	r := f.accs[0]
	a := x.acc(r)
	if a.Owner != Token2022Program || len(a.Data) < tlvStart+4+64 || a.Data[mintInitializedAt] != 0 {
		return fail(ErrInvalidAccountData)
	}
	if at := tlvEnd(a.Data); at+4+64 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(r).Data
	putTLV(d, tlvEnd(d), extMetadataPointer, f.data[2:66])
	d[accountSize] = typeMint
	return nil
}

// immutableOwner writes the ImmutableOwner extension of an account that is not yet initialized.
func immutableOwner(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	a := x.acc(f.accs[0])
	if a.Owner != Token2022Program || len(a.Data) < tlvStart+4 || a.Data[accountStateAt] != 0 {
		return fail(ErrInvalidAccountData)
	}
	if tlvEnd(a.Data)+4 > len(a.Data) {
		return fail(ErrInvalidAccountData)
	}
	d := x.mutable(f.accs[0]).Data
	putTLV(d, tlvEnd(d), extImmutableOwner, nil)
	d[accountSize] = typeAccount
	return nil
}

// token22AccountSize returns the size of an account of the mint with the extensions asked for.
func token22AccountSize(x *machine, f *frame) error {
	if err := f.need(1); err != nil {
		return err
	}
	m := x.acc(f.accs[0])
	if m.Owner != Token2022Program || !isMint(m.Data) {
		return failCustom(tokInvalidMint)
	}
	// An account has one empty entry for each extension asked for.
	extra := accountExtensions(m.Data) + 4*((len(f.data)-1)/2)
	size := uint64(accountSize)
	if extra > 0 {
		size += 1 + uint64(extra)
	}
	x.returnData(f, appendU64(nil, size))
	return nil
}

// The fields of UpdateField. fieldKey is followed by the key of an additional one.
const (
	fieldName = iota
	fieldSymbol
	fieldURI
	fieldKey
)

// tokenMetadata is the value of the TokenMetadata extension.
type tokenMetadata struct {
	UpdateAuthority   Key
	Mint              Key
	Name, Symbol, URI string
	Extra             [][2]string
}

func (m *tokenMetadata) encode() []byte {
	b := make([]byte, 0, 128+len(m.Name)+len(m.Symbol)+len(m.URI))
	b = append(b, m.UpdateAuthority[:]...)
	b = append(b, m.Mint[:]...)
	b = appendString(appendString(appendString(b, m.Name), m.Symbol), m.URI)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Extra)))
	for _, kv := range m.Extra {
		b = appendString(appendString(b, kv[0]), kv[1])
	}
	return b
}

func decodeTokenMetadata(b []byte) (*tokenMetadata, bool) {
	r := reader{b: b}
	m := &tokenMetadata{UpdateAuthority: r.key(), Mint: r.key(), Name: r.str(), Symbol: r.str(), URI: r.str()}
	for n := r.u32(); n > 0 && !r.bad; n-- {
		m.Extra = append(m.Extra, [2]string{r.str(), r.str()})
	}
	return m, !r.bad
}

// metadataInitialize runs Initialize. Accounts: metadata, update authority, mint, mint authority
// (signer). Data: name, symbol, URI.
func metadataInitialize(x *machine, f *frame, body []byte) error {
	x.used += 3500
	x.log("Program log: TokenMetadataInstruction: Initialize")
	r := reader{b: body}
	m := &tokenMetadata{Name: r.str(), Symbol: r.str(), URI: r.str()}
	if r.bad {
		return fail(ErrInvalidInstructionData)
	}
	if err := f.need(4); err != nil {
		return err
	}
	mint, auth := f.accs[2], f.accs[3]
	if f.accs[0].idx != mint.idx || !isMint(x.acc(mint).Data) {
		return fail(ErrInvalidAccountData)
	}
	k, ok := optionKey(x.acc(mint).Data)
	if !ok || k != x.key(auth) {
		return failCustom(tmIncorrectMintAuthority)
	}
	if !auth.signer {
		return fail(ErrMissingRequiredSignature)
	}
	if at, _ := tlv(x.acc(mint).Data, extTokenMetadata); at >= 0 {
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
func storeMetadata(x *machine, mint ref, m *tokenMetadata) error {
	d := x.acc(mint).Data
	end := tlvEnd(d)
	if at, _ := tlv(d, extTokenMetadata); at >= 0 {
		end = at - 4 // it is always the last entry: no extension is initialized after it
	}
	value := m.encode()
	if end > len(d) || end+4+len(value) > len(d)+maxGrowth || len(value) > math.MaxUint16 {
		return fail(ErrInvalidRealloc)
	}
	a := x.resize(mint, end+4+len(value))
	putTLV(a.Data, end, extTokenMetadata, value)
	return nil
}

// loadMetadata reads the mint's metadata for a change, which the update authority must sign.
// Accounts: metadata, update authority.
func loadMetadata(x *machine, f *frame) (*tokenMetadata, error) {
	if err := f.need(2); err != nil {
		return nil, err
	}
	d := x.acc(f.accs[0]).Data
	at, n := tlv(d, extTokenMetadata)
	if at < 0 {
		return nil, fail(ErrInvalidAccountData)
	}
	m, ok := decodeTokenMetadata(d[at : at+n])
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
// key of fieldKey, the value.
func metadataUpdateField(x *machine, f *frame, body []byte) error {
	x.used += 4000
	x.log("Program log: TokenMetadataInstruction: UpdateField")
	m, err := loadMetadata(x, f)
	if err != nil {
		return err
	}
	r := reader{b: body}
	field := r.u8()
	key := ""
	if field == fieldKey {
		key = r.str()
	}
	value := r.str()
	if r.bad || field > fieldKey {
		return fail(ErrInvalidInstructionData)
	}
	m.set(field, key, value)
	return storeMetadata(x, f.accs[0], m)
}

func (m *tokenMetadata) set(field byte, key, value string) {
	switch field {
	case fieldName:
		m.Name = value
	case fieldSymbol:
		m.Symbol = value
	case fieldURI:
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
