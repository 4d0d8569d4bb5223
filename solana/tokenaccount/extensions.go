package tokenaccount

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxExtensions bounds the entries that are read from one account. The program has 28 types, and
// each may occur once.
const maxExtensions = 128

// maxRawBytes bounds the bytes that are kept of an extension that this version does not know.
const maxRawBytes = 1024

// rawName is the name of the attribute with the bytes of such an extension.
const rawName = "raw"

// Extension is one Token-2022 extension of a mint.
type Extension struct {
	// Type is the program's ExtensionType.
	Type uint16
	// Name is the type's name in snake case, or unknown_N.
	Name string
	// Attributes are the extension's fields, sorted by name. Keys are in base58 (empty if there is
	// none), numbers in decimal, ciphertexts in hexadecimal. An extension whose type or length this
	// version does not know has two instead: raw (hexadecimal, at most 1,024 bytes) and raw_length.
	// token_metadata has only those of TokenMetadata.attributes.
	Attributes []Attribute
	// Value has the extension's bytes if its size is fixed and this version knows its type and
	// length. It is nil for any other extension.
	Value []byte
}

// Attribute is a named value.
type Attribute struct {
	Name  string
	Value string
}

func (e Extension) event() *eventspb.ExtensionSet {
	set := &eventspb.ExtensionSet{Extension: e.Name}
	for _, attribute := range e.Attributes {
		set.Attributes = append(set.Attributes, &eventspb.Attribute{Name: attribute.Name, Value: attribute.Value})
	}
	return set
}

// Extension types that need more than a layout (spl-token-2022-interface 3.1.1, ExtensionType).
const (
	typeMetadataPointer = 18
	typeTokenMetadata   = 19
)

// ExtensionName returns the snake-case name of Token-2022's extension type, of mints and of
// accounts, or unknown_N.
func ExtensionName(extensionType uint16) string {
	if int(extensionType) < len(extensionNames) {
		return extensionNames[extensionType]
	}
	return "unknown_" + strconv.Itoa(int(extensionType))
}

// extensionNames are the variants of ExtensionType in order (spl-token-2022-interface 3.1.1).
var extensionNames = [...]string{
	"uninitialized", "transfer_fee_config", "transfer_fee_amount", "mint_close_authority", "confidential_transfer_mint",
	"confidential_transfer_account", "default_account_state", "immutable_owner", "memo_transfer", "non_transferable",
	"interest_bearing_config", "cpi_guard", "permanent_delegate", "non_transferable_account", "transfer_hook",
	"transfer_hook_account", "confidential_transfer_fee_config", "confidential_transfer_fee_amount", "metadata_pointer",
	"token_metadata", "group_pointer", "token_group", "group_member_pointer", "token_group_member", "confidential_mint_burn",
	"scaled_ui_amount", "pausable", "pausable_account", "permissioned_burn",
}

// parseExtensions reads the type-length-value entries after the account type: u16 type, u16 length,
// value. A type of 0, or fewer bytes than a type, ends the list, as in the program.
func (m *Mint) parseExtensions(data []byte) error {
	for len(data) >= 2 {
		extensionType := binary.LittleEndian.Uint16(data)
		if extensionType == 0 {
			return nil
		}
		if len(data) < 4 {
			return fmt.Errorf("%w: extension %d has no length", ErrMalformed, extensionType)
		}
		length := int(binary.LittleEndian.Uint16(data[2:]))
		if length > len(data)-4 {
			return fmt.Errorf("%w: extension %d is cut off", ErrMalformed, extensionType)
		}
		if len(m.Extensions) == maxExtensions {
			return fmt.Errorf("%w: more than %d extensions", ErrMalformed, maxExtensions)
		}
		m.addExtension(extensionType, data[4:4+length])
		data = data[4+length:]
	}
	return nil
}

// addExtension parses an extension and adds it. If its type or length is unknown, or its metadata
// is malformed, it is added with its raw bytes.
func (m *Mint) addExtension(extensionType uint16, value []byte) {
	extension := Extension{Type: extensionType, Name: ExtensionName(extensionType)}
	switch extensionType {
	case typeTokenMetadata:
		metadata, err := ParseTokenMetadata(value)
		if err != nil {
			extension.Attributes = rawAttributes(value)
			break
		}
		m.TokenMetadata = &metadata
		extension.Attributes = metadata.attributes()
	default:
		layout, known := layouts[extensionType]
		if !known || layout.length() != len(value) {
			extension.Attributes = rawAttributes(value)
			break
		}
		extension.Attributes, extension.Value = layout.read(value), bytes.Clone(value)
		if extensionType == typeMetadataPointer {
			m.MetadataPointer = pointedAt(value)
		}
	}
	m.Extensions = append(m.Extensions, extension)
}

// pointedAt returns the address in a metadata pointer, the second of its two keys; nil if it points
// nowhere.
func pointedAt(value []byte) *pubkey.Key {
	address := pubkey.Key(value[32:64])
	if address.IsZero() {
		return nil
	}
	return &address
}

// RawExtension returns the bytes of an extension that was kept raw, because its type or its length
// was unknown, or its metadata malformed; nil for any other.
func RawExtension(set *eventspb.ExtensionSet) []byte {
	attributes := set.GetAttributes()
	if len(attributes) != 2 || attributes[0].GetName() != rawName {
		return nil
	}
	value, _ := hex.DecodeString(attributes[0].GetValue())
	return append(make([]byte, 0, len(value)+1), value...) // not nil, also without bytes
}

func rawAttributes(value []byte) []Attribute {
	return []Attribute{
		{Name: rawName, Value: hex.EncodeToString(value[:min(len(value), maxRawBytes)])},
		{Name: "raw_length", Value: strconv.Itoa(len(value))},
	}
}

// fieldKind is the type of a field in an extension.
type fieldKind int

const (
	kindKey fieldKind = iota
	kindBool
	kindAccountState
	kindU16
	kindI16
	kindU64
	kindI64
	kindF64
	kindCipher64 // an ElGamal ciphertext
	kindCipher36 // an authenticated ciphertext of AES
)

func (k fieldKind) length() int {
	switch k {
	case kindKey:
		return 32
	case kindBool, kindAccountState:
		return 1
	case kindU16, kindI16:
		return 2
	case kindU64, kindI64, kindF64:
		return 8
	case kindCipher64:
		return 64
	case kindCipher36:
		return 36
	}
	return 0
}

// format converts a field's bytes to the text of its attribute.
func (k fieldKind) format(b []byte) string {
	switch k {
	case kindKey:
		if key := pubkey.Key(b); !key.IsZero() {
			return key.String()
		}
		return ""
	case kindBool:
		// Every non-zero byte is true (solana-zero-copy Bool).
		return strconv.FormatBool(b[0] != 0)
	case kindAccountState:
		if int(b[0]) < len(accountStates) {
			return accountStates[b[0]]
		}
		return strconv.Itoa(int(b[0]))
	case kindU16:
		return strconv.FormatUint(uint64(binary.LittleEndian.Uint16(b)), 10)
	case kindI16:
		return strconv.FormatInt(int64(int16(binary.LittleEndian.Uint16(b))), 10)
	case kindU64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)
	case kindI64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10)
	case kindF64:
		return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
	case kindCipher64, kindCipher36:
		return hex.EncodeToString(b)
	}
	return ""
}

// accountStates are the variants of AccountState.
var accountStates = [...]string{"uninitialized", "initialized", "frozen"}

type field struct {
	name string
	kind fieldKind
}

type layout []field

func (l layout) length() int {
	total := 0
	for _, f := range l {
		total += f.kind.length()
	}
	return total
}

func (l layout) read(value []byte) []Attribute {
	attributes := make([]Attribute, 0, len(l))
	for _, f := range l {
		n := f.kind.length()
		attributes = append(attributes, Attribute{Name: f.name, Value: f.kind.format(value[:n])})
		value = value[n:]
	}
	sort.Slice(attributes, func(i, j int) bool { return attributes[i].Name < attributes[j].Name })
	return attributes
}
