package chain

import (
	"strings"

	"github.com/mintlake/mintlake/testworld/layout"
)

// Metadata is what a metadata account or extension has, without padding.
type Metadata struct{ Name, Symbol, URI string }

// ReadMetaplex decodes a Metaplex metadata account.
func ReadMetaplex(a *Account) (Metadata, bool) {
	if a == nil || a.Owner != MetaplexProgram || len(a.Data) < layout.MetaplexFeeAt {
		return Metadata{}, false
	}
	r := layout.Reader{Rest: a.Data[layout.MetaplexDataAt:]}
	m := Metadata{Name: trimPadding(r.Text()), Symbol: trimPadding(r.Text()), URI: trimPadding(r.Text())}
	return m, !r.Bad
}

// ReadExtension decodes the TokenMetadata extension of a Token-2022 mint.
func ReadExtension(a *Account) (Metadata, bool) {
	if a == nil || a.Owner != Token2022Program {
		return Metadata{}, false
	}
	at, n := layout.Extension(a.Data, layout.ExtTokenMetadata)
	if at < 0 {
		return Metadata{}, false
	}
	m, ok := layout.ReadTokenMetadata(a.Data[at : at+n])
	if !ok {
		return Metadata{}, false
	}
	return Metadata{m.Name, m.Symbol, m.URI}, true
}

func trimPadding(s string) string { return strings.TrimRight(s, "\x00") }
