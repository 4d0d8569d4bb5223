package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestBodiesEqualEncodingJSON: whoever adds a field to a body adds it to appendJSON too.
func TestBodiesEqualEncodingJSON(t *testing.T) {
	one, name := &registry.Token{Mint: pubkey.Key{1}, Symbol: "<S>"}, "n"
	two := &registry.Token{Mint: pubkey.Key{2}, Description: &name, Tags: []string{"t"}}
	rows := []row{{token: one}, {token: two}}
	cases := []struct{ body, same any }{
		{one, one}, {map[string]any{"x": 1}, map[string]any{"x": 1}},
		{searchResponse{}, struct {
			Items []*registry.Token `json:"items"`
			Page  int               `json:"page"`
			Limit int               `json:"limit"`
			Total int               `json:"total"`
		}{Items: []*registry.Token{}}},
		{searchResponse{rows: rows, page: 9_223_372_036_854_775_807, limit: 200, total: 2, walks: true, next: "x"}, struct {
			Items []*registry.Token `json:"items"`
			Page  int               `json:"page"`
			Limit int               `json:"limit"`
			Total int               `json:"total"`
			Next  string            `json:"next_cursor"`
		}{[]*registry.Token{one, two}, 9_223_372_036_854_775_807, 200, 2, "x"}},
		{batchResponse{rows: rows, unknown: []string{"\xff", ""}}, struct {
			Items   []*registry.Token `json:"items"`
			Unknown []string          `json:"unknown"`
		}{[]*registry.Token{one, two}, []string{"\xff", ""}}},
	}
	for _, c := range cases {
		want, err := json.Marshal(c.same)
		require.NoError(t, err)
		got, err := encodeJSON(c.body)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

// TestFieldsAreThoseOfTheRow: picking every field is the whole row, and each alone is what it is in
// there.
func TestFieldsAreThoseOfTheRow(t *testing.T) {
	text, number, volume := `a "\\{[,]}" <b>`, int64(7), 1e-7
	token := &registry.Token{
		Mint: pubkey.Key{1}, Symbol: `",`, Name: "}{", LogoURL: &text, DailyVolumeUSD: &volume, FirstSeenAt: &number, Description: &text,
		Extensions: map[string]string{`x",`: text, "y": "]"}, Tags: []string{text, "}"},
	}
	whole, err := encodeJSON(token)
	require.NoError(t, err)
	fields := rowFields()
	all := rowWriter{shape: shape{fields: fields}}
	require.Equal(t, string(whole), string(all.appendRow(nil, &row{token: token})))
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(whole, &members))
	for _, field := range fields {
		one := rowWriter{shape: shape{fields: []string{field}}}
		want, err := json.Marshal(map[string]json.RawMessage{})
		require.NoError(t, err)
		if value, there := members[field]; there {
			want = append(append([]byte(`{"`+field+`":`), value...), '}')
		}
		require.Equal(t, string(want), string(one.appendRow(nil, &row{token: token})), field)
	}
}
