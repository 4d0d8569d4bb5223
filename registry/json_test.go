package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/registry"
)

// sameAsJSON demands what encoding/json says, of values and of errors.
func sameAsJSON(t require.TestingT, text string) {
	var document registry.Offchain
	err := json.Unmarshal([]byte(text), &document)
	got, gotErr := registry.UnmarshalOffchain(text)
	require.Equal(t, err == nil, gotErr == nil, text)
	if err == nil {
		require.Equal(t, document, got, text)
	}
	var logo registry.Logo
	err = json.Unmarshal([]byte(text), &logo)
	gotLogo, gotErr := registry.UnmarshalLogo(text)
	require.Equal(t, err == nil, gotErr == nil, text)
	if err == nil {
		require.Equal(t, logo, gotLogo, text)
	}
}

var oddJSON = []string{
	``, `{`, `{}`, `{ }`, `null`, `[]`, `"x"`, `{"uri":"a"}`, `{"uri":"a",}`, `{,"uri":"a"}`, `{"uri":"a" }`, `{"uri":null}`, `{"URI":"a"}`, `{"uri":"a","uri":"b"}`, `{"uri":"a"}x`,
	`{"uri":"\u0041"}`, "{\"uri\":\"a\nb\"}", "{\"uri\":\"\xff\"}", `{"other":1}`, `{"tags":[]}`, `{"tags":["a","b"]}`, `{"tags":["a",]}`, `{"tags":[,]}`, `{"tags":["a"],"tags":["b"]}`,
	`{"extensions":{}}`, `{"extensions":{"a":"b","a":"c"}}`, `{"extensions":{"a":"b"},"extensions":{"c":"d"}}`, `{"extensions":{"a":1}}`, `{"extensions":null}`, `{"tags":null}`,
	`{"url":"u","status":"ok"}`, `{"url":"u","status":"ok","purge":7}`, `{"purge":07}`, `{"purge":18446744073709551616}`, `{"purge":-1}`, `{"purge":}`, `{"purge":1.0}`, `{"purge":"1"}`, `{"uri"}`, `{"uri":`, `{"uri":"`,
}

func TestReadsJSONAsTheStandardLibraryDoes(t *testing.T) {
	for _, text := range oddJSON {
		sameAsJSON(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"{", "}", `"`, ":", ",", "[", "]", `"uri"`, `"name"`, `"tags"`, `"extensions"`, `"url"`, `"purge"`, "1", "é", " ", `"a"`, `"a":"b"`})
		text := ""
		for range rapid.IntRange(0, 14).Draw(t, "words") {
			text += words.Draw(t, "word")
		}
		sameAsJSON(t, text)
		document, err := json.Marshal(registry.Offchain{
			URI: rapid.String().Draw(t, "uri"), Name: rapid.String().Draw(t, "name"), Description: rapid.String().Draw(t, "description"),
			Extensions: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "extensions"), Tags: rapid.SliceOf(rapid.String()).Draw(t, "tags"),
		})
		require.NoError(t, err)
		sameAsJSON(t, string(document))
	})
}

func FuzzReadsJSON(f *testing.F) {
	for _, text := range oddJSON {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsJSON(t, text) })
}
