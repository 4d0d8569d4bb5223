package parse

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// reencoded is a parsed instruction with its accounts and data in hexadecimal digits.
type reencoded struct{ parsed, accounts, data string }

func requireReencoded(t *testing.T, tx *chain.Transaction, cases []reencoded) {
	t.Helper()
	for _, tc := range cases {
		text := tc.parsed
		for i := 1; i <= 4; i++ {
			text = strings.ReplaceAll(text, fmt.Sprintf(`"K%d"`, i), `"`+base58.Encode(tx.Keys[i][:])+`"`)
		}
		var call chain.Call
		require.NoError(t, (&builder{}).reencode(tx, &call, jsonwalk.New([]byte(text))), tc.parsed)
		require.Equal(t, tc.accounts, hex.EncodeToString(call.Accounts), tc.parsed)
		require.Equal(t, tc.data, hex.EncodeToString(call.Data), tc.parsed)
	}
}

// Layouts are those of spl-token-2022-interface; the infos are as agave's parser writes them. K1 to
// K4 stand for keys 1 to 4.
func TestReencode(t *testing.T) {
	one := `0101010101010101010101010101010101010101010101010101010101010101`
	zero := `0000000000000000000000000000000000000000000000000000000000000000`
	cases := []reencoded{
		{`{"type":"setAuthority","info":{"mint":"K2","authorityType":"mintTokens","newAuthority":null,"authority":"K3"}}`, "0203", "060000"},
		{`{"type":"setAuthority","info":{"account":"K2","authorityType":"closeAccount","newAuthority":"K1","multisigAuthority":"K3","signers":["K4","K1"]}}`, "02030401", "060301" + one},
		{`{"type":"mintToChecked","info":{"mint":"K1","account":"K2","mintAuthority":"K3","tokenAmount":{"amount":"18446744073709551615","decimals":9,"uiAmount":null}}}`, "010203", "0effffffffffffffff09"},
		{`{"type":"freezeAccount","info":{"account":"K1","mint":"K2","freezeAuthority":"K3"}}`, "010203", "0a"},
		{`{"type":"initializeTransferFeeConfig","info":{"mint":"K2","transferFeeBasisPoints":42,"maximumFee":18446744073709551615,"withdrawWithheldAuthority":"K1"}}`, "02", "1a000001" + one + "2a00ffffffffffffffff"},
		{`{"type":"setTransferFee","info":{"mint":"K2","transferFeeBasisPoints":1,"maximumFee":2,"multisigtransferFeeConfigAuthority":"K3","signers":["K4"]}}`, "020304", "1a0501000200000000000000"},
		{`{"type":"transferCheckedWithFee","info":{"source":"K1","mint":"K2","destination":"K3","authority":"K4","tokenAmount":{"amount":"5","decimals":6},"feeAmount":{"amount":"1","decimals":6}}}`, "01020304", "1a010500000000000000060100000000000000"},
		{`{"type":"initializeDefaultAccountState","info":{"mint":"K1","accountState":"frozen"}}`, "01", "1c0002"},
		{`{"type":"initializeInterestBearingConfig","info":{"mint":"K2","rateAuthority":null,"rate":-5}}`, "02", "2100" + zero + "fbff"},
		{`{"type":"updateTokenMetadataField","info":{"metadata":"K1","updateAuthority":"K2","field":"uri","value":"ab"}}`, "0102", "dde9312db5cadcc802020000006162"},
		{`{"type":"updateTokenMetadataField","info":{"metadata":"K1","updateAuthority":"K2","field":"x","value":""}}`, "0102", "dde9312db5cadcc8" + "03" + "0100000078" + "00000000"},
		{`{"type":"removeTokenMetadataKey","info":{"metadata":"K1","updateAuthority":"K2","key":"x","idempotent":true}}`, "0102", "ea122038598d25b501" + "0100000078"},
		{`{"type":"initializeScaledUiAmountConfig","info":{"mint":"K1","authority":"K1","multiplier":"1.5"}}`, "01", "2b00" + one + "000000000000f83f"},
		{`{"type":"resume","info":{"mint":"K1","authority":"K2"}}`, "0102", "2c02"},
		{`{"type":"batch","info":{"instructions":[{"type":"burn","info":{"account":"K1","mint":"K2","amount":"7","authority":"K3"}},{"type":"closeAccount","info":{"account":"K1","destination":"K4","owner":"K3"}}]}}`,
			"010203010403", "ff" + "0309080700000000000000" + "030109"},
		{`{"type":"somethingNew","info":{"mint":"K1"}}`, "", ""},
		{`"a memo"`, "", ""},
	}
	tx := &chain.Transaction{Keys: []pubkey.Key{tokenPrograms[1]}}
	for i := byte(1); i <= 4; i++ {
		var k pubkey.Key
		for j := range k {
			k[j] = i
		}
		tx.Keys = append(tx.Keys, k)
	}
	requireReencoded(t, tx, cases)
	for program, cases := range map[string][]reencoded{
		"11111111111111111111111111111111": {
			{`{"type":"transfer","info":{"source":"K1","destination":"K2","lamports":258}}`, "0102", "02000000" + "0201000000000000"},
			{`{"type":"createAccount","info":{"source":"K1","newAccount":"K2","lamports":1,"space":165,"owner":"K1"}}`, "0102",
				"00000000" + "0100000000000000" + "a500000000000000" + one},
			{`{"type":"createAccountWithSeed","info":{"source":"K1","newAccount":"K2","base":"K1","seed":"ab","lamports":1,"space":2,"owner":"K1"}}`, "0102",
				"03000000" + one + "0200000000000000" + "6162" + "0100000000000000" + "0200000000000000" + one},
			{`{"type":"transferWithSeed","info":{"source":"K1","sourceBase":"K2","destination":"K3","lamports":1}}`, "010203", "0b000000" + "0100000000000000"},
			{`{"type":"transfer","info":{"source":"x"}}`, "", ""},
			{`{"type":"batch","info":{}}`, "", ""},
		},
		"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": {
			{`{"type":"createIdempotent","info":{"source":"K1","account":"K2","wallet":"K1","mint":"K3","systemProgram":"K4","tokenProgram":"K4"}}`, "010201030404", "01"},
		},
	} {
		tx.Keys[0] = pubkey.MustParse(program)
		requireReencoded(t, tx, cases)
	}
	tx.Keys[0] = tokenPrograms[1]
	for _, bad := range []string{
		`{"type":"burn","info":{"account":"x","mint":"x","amount":"7"}}`,
		`{"type":"mintTo","info":{"amount":"7"}}`,
		`{"type":"initializeMint2","info":{}}`,
		`{"type":"syncNative"}`,
		`{"type":7,"info":{}}`,
		`{"type":"batch","info":{}}`,
	} {
		var call chain.Call
		require.Error(t, (&builder{}).reencode(tx, &call, jsonwalk.New([]byte(bad))), bad)
	}
}
