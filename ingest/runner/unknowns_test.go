package runner_test

import (
	"context"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/unknowns"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestUnknowns: instructions and extensions that no decoder knows are noted with their bytes, and
// what is known is not.
func TestUnknowns(t *testing.T) {
	mint := mintKey(1)
	tx := transactionOf(
		func(b *builder) { b.mintTo(mint) },
		func(b *builder) { b.call(schemas.ProgramToken, []byte{200, 1, 2}, mint) },
		func(b *builder) { b.call(schemas.ProgramToken, []byte{200, 3}, mint) },
		func(b *builder) { b.call(schemas.ProgramToken, []byte{7}, mint, mint, mint) },
		func(b *builder) { b.call(schemas.ProgramToken2022, []byte{44, 9}, mint) },
		func(b *builder) { b.call(schemas.ProgramMetaplex, []byte{99, 1}, mint) },
		func(b *builder) { b.call(schemas.ProgramMetaplex, []byte{49, 7}, mint) },
	)
	b := newBlock(100, 99, tx)
	account := mintAccount(t, mint, 5, 0)
	account.Owner = pubkey.MustParse(schemas.ProgramToken2022)
	data := layout.Mint{Extensions: layout.AppendExtension(layout.AppendExtension(nil, 9, nil), 31, []byte("new"))}
	account.Data = data.Bytes()
	b.Accounts = []chain.Account{account}

	book := unknowntest.New(t)
	r, err := runner.New(runner.Config{Sources: []source.Source{blocks("geyser", b)}}, runner.Deps{Producer: &log{}, Unknowns: book})
	require.NoError(t, err)
	require.NoError(t, r.Run(context.Background()))

	noted := unknowntest.Noted(t, book)
	names := make([]string, 0, len(noted))
	for name := range noted {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"instruction/spl_token 200", "instruction/spl_token 7: data is too short", "instruction/token_2022 44.9", "instruction/metaplex 99",
		"instruction/metaplex 49.7", "token_extension/unknown_31",
	}, names)
	found := noted["instruction/spl_token 200"]
	require.EqualValues(t, 2, found.Count)
	require.Equal(t, []byte{200, 1, 2}, found.Sample)
	require.EqualValues(t, 100, *found.FirstSlot)
	require.Equal(t, base58.Encode(b.Transactions[0].Signature[:]), found.SamplePlace)
	extension := noted["token_extension/unknown_31"]
	require.Equal(t, "new", string(extension.Sample))
	require.Equal(t, mint.String(), extension.SamplePlace)
}

// TestAVersionAboveTheHighestIsNoted: with a reader that stops at version 0, the first block with
// version 1 brings it under the unknowns, with the bytes of one of its transactions. The next block
// of the same form, read by a reader of all versions, brings nothing.
func TestAVersionAboveTheHighestIsNoted(t *testing.T) {
	message, err := os.ReadFile(testkit.Shared(t, "data/chain-2026/blocks/332254855-alpenglow/geyser/332254855.subscribeupdate.bin"))
	require.NoError(t, err)
	noted := func(reader parse.Reader, book *unknowns.Book) map[string]unknowns.Known {
		update, err := reader.GeyserUpdate(message[4:])
		require.NoError(t, err)
		r, err := runner.New(runner.Config{Sources: []source.Source{blocks("geyser", update.Block)}}, runner.Deps{Producer: &log{}, Unknowns: book})
		require.NoError(t, err)
		require.NoError(t, r.Run(t.Context()))
		return unknowntest.Noted(t, book)
	}
	book := unknowntest.New(t)
	found := noted(parse.UpTo(txwire.V0).Noting(book), book)
	require.Len(t, found, 1)
	version := found["transaction_version/1"]
	require.Greater(t, version.Count, uint64(30))
	require.EqualValues(t, 332254855, *version.FirstSlot)
	require.Equal(t, []string{"ingest"}, version.Sources)
	require.Regexp(t, `^slot 332254855, transaction \d+ \w+$`, version.SamplePlace)
	require.NotEmpty(t, version.Sample)

	book = unknowntest.New(t)
	require.Empty(t, noted(parse.Reader{}.Noting(book), book))
}

// TestAWithheldBlockIsNoted: a server that withholds a block for its version names it.
func TestAWithheldBlockIsNoted(t *testing.T) {
	book := unknowntest.New(t)
	refuse := func(ctx context.Context, sink source.Sink) error {
		sink.Refused(ctx, "slot 7", &txwire.VersionError{Version: 2, Highest: txwire.Highest})
		return nil
	}
	r, err := runner.New(runner.Config{Sources: []source.Source{&steps{kind: "rpc", do: []step{refuse}}}}, runner.Deps{Producer: &log{}, Unknowns: book})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.Equal(t, "slot 7", unknowntest.Noted(t, book)["transaction_version/2"].SamplePlace)
}
