package unknowns

import (
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Extensions counts the extensions of a mint that were kept as raw bytes, because this version
// could not read them.
func (b *Book) Extensions(mint *eventspb.MintAccount, at Sighting) {
	if b == nil {
		return
	}
	for _, extension := range mint.GetExtensions() {
		if at.Sample = tokenaccount.RawExtension(extension); at.Sample != nil {
			b.Note(TokenExtension, extension.GetExtension(), at)
		}
	}
}
