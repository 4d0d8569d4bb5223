package cli

import (
	"context"
	"slices"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// tokens returns the rows of mints, whose symbols and decimals a table needs. A mint that the
// registry does not have is left out.
func (a *ask) tokens(ctx context.Context, mints []string) (map[string]*rest.Token, error) {
	mints = slices.Compact(slices.Sorted(slices.Values(mints)))
	rows := make(map[string]*rest.Token, len(mints))
	for part := range slices.Chunk(mints, client.MaxBatch) {
		found, err := a.Batch(ctx, rest.BatchRequest{Mints: part})
		if err != nil {
			return nil, err
		}
		for i := range found.Items {
			rows[found.Items[i].Mint] = &found.Items[i]
		}
	}
	return rows, nil
}

// symbolOf returns the symbol of a token, or its mint if it has no symbol or the registry does not
// have it.
func symbolOf(token *rest.Token, mint string) string {
	if token == nil || token.Symbol == "" {
		return mint
	}
	return token.Symbol
}

// amountOf formats a raw amount in whole tokens, if the token is known.
func amountOf(raw string, token *rest.Token) string {
	if token == nil {
		return raw + " raw"
	}
	return terminal.Amount(raw, token.Decimals)
}

// or returns the text, or a dash for none.
func or(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
