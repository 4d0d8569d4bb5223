package enrich

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestUnknownExtensionsAreNoted: of a type without a name, and of a known type with another length.
func TestUnknownExtensionsAreNoted(t *testing.T) {
	w, book := newWorld(), unknowntest.New(t)
	w.deps.Unknowns = book
	mint := mintKey(1)
	extensions := layout.AppendExtension(layout.AppendExtension(layout.AppendExtension(nil, 9, nil), 31, []byte("new")), 26, []byte("longer than 33 bytes, which it had in 2026"))
	data := layout.Mint{Extensions: extensions}
	w.rpc.accounts[mint] = &solana.Account{Owner: tokenaccount.ProgramToken2022, Lamports: 1, Data: data.Bytes()}
	w.request(t, ask(mint, sighted, 900, ""))
	w.start(t)
	w.drained(t)

	noted := unknowntest.Noted(t, book)
	require.Len(t, noted, 2)
	found := noted["token_extension/unknown_31"]
	require.Equal(t, "new", string(found.Sample))
	require.Equal(t, []string{"enrich"}, found.Sources)
	require.Equal(t, mint.String(), found.SamplePlace)
	require.EqualValues(t, 1000, *found.LastSlot)
	require.Contains(t, noted, "token_extension/pausable")
}
