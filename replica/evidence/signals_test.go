package evidence

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestURLs(t *testing.T) {
	for _, text := range []string{
		"claim at usdc-bonus.com", "www.solana.org", "https://x", "t.me/airdrop", "Visit AIRDROP.XYZ now!", "jup.ag", "Pump.fun", "ｗｉｆ．ｃｏｍ", "sol。com", "HTTP://1",
	} {
		require.Equal(t, text != "t.me/airdrop", hasURL(text), text)
	}
	for _, text := range []string{"USD Coin", "U.S. Oil", "v2.0", "Dr.", "St. Inu", "1.5x", "a.b", "...", "e.g. cat", "co.uk", "Mr.Pepe"} {
		require.False(t, hasURL(text), text)
	}
}

func TestScripts(t *testing.T) {
	for _, text := range []string{"UЅDC", "pаypal", "Βitcoin", "猫Ж"} {
		require.True(t, mixesScripts(text), text)
	}
	for _, text := range []string{"USDC", "Путин", "Путин coin", "柴犬Inu", "カタカナ漢字", "Café", "🐸PEPE", "ΕΛΛΑΣ", "한국coin", "دوج"} {
		require.False(t, mixesScripts(text), text)
	}
}

func TestInvisible(t *testing.T) {
	for _, text := range []string{"US\u200bDC", "\u202eCDSU", "USDC\ufeff", "USDC\u2060", "a\u200db", "\u3164"} {
		require.True(t, hasInvisible(text), "%q", text)
	}
	for _, text := range []string{"USDC", "👨\u200d👩\u200d👧", "❤\ufe0f", "1\ufe0f\u20e3", "🏴\U000e0067\U000e0062\U000e007f", "می\u200cخواهم", "👍🏽\u200d♂\ufe0f"} {
		require.False(t, hasInvisible(text), "%q", text)
	}
}

func TestSignalsOfPowers(t *testing.T) {
	x, err := New(fakeRows{})
	require.NoError(t, err)
	authority := "a"
	token := &registry.Token{Mint: pubkey.Key{1}, Symbol: "S", FreezeAuthority: &authority, MintAuthority: &authority}
	l := &look{token: token, canonical: token, extensions: []string{"metadata_pointer", "pausable", "permanent_delegate", "transfer_fee_config"}}
	require.Equal(t, []Signal{SignalMintAuthority, SignalFreezeAuthority, SignalPermanent, SignalFee, SignalPausable}, x.signals(l))
	x.CopiedLogo = func(mint pubkey.Key) bool { return mint == pubkey.Key{1} }
	require.Equal(t, SignalCopiedLogo, x.signals(l)[0])
	l.token = &registry.Token{}
	require.Equal(t, []Signal{}, x.signals(&look{token: l.token, canonical: l.token}), "never null")
}
