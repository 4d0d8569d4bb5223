package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/unknowns"
)

func TestUnknownsAreListed(t *testing.T) {
	first, last := uint64(400000001), uint64(400000009)
	list := []unknowns.Known{
		{Kind: "instruction", Name: "spl_token 99", Count: 12, Sources: []string{"ingest"}, LastSeenMS: 1_795_000_000_000, FirstSlot: &first, LastSlot: &last, Sample: []byte{99, 1}, SampleBytes: 2, SamplePlace: "5sig"},
		{Kind: "rpc_error_code", Name: "-32099", Count: 1, Sources: []string{"rpc_client", "swap"}, LastSeenMS: 1_795_000_000_000, Sample: []byte("text"), SampleBytes: 4, SamplePlace: "getBlock"},
	}
	var out bytes.Buffer
	require.NoError(t, writeUnknowns(&out, list, true))
	require.Equal(t, `KIND            NAME          COUNT  SLOTS                LAST SEEN             WHERE
instruction     spl_token 99  12     400000001-400000009  2026-11-18T11:06:40Z  ingest
rpc_error_code  -32099        1      -                    2026-11-18T11:06:40Z  rpc_client swap

instruction spl_token 99: 5sig
2 bytes, the first 2 in base64:
YwE=

rpc_error_code -32099: getBlock
4 bytes, the first 4 in base64:
dGV4dA==
`, out.String())
	out.Reset()
	require.NoError(t, writeUnknowns(&out, nil, true))
	require.Equal(t, "there are no unknowns\n", out.String())
	_, err := runCommand(t, "unknowns", "--kind", "nonsense")
	require.ErrorContains(t, err, "transaction_version")
}
