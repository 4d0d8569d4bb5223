package chain

import "strings"

// Metadata is what a metadata account or extension has, without padding.
type Metadata struct{ Name, Symbol, URI string }

// ReadMetaplex decodes a Metaplex metadata account.
func ReadMetaplex(a *Account) (Metadata, bool) {
	if a == nil || a.Owner != MetaplexProgram || len(a.Data) < mplFeeAt {
		return Metadata{}, false
	}
	r := reader{b: a.Data[mplDataAt:]}
	m := Metadata{Name: trimPadding(r.str()), Symbol: trimPadding(r.str()), URI: trimPadding(r.str())}
	return m, !r.bad
}

// ReadExtension decodes the TokenMetadata extension of a Token-2022 mint.
func ReadExtension(a *Account) (Metadata, bool) {
	if a == nil || a.Owner != Token2022Program {
		return Metadata{}, false
	}
	at, n := tlv(a.Data, extTokenMetadata)
	if at < 0 {
		return Metadata{}, false
	}
	m, ok := decodeTokenMetadata(a.Data[at : at+n])
	if !ok {
		return Metadata{}, false
	}
	return Metadata{m.Name, m.Symbol, m.URI}, true
}

func trimPadding(s string) string { return strings.TrimRight(s, "\x00") }
