package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	c, err := Read([]byte(` {"jsonrpc":"2.0","id":"a","method":"ping","params":[1,{}],"more":true}`))
	require.NoError(t, err)
	require.Equal(t, Call{"2.0", json.RawMessage(`"a"`), "ping", json.RawMessage("[1,{}]")}, c)
	require.False(t, c.Notification())
	params, err := c.List()
	require.NoError(t, err)
	require.Equal(t, []json.RawMessage{json.RawMessage("1"), json.RawMessage("{}")}, params)

	c, err = Read([]byte(`{"jsonrpc":"2.0","method":"ping","params":null}`))
	require.NoError(t, err)
	require.True(t, c.Notification())
	params, err = c.List()
	require.NoError(t, err)
	require.Empty(t, params)
}

func TestWhatIsNoCallIsRefused(t *testing.T) {
	for text, want := range map[string]Error{
		``:                                       {Code: CodeParse, Message: "no JSON-RPC"},
		`x`:                                      {Code: CodeParse, Message: "no JSON-RPC"},
		`7`:                                      {Code: CodeInvalidRequest, Message: "an object"},
		` [{"jsonrpc":"2.0"}]`:                   {Code: CodeInvalidRequest, Message: "one call a message"},
		`{}`:                                     {Code: CodeInvalidRequest, Message: "jsonrpc must be"},
		`{"jsonrpc":"2.0"}`:                      {Code: CodeInvalidRequest, Message: "method must be"},
		`{"jsonrpc":"2.0","method":"a","id":{}}`: {Code: CodeInvalidRequest, Message: "id must be"},
		`{"jsonrpc":"2.0","method":"a","params":"x"}`:                              {Code: CodeInvalidRequest, Message: "params must be"},
		`{"jsonrpc":"2.0","method":"` + strings.Repeat("a", maxMethod+1) + `"}`:    {Code: CodeInvalidRequest, Message: "method must be"},
		`{"jsonrpc":"2.0","method":"a","id":"` + strings.Repeat("a", maxID) + `"}`: {Code: CodeInvalidRequest, Message: "id must have"},
	} {
		_, err := Read([]byte(text))
		var got *Error
		require.ErrorAs(t, err, &got, text)
		require.Equal(t, want.Code, got.Code, text)
		require.Contains(t, got.Message, want.Message, text)
	}
	c := Call{Params: json.RawMessage(`{"a":1}`)}
	_, err := c.List()
	require.ErrorContains(t, err, "an array")
}

func TestAnswers(t *testing.T) {
	require.JSONEq(t, `{"jsonrpc":"2.0","result":true,"id":7}`, string(Result(json.RawMessage("7"), true)))
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32005,"message":"away","data":[1]},"id":null}`,
		string(Failure(nil, &Error{CodeUnavailable, "away", []int{1}})))
}

// FuzzRead: whatever comes, it is a call or an error, and both can be answered.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":[1],"method":"ping"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(text)
		if err == nil {
			_, err = c.List()
		}
		var failure *Error
		if err != nil {
			require.ErrorAs(t, err, &failure)
			require.True(t, json.Valid(Failure(c.ID, failure)))
		}
		require.True(t, json.Valid(Result(c.ID, c.Method)))
	})
}
