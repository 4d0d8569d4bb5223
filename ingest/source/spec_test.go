package source

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func slot(n uint64) *uint64 { return &n }

func TestParseSpec(t *testing.T) {
	good := map[string]Spec{
		"none":                       {Kind: KindNone},
		"demo:":                      {Kind: KindDemo, Params: url.Values{}},
		"demo":                       {Kind: KindDemo, Params: url.Values{}},
		"demo:?tps=100&seed=7":       {Kind: KindDemo, Params: url.Values{"tps": {"100"}, "seed": {"7"}}},
		"file:../shared/data/blocks": {Kind: KindFile, Path: "../shared/data/blocks"},
		"file:/a:b?c":                {Kind: KindFile, Path: "/a:b?c"},
		"file:a?speed=realtime":      {Kind: KindFile, Path: "a", Speed: 1},
		"file:a?speed=full":          {Kind: KindFile, Path: "a"},
		"file:a?b?speed=2.5":         {Kind: KindFile, Path: "a?b", Speed: 2.5},
		"geyser+https://h:443":       {Kind: KindGeyser, Endpoint: "https://h:443"},
		"geyser+http://127.0.0.1:10000?commitment=finalized": {Kind: KindGeyser, Endpoint: "http://127.0.0.1:10000", Commitment: "finalized"},
		"geyser+http://h:1?from=7":                           {Kind: KindGeyser, Endpoint: "http://h:1", From: slot(7)},
		"rpc+https://h/path?api-key=K&from=5&to=9":           {Kind: KindRPC, Endpoint: "https://h/path?api-key=K", From: slot(5), To: slot(9)},
		"rpc+http://h":        {Kind: KindRPC, Endpoint: "http://h"},
		"rpc+http://h?from=5": {Kind: KindRPC, Endpoint: "http://h", From: slot(5)},
	}
	for s, want := range good {
		got, err := ParseSpec(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	bad := []string{"", "x", "file:?speed=1", "file:a?speed=0", "file:a?speed=-1", "file:a?speed=NaN", "file:a?speed=fast", "file:", "file", "https://h", "rpc+ftp://h", "rpc+https:", "geyser+https://u:SECRET@h", "geyser+https://h?x-token=SECRET",
		"geyser+https://h/SECRET", "geyser+https://h?from=x", "geyser+https://h?to=5", "rpc+https://h?apiKey=SECRET&from=x", "rpc+https://h?from=9&to=5", "rpc+https://h?to=5", "rpc+https://h?from=-1",
		"rpc+https://h?commitment=processed", "demo:tps=1", "demo:?%zz", "rpc+https://h?%zz"}
	for _, s := range bad {
		_, err := ParseSpec(s)
		require.Error(t, err, s)
		require.NotContains(t, err.Error(), "SECRET")
		require.NotContains(t, err.Error(), "\n")
	}
}
