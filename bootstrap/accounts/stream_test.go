package accounts

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const element = `{"pubkey":"So11111111111111111111111111111111111111112","account":{"owner":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","data":["AQID","base64"],"lamports":1}}`

func TestDecodeAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   page
		err    error
	}{
		"plain":            {`{"jsonrpc":"2.0","result":{"context":{"slot":7},"value":[` + element + `,` + element + `]},"id":1}`, page{slot: 7, accounts: 2}, nil},
		"empty":            {`{"result":{"context":{"slot":7},"value":[]}}`, page{slot: 7}, nil},
		"page":             {`{"result":{"context":{"slot":7},"value":{"accounts":[` + element + `],"paginationKey":"abc","totalResults":9}}}`, page{slot: 7, accounts: 1, cursor: "abc"}, nil},
		"page, key first":  {`{"result":{"context":{"slot":7},"value":{"paginationKey":"abc","accounts":[]}}}`, page{slot: 7, cursor: "abc"}, nil},
		"last page":        {`{"result":{"context":{"slot":7},"value":{"accounts":[],"paginationKey":null}}}`, page{slot: 7}, nil},
		"cut off":          {`{"result":{"context":{"slot":7},"value":[` + element, page{slot: 7, accounts: 1}, errMalformed},
		"cut off behind":   {`{"result":{"context":{"slot":7},"value":[` + element + `]}`, page{slot: 7, accounts: 1}, errMalformed},
		"slot at the end":  {`{"result":{"value":[` + element + `],"context":{"slot":7}}}`, page{}, errNoContext},
		"no slot":          {`{"result":{"context":{},"value":[]}}`, page{}, errNoContext},
		"page, no context": {`{"result":{"accounts":[` + element + `],"paginationKey":"abc"}}`, page{}, errNoContext},
		"no accounts":      {`{"result":{"context":{"slot":7},"value":{"paginationKey":"abc"}}}`, page{slot: 7, cursor: "abc"}, errMalformed},
		"bare list":        {`{"result":[` + element + `]}`, page{}, errNoContext},
		"no result":        {`{"id":1}`, page{}, errMalformed},
		"null":             {`null`, page{}, errMalformed},
		"nothing":          {``, page{}, errMalformed},
		"other encoding":   {`{"result":{"context":{"slot":7},"value":[` + strings.Replace(element, `"base64"`, `"base58"`, 1) + `]}}`, page{slot: 7}, errMalformed},
		"bad base64":       {`{"result":{"context":{"slot":7},"value":[` + strings.Replace(element, `AQID`, `*`, 1) + `]}}`, page{slot: 7}, errMalformed},
		"bad key":          {`{"result":{"context":{"slot":7},"value":[` + strings.Replace(element, `So1`, `So0`, 1) + `]}}`, page{slot: 7}, errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeAnswer(strings.NewReader(c.answer), func(slot uint64, a *account) error {
				require.Equal(t, []byte{1, 2, 3}, a.data)
				require.EqualValues(t, 7, slot)
				return nil
			})
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, got)
		})
	}
}

// FuzzDecodeAnswer: whatever a server sends, the decoder ends with an answer or an error of its own
// kinds, and calls back with a slot only.
func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","result":{"context":{"slot":7},"value":[` + element + `]},"id":1}`))
	f.Add([]byte(`{"result":{"context":{"slot":7},"value":{"accounts":[` + element + `],"paginationKey":"abc"}}}`))
	f.Add([]byte(`{"error":{"code":-32012,"message":"x"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := int64(0)
		answer, err := decodeAnswer(strings.NewReader(string(raw)), func(_ uint64, a *account) error {
			seen++
			_, _ = factOf(a.owner, 1, a)
			return nil
		})
		require.Equal(t, seen, answer.accounts)
		if err != nil && !errors.Is(err, errMalformed) && !errors.Is(err, errNoContext) {
			require.ErrorContains(t, err, "rpc error")
		}
	})
}
