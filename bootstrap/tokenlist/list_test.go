package tokenlist_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/tokenlist"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

type records []kafka.Record

func (r *records) Produce(_ context.Context, records ...kafka.Record) error {
	*r = append(*r, records...)
	return nil
}

func parseFile(t *testing.T, name string) *tokenlist.List {
	t.Helper()
	file, err := os.Open(testkit.Shared(t, "data/tokenlists/"+name))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	list, err := tokenlist.Parse(file, tokenlist.Options{Fallback: name, AsOf: time.Unix(1_700_000_000, 0)})
	require.NoError(t, err)
	return list
}

func TestRealLists(t *testing.T) {
	community, verified := parseFile(t, "solana.tokenlist.json"), parseFile(t, "verified_tokens.json")
	require.Equal(t, "Solana Token List", community.Name)
	require.EqualValues(t, 1614801441, community.Version, "2021-03-03T19:57:21+0000")
	require.Equal(t, 8743, len(community.Entries)+community.OtherChains+community.Duplicates+len(community.Refused))
	require.Empty(t, community.Refused)
	require.Equal(t, "verified_tokens.json", verified.Name)
	require.EqualValues(t, 1_700_000_000, verified.Version)
	require.Len(t, verified.Entries, 3281)

	var out records
	loader, err := tokenlist.NewLoader(&out, []*tokenlist.List{community, verified})
	require.NoError(t, err)
	require.NoError(t, loader.Run(t.Context()))
	require.Len(t, out, len(community.Entries)+len(verified.Entries))

	states := map[pubkey.Key]*registry.State{}
	for _, record := range out {
		require.Equal(t, schemas.TopicEnrichments, record.Topic)
		enrichment := new(eventspb.Enrichment)
		require.NoError(t, proto.Unmarshal(record.Value, enrichment))
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			require.Equal(t, string(record.Key), fact.Mint.String())
			if states[fact.Mint] == nil {
				states[fact.Mint] = new(registry.State)
			}
			states[fact.Mint].Apply(fact)
		}
	}
	usdc := pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	token, member := states[usdc].Token(usdc)
	require.False(t, member, "a list makes no member")
	require.Equal(t, "USDC", token.Symbol)
	require.Equal(t, "usd-coin", token.Extensions["coingeckoId"])
}

func TestCSV(t *testing.T) {
	list, err := tokenlist.Parse(strings.NewReader("\xef\xbb\xbfAddress,Symbol,Name,Decimals,logo_uri,tags,extensions.website,other\n"+
		"So11111111111111111111111111111111111111112,SOL,\"Wrapped, SOL\",9,https://x/l.png,a;b|a,https://solana.com,1\n"+
		"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v,USDC\n"+
		"nonsense,X,Y,1\n"+
		"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB,USDT,Tether,256\n"), tokenlist.Options{Fallback: "my.csv"})
	require.NoError(t, err)
	require.Len(t, list.Entries, 2)
	require.Len(t, list.Refused, 2)
	nine := uint8(9)
	first := list.Entries[0]
	first.Mint = [32]byte{}
	require.Equal(t, tokenlist.Entry{
		Symbol: "SOL", Name: "Wrapped, SOL", Decimals: &nine, LogoURI: "https://x/l.png", Tags: []string{"a", "b"},
		Extensions: map[string]string{"website": "https://solana.com"},
	}, first)
	require.Equal(t, "my.csv", list.Name)
}

func TestJSONRefusesTokensAlone(t *testing.T) {
	list, err := tokenlist.Parse(strings.NewReader(`{"name":"L","timestamp":"2024-01-02T03:04:05Z","tokens":[
		{"chainId":101,"address":"So11111111111111111111111111111111111111112","name":"A","decimals":9,"extensions":{"n":1,"deep":{"x":1},"s":"y","null":null}},
		{"chainId":103,"address":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
		{"chainId":101,"address":"So11111111111111111111111111111111111111112","name":"twice"},
		{"address":5}, {"address":"x"}, {"address":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","decimals":-1}, null, 7
	]}`), tokenlist.Options{})
	require.NoError(t, err)
	require.Equal(t, "L", list.Name)
	require.EqualValues(t, 1704164645, list.Version)
	require.Len(t, list.Entries, 1)
	require.Equal(t, map[string]string{"n": "1", "s": "y"}, list.Entries[0].Extensions)
	require.Equal(t, 1, list.OtherChains)
	require.Equal(t, 1, list.Duplicates)
	require.Len(t, list.Refused, 5)
}

const (
	mintA = "So11111111111111111111111111111111111111112"
	mintB = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// TestASignatureIsOfTheFile: what a reader of rows is told is what anybody can check with the file.
func TestASignatureIsOfTheFile(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	other, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	file := "address,tags\n" + mintA + ",verified\n"
	signature := []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(file))) + "\n")
	trust := []ed25519.PublicKey{other, public}
	list, err := tokenlist.Parse(strings.NewReader(file), tokenlist.Options{Name: "a", AsOf: time.Unix(7, 0), Signature: signature, Trust: trust})
	require.NoError(t, err)

	lists := shown(t, list)[pubkey.MustParse(mintA)].Lists()
	require.Len(t, lists, 1)
	listing := lists[0]
	sum := sha256.Sum256([]byte(file))
	require.Equal(t, hex.EncodeToString(sum[:]), *listing.SHA256)
	require.Equal(t, base58.Encode(public), *listing.Signer)
	require.Equal(t, strings.TrimSpace(string(signature)), *listing.Signature)
	require.Equal(t, []string{"verified"}, listing.Tags)
	require.EqualValues(t, 7_000, listing.AsOf)

	for why, options := range map[string]tokenlist.Options{
		"not signed":  {Trust: trust},
		"none of the": {Trust: []ed25519.PublicKey{other}, Signature: signature},
		"64 bytes":    {Trust: trust, Signature: []byte("bm9uZQ==")},
	} {
		_, err := tokenlist.Parse(strings.NewReader(file), options)
		require.ErrorIs(t, err, tokenlist.ErrSignature)
		require.ErrorContains(t, err, why)
	}
	_, err = tokenlist.Parse(strings.NewReader(file+" "), tokenlist.Options{Trust: trust, Signature: signature})
	require.ErrorIs(t, err, tokenlist.ErrSignature, "another file")
	list, err = tokenlist.Parse(strings.NewReader(file), tokenlist.Options{Name: "a", Signature: signature})
	require.NoError(t, err)
	require.Nil(t, shown(t, list)[pubkey.MustParse(mintA)].Lists()[0].Signer, "nobody is trusted")
}

// TestALaterVersionTakesTokensOff: the token is verified no more, in whatever order the versions
// are read.
func TestALaterVersionTakesTokensOff(t *testing.T) {
	version := func(second int64, mints ...string) *tokenlist.List {
		file := "address,tags,name\n"
		for _, mint := range mints {
			file += mint + ",verified,Listed\n"
		}
		list, err := tokenlist.Parse(strings.NewReader(file), tokenlist.Options{Name: "a", AsOf: time.Unix(second, 0)})
		require.NoError(t, err)
		return list
	}
	first, second := version(1, mintA, mintB), version(2, mintA)
	require.NoError(t, second.Replace(first))
	for _, order := range [][]*tokenlist.List{{first, second}, {second, first}} {
		states := shown(t, order...)
		require.Len(t, states[pubkey.MustParse(mintA)].Lists(), 1)
		require.Empty(t, states[pubkey.MustParse(mintB)].Lists())
		token, _ := states[pubkey.MustParse(mintB)].Token(pubkey.MustParse(mintB))
		require.Nil(t, token.Tags)
		require.Empty(t, token.Name)
	}
	third := version(3, mintA, mintB)
	require.Len(t, shown(t, first, second, third)[pubkey.MustParse(mintB)].Lists(), 1, "and listed again")
	require.ErrorContains(t, version(1, mintA).Replace(first), "is not before")
	require.ErrorContains(t, (&tokenlist.List{Name: "b", Version: 9}).Replace(first), "cannot take the place")
}

// shown is what the records of lists make of each mint.
func shown(t *testing.T, lists ...*tokenlist.List) map[pubkey.Key]*registry.State {
	t.Helper()
	var out records
	loader, err := tokenlist.NewLoader(&out, lists)
	require.NoError(t, err)
	require.NoError(t, loader.Run(t.Context()))
	require.EqualValues(t, len(out), loader.Progress().Done)
	require.Equal(t, loader.Progress().Total, loader.Progress().Done)
	states := map[pubkey.Key]*registry.State{}
	for _, record := range out {
		enrichment := new(eventspb.Enrichment)
		require.NoError(t, proto.Unmarshal(record.Value, enrichment))
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			if states[fact.Mint] == nil {
				states[fact.Mint] = new(registry.State)
			}
			states[fact.Mint].Apply(fact)
		}
	}
	return states
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, text := range []string{"", "   ", "{}", `{"tokens":5}`, "[", "a,b\n1,2\n", "\"", `{"name":5,"tokens":[]}`} {
		_, err := tokenlist.Parse(strings.NewReader(text), tokenlist.Options{})
		require.Error(t, err, text)
	}
	list := &tokenlist.List{Name: "a"}
	_, err := tokenlist.NewLoader(&records{}, []*tokenlist.List{list, list})
	require.ErrorContains(t, err, "--name")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"L","timestamp":"2024-01-02T03:04:05Z","tokens":[{"address":"So11111111111111111111111111111111111111112","tags":["a"],"extensions":{"a":1}}]}`))
	f.Add([]byte(`[{"address":"So11111111111111111111111111111111111111112"}]`))
	f.Add([]byte("mint,name,tags,extensions.x\nSo11111111111111111111111111111111111111112,\"a\",b;c,\xff\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := tokenlist.Parse(strings.NewReader(string(raw)), tokenlist.Options{Name: "fuzz"})
		if err != nil {
			return
		}
		var out records
		loader, err := tokenlist.NewLoader(&out, []*tokenlist.List{list})
		require.NoError(t, err)
		require.NoError(t, loader.Run(t.Context()), "every entry encodes, so all text is valid UTF-8")
		for _, entry := range list.Entries {
			require.LessOrEqual(t, len(entry.Name), 256)
			require.True(t, utf8.ValidString(entry.LogoURI))
			require.LessOrEqual(t, len(entry.Tags), 32)
			require.LessOrEqual(t, len(entry.Extensions), 64)
		}
	})
}
