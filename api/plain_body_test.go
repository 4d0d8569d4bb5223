package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainBodies are bodies as clients write them.
var plainBodies = []string{
	`{"mints":["a"]}`,
	` { "mints" : [ "a" , "b", "a" ] , "states" : true }` + "\r\n\t",
	`{"wait_ms":5000,"states":false,"mints":["So11111111111111111111111111111111111111112",""]}`,
	`{"wait_ms":0 ,"mints":["~ !"]}`,
	`{"mints":[` + strings.Repeat(`"x",`, maxBatch-1) + `"x"]}`,
}

// otherBodies are left to encoding/json, if only for its word of what is wrong.
var otherBodies = []string{
	``, `{}`, `[]`, `null`, `{"mints":[]}`, `{"mints":["a",]}`, `{"mints":["a"],}`, `{"mints":["a"]}}`, `{"mints":["a"]`, `{"mints":["a]}`, `{"mints":["\u0041"]}`,
	`{"mints":["é"]}`, `{"mints":["` + "\x01" + `"]}`, `{"mints":["a"],"mints":["b"]}`, `{"mints":[1]}`, `{"mints":null}`, `{"MINTS":["a"]}`, `{"more":1,"mints":["a"]}`,
	`{"mints":["a"],"wait_ms":01}`, `{"mints":["a"],"wait_ms":5001}`, `{"mints":["a"],"wait_ms":-1}`, `{"mints":["a"],"wait_ms":1.0}`, `{"mints":["a"],"wait_ms":}`,
	`{"mints":["a"],"wait_ms":99999999}`, `{"mints":["a"],"wait_ms":1,"wait_ms":2}`, `{"mints":["a"],"states":1}`, `{"mints":["a"],"states":TRUE}`,
	`{"mints":["a"],"states":true,"states":false}`, `{,"mints":["a"]}`, `{"mints" ["a"]}`, `{"mints":["a" "b"]}`, `{"mints":[` + strings.Repeat(`"x",`, maxBatch) + `"x"]}`,
}

func TestPlainBatch(t *testing.T) {
	for _, body := range plainBodies {
		_, ok := parsePlainBatch(body, defaultMaxWait)
		require.True(t, ok, body)
	}
	for _, body := range otherBodies {
		_, ok := parsePlainBatch(body, defaultMaxWait)
		require.False(t, ok, body)
	}
}

// FuzzPlainBatch: what is read as plain is what encoding/json reads.
func FuzzPlainBatch(f *testing.F) {
	for _, body := range append(plainBodies, otherBodies...) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if plain, ok := parsePlainBatch(body, defaultMaxWait); ok {
			want, err := parseAnyBatch([]byte(body), defaultMaxWait)
			require.NoError(t, err)
			require.Equal(t, want, plain)
		}
	})
}
