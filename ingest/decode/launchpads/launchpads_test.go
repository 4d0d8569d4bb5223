package launchpads

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// published are the instructions as the programs' IDLs have them: discriminator, and accounts in
// their order up to the last that matters. Sources: pump-fun/pump-public-docs@1b82215 idl/pump.json
// (withdraw: the IDL of 2024 in sevenlabs-hq/carbon); sevenlabs-hq/carbon@9dc3c3a
// raydium-launchpad-decoder and meteora-dbc-decoder; for DBC's newer ones, whose discriminators
// Anchor makes of the names, MeteoraAg/dynamic-bonding-curve@b4c4578.
var published = map[string][]struct{ name, tag, accounts string }{
	schemas.LaunchpadPump: {
		{"create", "181ec828051c0777", "mint mint_authority curve curve_account global metadata_program metadata creator system token associated rent events program"},
		{"create_v2", "d6904cec5f8b31b4", "mint mint_authority curve curve_account global creator system token associated mayhem params sol_vault state vault events program"},
		{"migrate", "9beae792ec9ea21e", "global withdraw_authority mint curve curve_account user system token amm pool pool_authority"},
		{"migrate_v2", "bbcb121fceedfe29", "global withdraw_authority mint quote_mint curve base_curve quote_curve user system amm pool pool_authority"},
		{"withdraw", "b712469c946da122", "global last_withdraw mint curve curve_account user_account user"},
	},
	schemas.LaunchpadLaunchLab: {
		{"initialize", "afaf6d1f0d989bed", "payer creator global config authority curve mint quote_mint base_vault quote_vault"},
		{"initialize_v2", "4399af27da102620", "payer creator global config authority curve mint quote_mint base_vault quote_vault"},
		{"initialize_with_token_2022", "25be7ede2c9aab11", "payer creator global config authority curve mint quote_mint base_vault quote_vault"},
		{"migrate_to_amm", "cf52c091fecf91df", "payer mint quote_mint openbook market requests events bids asks signer base_vault quote_vault amm pool authority"},
		{"migrate_to_cpswap", "885cc8671cda908c", "payer mint quote_mint platform cpswap pool authority lp_mint"},
	},
	schemas.LaunchpadDBC: {
		{"initialize_virtual_pool_with_spl_token", "8c55d7b06636684f", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"initialize_virtual_pool_with_token2022", "a976334e916edc9b", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"initialize_virtual_pool_with_spl_token2", "", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"initialize_virtual_pool_with_token2022_2", "", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"initialize_virtual_pool_with_token2022_transfer_hook", "", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"initialize_virtual_pool_with_token2022_transfer_hook2", "", "config authority creator mint quote_mint curve base_vault quote_vault"},
		{"migration_damm_v2", "9ca9e66735e45040", "curve metadata config authority pool nft nft_account position nft2 nft_account2 position2 damm_authority amm mint quote_mint"},
		{"migrate_meteora_damm", "1b013016b43f76d9", "curve metadata config authority pool damm_config lp_mint mint quote_mint"},
	},
}

// keyOf is an account's key in the tests.
func keyOf(name string) (k pubkey.Key) {
	copy(k[:], name)
	return k
}

// invoke makes an invocation with the named accounts, and decodes it.
func invoke(l *Launchpad, tag, accounts string, data []byte, within ...string) (*eventspb.TokenEvent, bool) {
	tx := &chain.Transaction{Keys: []pubkey.Key{pubkey.MustParse(l.Program)}}
	call := chain.Call{Data: append([]byte(tag), data...)}
	for i, name := range strings.Fields(accounts) {
		tx.Keys = append(tx.Keys, keyOf(name))
		call.Accounts = append(call.Accounts, byte(i+1))
	}
	calls := make([]chain.Call, len(within))
	for i, name := range within {
		calls[i].ProgramIndex = slices.Index(tx.Keys, keyOf(name))
	}
	return l.Decode(instruction.View{Tx: tx, Call: &call}, calls)
}

func launchpad(t testing.TB, name string) *Launchpad {
	t.Helper()
	for _, l := range All() {
		if l.Name == name {
			return &l
		}
	}
	t.Fatalf("no launchpad %s", name)
	return nil
}

// TestAccountsStandWhereTheInterfacesHaveThem, for every instruction that is read.
func TestAccountsStandWhereTheInterfacesHaveThem(t *testing.T) {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
		require.Len(t, l.instructions, len(published[l.Name]), l.Name)
		for _, in := range published[l.Name] {
			at := slices.IndexFunc(l.instructions, func(i ins) bool { return i.name == in.name })
			require.GreaterOrEqual(t, at, 0, in.name)
			if in.tag != "" {
				require.Equal(t, in.tag, hex.EncodeToString([]byte(l.instructions[at].tag)), in.name)
			}
			event, ok := invoke(&l, l.instructions[at].tag, in.accounts, nil, "amm")
			require.True(t, ok, in.name)
			require.Equal(t, in.name, event.GetInstruction())
			require.Equal(t, keyOf("mint"), pubkey.Key(event.GetMint()), in.name)
			if strings.Contains(in.name, "migrat") || in.name == "withdraw" {
				require.Equal(t, l.Name, event.GetGraduate().GetLaunchpad())
				if in.name != "withdraw" {
					require.Equal(t, keyOf("pool"), pubkey.Key(event.GetGraduate().GetPool()), in.name)
				}
				continue
			}
			made := event.GetLaunch()
			require.Equal(t, l.Name, made.GetLaunchpad())
			require.Equal(t, keyOf("creator"), pubkey.Key(made.GetCreator()), in.name)
			require.Equal(t, keyOf("curve"), pubkey.Key(made.GetCurve()), in.name)
			if l.Name == schemas.LaunchpadPump {
				require.Empty(t, made.GetConfig(), in.name)
			} else {
				require.Equal(t, keyOf("config"), pubkey.Key(made.GetConfig()), in.name)
			}
		}
	}
	slices.Sort(names)
	require.Equal(t, schemas.Launchpads(), names)
}

// borshText is a text as Borsh writes it.
func borshText(text string) []byte {
	return append([]byte{byte(len(text)), 0, 0, 0}, text...)
}

// TestPumpsCreatorIsTheArgument, and its user where there is none.
func TestPumpsCreatorIsTheArgument(t *testing.T) {
	l := launchpad(t, schemas.LaunchpadPump)
	texts := slices.Concat(borshText("Name"), borshText("SYM"), borshText("https://uri"))
	argument := keyOf("the argument")
	for _, in := range published[l.Name][:2] {
		tag, err := hex.DecodeString(in.tag)
		require.NoError(t, err)
		for want, data := range map[pubkey.Key][]byte{
			argument:         slices.Concat(texts, argument[:], []byte{0, 1}),
			keyOf("creator"): texts,
		} {
			event, ok := invoke(l, string(tag), in.accounts, data)
			require.True(t, ok)
			require.Equal(t, want, pubkey.Key(event.GetLaunch().GetCreator()), in.name)
		}
		for _, data := range [][]byte{slices.Concat(texts, make([]byte, 32)), texts[:5], {255, 255, 255, 255}} {
			event, ok := invoke(l, string(tag), in.accounts, data)
			require.True(t, ok)
			require.Equal(t, keyOf("creator"), pubkey.Key(event.GetLaunch().GetCreator()), "%s %x", in.name, data)
		}
	}
}

// TestAMigrationThatDoesNothingGraduatesNothing: pump's may be repeated.
func TestAMigrationThatDoesNothingGraduatesNothing(t *testing.T) {
	l := launchpad(t, schemas.LaunchpadPump)
	for _, in := range published[l.Name][2:4] {
		tag, err := hex.DecodeString(in.tag)
		require.NoError(t, err)
		_, ok := invoke(l, string(tag), in.accounts, nil)
		require.False(t, ok, in.name)
		_, ok = invoke(l, string(tag), in.accounts, nil, "system")
		require.False(t, ok, "%s calls another program", in.name)
		_, ok = invoke(l, string(tag), in.accounts, nil, "system", "amm")
		require.True(t, ok, in.name)
	}
}

func TestWhatIsNoLaunchIsNothing(t *testing.T) {
	for _, l := range All() {
		for _, data := range []string{"", "\x18", instruction.AnchorTag("buy"), instruction.AnchorTag("sell"), instruction.AnchorTag("swap"), instruction.AnchorTag("initialize")[:7], "\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"} {
			_, ok := invoke(&l, data, "a b c d e f g h i j k l m n o p", nil, "a")
			require.False(t, ok, "%s %x", l.Name, data)
		}
		for i := range l.instructions {
			_, ok := invoke(&l, l.instructions[i].tag, "", nil)
			require.False(t, ok, "%s without accounts", l.instructions[i].name)
		}
	}
}
