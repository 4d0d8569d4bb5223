package tokenaccount_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

func readTSV(t testing.TB, rel string) []map[string]string {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, rel))
	require.NoError(t, err)
	var header []string
	var rows []map[string]string
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if header == nil {
			header = cells
			continue
		}
		row := map[string]string{}
		for i, cell := range cells {
			row[header[i]] = cell
		}
		rows = append(rows, row)
	}
	require.NoError(t, scanner.Err())
	require.NotEmpty(t, rows)
	return rows
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	require.NoError(t, err)
	return raw
}

func attributes(extension tokenaccount.Extension) map[string]string {
	out := map[string]string{}
	for _, attribute := range extension.Attributes {
		out[attribute.Name] = attribute.Value
	}
	return out
}

func TestPYUSD(t *testing.T) {
	data, err := os.ReadFile(testkit.Shared(t, "data/token2022/pyusd_mint"))
	require.NoError(t, err)
	mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, data)
	require.NoError(t, err)

	require.True(t, mint.Program == tokenaccount.ProgramToken2022)
	require.EqualValues(t, 6, mint.Decimals)
	require.EqualValues(t, 0x736482_63e92e, mint.Supply)
	require.Equal(t, "2apBGMsS6ti9RyF5TwQTDswXBWskiJP2LD4cUEDqYJjk", mint.FreezeAuthority.String())
	var names []string
	for _, extension := range mint.Extensions {
		names = append(names, extension.Name)
	}
	require.Equal(t, []string{
		"mint_close_authority", "permanent_delegate", "transfer_fee_config", "confidential_transfer_mint",
		"confidential_transfer_fee_config", "transfer_hook", "metadata_pointer", "token_metadata",
	}, names)
	require.Equal(t, "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", mint.MetadataPointer.String(), "PYUSD points to itself")
	require.Equal(t, *mint.MetadataPointer, mint.TokenMetadata.Mint)
	require.Equal(t, "PayPal USD", string(mint.TokenMetadata.Name))
	require.Equal(t, "PYUSD", string(mint.TokenMetadata.Symbol))
	require.Equal(t, "https://token-metadata.paxos.com/pyusd_metadata/prod/solana/pyusd_metadata.json", string(mint.TokenMetadata.URI))
	fee := attributes(mint.Extensions[2])
	require.Equal(t, "605", fee["newer_transfer_fee_epoch"])
	require.Equal(t, "0", fee["withheld_amount"])
	require.Equal(t, "", attributes(mint.Extensions[5])["program_id"], "no hook program")

	fact := mint.Fact(*mint.MetadataPointer)
	require.Len(t, fact.GetExtensions(), 8)
	require.Equal(t, eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022, fact.GetTokenMetadata().GetMetadataProgram())
	require.NotNil(t, fact.GetTokenMetadata().UpdateAuthority)
}

func TestMultiExtensionAccounts(t *testing.T) {
	for _, row := range readTSV(t, "data/token2022/solana-token2022-accounts.tsv") {
		data := unhex(t, row["data_hex"])
		mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, data)
		if row["kind"] != "Mint" {
			require.ErrorIs(t, err, tokenaccount.ErrOtherKind)
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 0x0102030405060708, mint.Supply)
		require.EqualValues(t, 9, mint.Decimals)
		require.Equal(t, bytes.Repeat([]byte{0x12}, 32), mint.FreezeAuthority[:])
		byName := map[string]map[string]string{}
		for _, extension := range mint.Extensions {
			byName[extension.Name] = attributes(extension)
		}
		require.Len(t, byName, 7)
		require.Equal(t, "-321", byName["interest_bearing_config"]["pre_update_average_rate"])
		require.Equal(t, "1.25", byName["scaled_ui_amount"]["multiplier"])
		require.Equal(t, "2.5", byName["scaled_ui_amount"]["new_multiplier"])
		require.Equal(t, "true", byName["pausable"]["paused"])
		require.Contains(t, byName, "permissioned_burn")
	}
}

// withExtension is a smallest valid Token-2022 mint that carries one extension.
func withExtension(extensionType int, value []byte) []byte {
	data := make([]byte, 166, 170+len(value))
	data[45] = 1
	data[165] = 1
	data = append(data, byte(extensionType), byte(extensionType>>8), byte(len(value)), byte(len(value)>>8))
	return append(data, value...)
}

func TestEveryExtensionLayout(t *testing.T) {
	for _, row := range readTSV(t, "data/token2022/solana-token2022-extensions.tsv") {
		ordinal, err := strconv.Atoi(row["ordinal"])
		require.NoError(t, err)
		if row["account_type"] != "Mint" {
			continue
		}
		value := unhex(t, row["value_hex"])
		mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, withExtension(ordinal, value))
		require.NoError(t, err, row["name"])
		require.Len(t, mint.Extensions, 1)
		require.Equal(t, strings.ReplaceAll(mint.Extensions[0].Name, "_", ""), strings.ToLower(row["name"]))
		require.NotContains(t, attributes(mint.Extensions[0]), "raw", "%s of %d bytes is understood", row["name"], len(value))

		// The program refuses another length; we keep such a value raw, since it can only come from
		// a newer program.
		longer, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, withExtension(ordinal, append(value, 7)))
		require.NoError(t, err)
		if row["length_kind"] == "fixed" {
			require.Contains(t, attributes(longer.Extensions[0]), "raw", row["name"])
		}
	}
}

func TestBoolsAreTrueWhenNotZero(t *testing.T) {
	for _, row := range readTSV(t, "data/token2022/solana-token2022-bools.tsv") {
		ordinal, err := strconv.Atoi(row["ordinal"])
		require.NoError(t, err)
		mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, withExtension(ordinal, unhex(t, row["value_hex"])))
		require.NoError(t, err)
		field := map[string]string{
			"autoApproveNewAccounts": "auto_approve_new_accounts", "harvestToMintEnabled": "harvest_to_mint_enabled", "paused": "paused",
		}[row["field"]]
		if field == "" {
			continue // an extension of accounts, not of mints
		}
		require.Equal(t, row["rust_value"], attributes(mint.Extensions[0])[field])
	}
}

func TestTokenMetadataVectors(t *testing.T) {
	for _, row := range readTSV(t, "data/token2022/solana-token2022-metadata.tsv") {
		if row["value_hex"] == "-" {
			continue
		}
		metadata, err := tokenaccount.ParseTokenMetadata(unhex(t, row["value_hex"]))
		require.NoError(t, err, row["id"])
		if row["rust_unpack_accepts"] != "true" {
			continue // Not UTF-8: Rust refuses it, we hand the bytes on and the fold replaces them.
		}
		require.Equal(t, bytes.Repeat([]byte{0x11}, 32), metadata.UpdateAuthority[:])
		require.Equal(t, strings.Repeat(string(unhex(t, row["name_unit_utf8_hex"])), atoi(t, row["name_repetitions"])), string(metadata.Name))
		require.Equal(t, unhex(t, row["symbol_utf8_hex"]), metadata.Symbol)
		require.Equal(t, unhex(t, row["uri_utf8_hex"]), metadata.URI)
		var keys, values []string
		for _, field := range metadata.AdditionalFields {
			keys, values = append(keys, hex.EncodeToString(field.Key)), append(values, hex.EncodeToString(field.Value))
		}
		require.Equal(t, row["extra_keys_utf8_hex"], strings.Join(keys, ","))
		require.Equal(t, row["extra_values_utf8_hex"], strings.Join(values, ","))
	}
}

func atoi(t testing.TB, text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestClassicMint(t *testing.T) {
	data := make([]byte, 82)
	data[44], data[45] = 9, 1
	mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken, data)
	require.NoError(t, err)
	require.EqualValues(t, 9, mint.Decimals)
	require.Nil(t, mint.MintAuthority)
	require.Nil(t, mint.FreezeAuthority)
	require.False(t, mint.Program == tokenaccount.ProgramToken2022)

	data[0] = 1
	mint, err = tokenaccount.ParseMint(tokenaccount.ProgramToken, data)
	require.NoError(t, err)
	require.Equal(t, "11111111111111111111111111111111", mint.MintAuthority.String(), "the system program is an authority, not none")
}

func TestWhatIsNoMint(t *testing.T) {
	initialized := make([]byte, 82)
	initialized[45] = 1
	badTag := bytes.Clone(initialized)
	badTag[0] = 2
	padded := withExtension(9, nil)
	padded[100] = 1
	cut := withExtension(1, make([]byte, 108))
	for name, test := range map[string]struct {
		owner pubkey.Key
		data  []byte
		want  error
	}{
		"system account":            {pubkey.Key{}, nil, tokenaccount.ErrOtherOwner},
		"classic token account":     {tokenaccount.ProgramToken, make([]byte, 165), tokenaccount.ErrOtherKind},
		"classic multisig":          {tokenaccount.ProgramToken, make([]byte, 355), tokenaccount.ErrOtherKind},
		"classic, extended length":  {tokenaccount.ProgramToken, make([]byte, 170), tokenaccount.ErrMalformed},
		"empty":                     {tokenaccount.ProgramToken, nil, tokenaccount.ErrMalformed},
		"uninitialized":             {tokenaccount.ProgramToken, make([]byte, 82), tokenaccount.ErrUninitialized},
		"uninitialized, 2022":       {tokenaccount.ProgramToken2022, make([]byte, 82), tokenaccount.ErrUninitialized},
		"authority tag":             {tokenaccount.ProgramToken, badTag, tokenaccount.ErrMalformed},
		"2022 token account":        {tokenaccount.ProgramToken2022, make([]byte, 165), tokenaccount.ErrOtherKind},
		"2022 multisig":             {tokenaccount.ProgramToken2022, make([]byte, 355), tokenaccount.ErrOtherKind},
		"2022 between the lengths":  {tokenaccount.ProgramToken2022, make([]byte, 100), tokenaccount.ErrMalformed},
		"2022 no account type":      {tokenaccount.ProgramToken2022, make([]byte, 200), tokenaccount.ErrOtherKind},
		"2022 padding":              {tokenaccount.ProgramToken2022, padded, tokenaccount.ErrMalformed},
		"2022 extension is cut off": {tokenaccount.ProgramToken2022, cut[:len(cut)-1], tokenaccount.ErrMalformed},
	} {
		_, err := tokenaccount.ParseMint(test.owner, test.data)
		require.ErrorIs(t, err, test.want, name)
	}
}

func TestUnknownExtensionIsKeptRaw(t *testing.T) {
	mint, err := tokenaccount.ParseMint(tokenaccount.ProgramToken2022, withExtension(999, bytes.Repeat([]byte{0xab}, 5000)))
	require.NoError(t, err)
	require.Equal(t, "unknown_999", mint.Extensions[0].Name)
	got := attributes(mint.Extensions[0])
	require.Equal(t, "5000", got["raw_length"])
	require.Len(t, got["raw"], 2048)
}

func TestMetaplexAddress(t *testing.T) {
	usdc, err := pubkey.Parse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	require.NoError(t, err)
	address, ok := tokenaccount.MetaplexAddress(usdc)
	require.True(t, ok)
	require.Equal(t, "5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq", address.String())

	for i := range 200 {
		mint := pubkey.Key{byte(i), byte(i * 7), 3}
		want, _, err := solana.FindTokenMetadataAddress(solana.PublicKey(mint))
		require.NoError(t, err)
		got, ok := tokenaccount.MetaplexAddress(mint)
		require.True(t, ok)
		require.Equal(t, want.String(), got.String())
	}
}

func FuzzParseMint(f *testing.F) {
	f.Add(true, withExtension(19, make([]byte, 80)))
	f.Add(true, withExtension(18, make([]byte, 64)))
	f.Add(false, make([]byte, 82))
	for extensionType := range 32 {
		for _, length := range []int{0, 1, 31, 32, 33, 52, 56, 64, 65, 72, 80, 108, 129, 196} {
			f.Add(true, withExtension(extensionType, make([]byte, length)))
		}
	}
	f.Fuzz(func(t *testing.T, extended bool, data []byte) {
		owner := tokenaccount.ProgramToken
		if extended {
			owner = tokenaccount.ProgramToken2022
		}
		mint, err := tokenaccount.ParseMint(owner, data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(mint.Extensions), 128)
		require.NotNil(t, mint.Fact(pubkey.Key{}))
	})
}
