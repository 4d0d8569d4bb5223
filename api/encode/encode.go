// Package encode writes rows of the registry as JSON.
//
// In: rows. Out: the bytes that encoding/json makes of them, appended to a buffer. Guarantees: the
// bytes are exactly those of json.Marshal, as a property test checks. Only a volume that is NaN or
// infinite differs: it becomes null, where json.Marshal fails. Nothing is allocated except to grow
// the buffer.
//
// Rows are most of what the API sends, and encoding them with encoding/json took four fifths of the
// time of a search. A fast library would do as well. But one file that a test compares with
// encoding/json is less code to trust.
package encode

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TokenSize estimates how many bytes a row takes, for buffers.
const TokenSize = 768

// Token appends a row.
func Token(dst []byte, t *registry.Token) []byte {
	dst = append(Mint(append(dst, `{"mint":`...), t.Mint), `,"symbol":`...)
	dst = String(dst, t.Symbol)
	dst = field(dst, `,"name":`, t.Name)
	dst = strconv.AppendUint(append(dst, `,"decimals":`...), uint64(t.Decimals), 10)
	dst = optional(dst, `,"logo_url":`, t.LogoURL)
	dst = field(dst, `,"logo_status":`, t.LogoStatus)
	dst = strconv.AppendBool(append(dst, `,"is_token22":`...), t.IsToken22)
	dst = Float(append(dst, `,"daily_volume_usd":`...), t.DailyVolumeUSD)
	if t.FirstSeenAt != nil {
		dst = number(dst, `,"first_seen_at":`, t.FirstSeenAt)
	}
	if t.LastSeenAt != nil {
		dst = number(dst, `,"last_seen_at":`, t.LastSeenAt)
	}
	dst = optional(dst, `,"supply":`, t.Supply)
	dst = optional(dst, `,"mint_authority":`, t.MintAuthority)
	dst = optional(dst, `,"freeze_authority":`, t.FreezeAuthority)
	dst = optional(dst, `,"metaplex_uri":`, t.MetaplexURI)
	dst = optional(dst, `,"update_authority":`, t.UpdateAuthority)
	dst = number(dst, `,"seller_fee_basis_points":`, t.SellerFeeBasisPoints)
	dst = number(dst, `,"token_standard":`, t.TokenStandard)
	dst = optional(dst, `,"description":`, t.Description)
	dst = optional(dst, `,"external_url":`, t.ExternalURL)
	dst = links(append(dst, `,"extensions":`...), t.Extensions)
	dst = Strings(append(dst, `,"tags":`...), t.Tags)
	dst = optional(dst, `,"launchpad":`, t.Launchpad)
	dst = optional(dst, `,"creator":`, t.Creator)
	dst = number(dst, `,"graduated_at":`, t.GraduatedAt)
	return append(dst, '}')
}

// Mint appends a key in base58, which needs no escapes.
func Mint(dst []byte, mint pubkey.Key) []byte { return append(mint.Append(append(dst, '"')), '"') }

// Strings appends an array of strings; null if values is nil.
func Strings(dst []byte, values []string) []byte {
	if values == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, value)
	}
	return append(dst, ']')
}

func field(dst []byte, name, value string) []byte { return String(append(dst, name...), value) }

func optional(dst []byte, name string, value *string) []byte {
	dst = append(dst, name...)
	if value == nil {
		return append(dst, "null"...)
	}
	return String(dst, *value)
}

func number(dst []byte, name string, value *int64) []byte {
	dst = append(dst, name...)
	if value == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, *value, 10)
}

// Float appends a number as ECMAScript does: without an exponent from 1e-6 to 1e21. Nil, NaN and
// infinity become null.
func Float(dst []byte, value *float64) []byte {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return append(dst, "null"...)
	}
	size := math.Abs(*value)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, *value, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, *value, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-09 is e-9
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// links appends an object with its keys sorted; null if values is nil.
func links(dst []byte, values map[string]string) []byte {
	if values == nil {
		return append(dst, "null"...)
	}
	var few [8]string
	names := few[:0]
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, name)
		dst = String(append(dst, ':'), values[name])
	}
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// String appends a JSON string. Like encoding/json it escapes what HTML could take for markup, and
// replaces bytes that are not UTF-8.
func String(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if plain[b] {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			dst = escape(append(dst, s[start:i]...), b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // line ends in JavaScript
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// escape appends the escape sequence of an ASCII character.
func escape(dst []byte, b byte) []byte {
	switch b {
	case '\\', '"':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
	}
}

// plain are the bytes that need no escape.
var plain = func() (table [256]bool) {
	for b := byte(' '); b < utf8.RuneSelf; b++ {
		table[b] = b != '"' && b != '\\' && b != '<' && b != '>' && b != '&'
	}
	return table
}()
