package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// hostileTags are what creators write into their documents to be taken for verified.
var hostileTags = []string{
	`["verified"]`, `"verified"`, `["Verified","meme"]`, `["meme","verified","strict","lst"]`, `[" verified "]`, `["VERIFIED \u2713"]`, `["veri\u0000fied"]`, `["ver\u200bified"]`,
	`["verified","verified"]`, `"meme,verified"`, `[["verified"]]`, `{"verified":true}`,
}

// TestOnlyListsVerify: whatever a creator's document says, no surface calls the token verified; a
// token list does, and the creator cannot hide that.
func TestOnlyListsVerify(t *testing.T) {
	t.Parallel()
	documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= len(hostileTags) {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"name":"Hostile","description":"seen","tags":%s,"isVerified":true,"verified":true}`, hostileTags[n])
	}))
	t.Cleanup(documents.Close)
	up := launch(t, t.TempDir(), "--source", "none", "--rate-limits-enabled=false", "--enrich-offchain=true", "--enrich-allow-private", documents.Listener.Addr().String())
	mints := tellOfDocuments(t, up.brokers(), documents.URL)
	for _, mint := range mints {
		up.awaitBody("/tokens/"+mint, `"description":"seen"`)
	}

	up.requireVerified(t)
	curated := newCurator(t)
	first := curated.publish("2026-01-02T03:04:05Z", mints[0], mints[1])
	out, code := command(t, "bootstrap", "tokenlist", first, "--trust", curated.key(), "--kafka-brokers", up.addresses["kafka"])
	require.Zero(t, code, out)
	up.awaitBody("/tokens/"+mints[0], `"tags":["verified"]`)
	up.awaitBody("/tokens/"+mints[1], `"tags":["verified"]`)
	up.requireVerified(t, mints[:2]...)
	curated.check(up, mints[0], first)

	second := curated.publish("2026-02-02T03:04:05Z", mints[0])
	require.NoError(t, os.WriteFile(second+".sig", []byte("bm9uZQ=="), 0o600))
	out, code = command(t, "bootstrap", "tokenlist", second, "--trust", curated.key(), "--kafka-brokers", up.addresses["kafka"])
	require.NotZero(t, code)
	require.Contains(t, out, "signature")
	second = curated.publish("2026-02-02T03:04:05Z", mints[0])
	out, code = command(t, "bootstrap", "tokenlist", second, "--replaces", first, "--trust", curated.key(), "--kafka-brokers", up.addresses["kafka"])
	require.Zero(t, code, out)
	up.awaitBody("/tokens/"+mints[1], `"tags":null`)
	curated.check(up, mints[0], second)
	up.requireVerified(t, mints[0])
}

// curator signs lists.
type curator struct {
	t       *testing.T
	private ed25519.PrivateKey
	folder  string
}

func newCurator(t *testing.T) *curator {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return &curator{t, private, t.TempDir()}
}

func (c *curator) key() string { return base58.Encode(c.private.Public().(ed25519.PublicKey)) }

// publish writes a list and its signature, and returns the list's path.
func (c *curator) publish(timestamp string, mints ...string) string {
	c.t.Helper()
	var tokens []string
	for _, mint := range mints {
		tokens = append(tokens, fmt.Sprintf(`{"chainId":101,"address":%q,"symbol":"HOST","tags":["verified"]}`, mint))
	}
	list := fmt.Appendf(nil, `{"name":"Curated","timestamp":%q,"tokens":[%s]}`, timestamp, strings.Join(tokens, ","))
	path := filepath.Join(c.folder, timestamp[:10]+".json")
	require.NoError(c.t, os.WriteFile(path, list, 0o600))
	require.NoError(c.t, os.WriteFile(path+".sig", []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(c.private, list))), 0o600))
	return path
}

// check does what docs/api-reference.md tells a reader to do: find the file by its hash, and check
// whose it is.
func (c *curator) check(up *instance, mint, path string) {
	c.t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(c.t, err)
	sum := sha256.Sum256(file)
	up.awaitBody("/tokens/"+mint+"?lists=true", hex.EncodeToString(sum[:]))
	_, body := up.get("/tokens/" + mint + "?fields=lists")
	var row struct {
		Lists []struct{ List, Signer, Signature string }
	}
	require.NoError(c.t, json.Unmarshal(body, &row))
	require.Len(c.t, row.Lists, 1, "the later version is in the place of the earlier one: %s", body)
	require.Equal(c.t, "Curated", row.Lists[0].List)
	signer, err := base58.Decode(row.Lists[0].Signer)
	require.NoError(c.t, err)
	signature, err := base64.StdEncoding.DecodeString(row.Lists[0].Signature)
	require.NoError(c.t, err)
	require.True(c.t, ed25519.Verify(signer, file, signature))
	require.Equal(c.t, c.key(), row.Lists[0].Signer)
}

// requireVerified says which mints every surface calls verified.
func (i *instance) requireVerified(t *testing.T, mints ...string) {
	t.Helper()
	pick := func(path, list string) (found []string) {
		code, body := i.get(path)
		require.Equal(t, http.StatusOK, code, string(body))
		var answer any
		require.NoError(t, json.Unmarshal(body, &answer))
		rows, ok := answer.([]any)
		if object, isObject := answer.(map[string]any); isObject {
			rows, ok = object[list].([]any)
		}
		require.True(t, ok, string(body))
		for _, row := range rows {
			row := row.(map[string]any) // every row is an object
			for _, name := range []string{"mint", "id", "address"} {
				if mint, ok := row[name].(string); ok {
					found = append(found, mint)
				}
			}
		}
		return found
	}
	// A row is there a moment before searches find it.
	verified := slices.Sorted(slices.Values(mints))
	shows := func(want []string, path, list string) {
		t.Helper()
		until(t, func() bool { return slices.Equal(want, slices.Sorted(slices.Values(pick(path, list)))) }, 100*time.Millisecond, "%s: %v", path, want)
	}
	shows(verified, "/tokens/v2/tag?query=verified", "")
	shows(verified, "/tokenlist.json", "tokens")
	for _, tag := range []string{"verified", "Verified", "strict", "lst"} {
		want := []string{}
		if tag == "verified" {
			want = verified
		}
		shows(want, "/tokens?tag="+tag, "items")
	}
	var rows []struct {
		ID       string `json:"id"`
		Verified bool   `json:"isVerified"`
	}
	until(t, func() bool {
		code, body := i.get("/tokens/v2/search?query=hostile")
		require.Equal(t, http.StatusOK, code, string(body))
		rows = nil
		require.NoError(t, json.Unmarshal(body, &rows))
		return len(rows) == len(hostileTags)
	}, 100*time.Millisecond, "searches find %d", len(hostileTags))
	for _, row := range rows {
		require.Equal(t, slices.Contains(mints, row.ID), row.Verified, row.ID)
	}
	until(t, func() bool {
		rows := i.query("SELECT mint FROM mintlake.tokens WHERE hasAny(tags, ['verified', 'Verified', 'strict', 'lst']) ORDER BY mint")
		return slices.Equal(rows, verified)
	}, 200*time.Millisecond, "ClickHouse says the same")
}

// awaitBody waits until an answer has a text in it.
func (i *instance) awaitBody(path, text string) {
	i.t.Helper()
	var body []byte
	until(i.t, func() bool {
		_, body = i.get(path)
		return bytes.Contains(body, []byte(text))
	}, 100*time.Millisecond, "%s has no %s", path, text)
}

// tellOfDocuments writes a token for each of the hostile documents, and a request for the document.
func tellOfDocuments(t *testing.T, brokers []string, url string) (mints []string) {
	t.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	program, err := base58.Decode(schemas.ProgramToken)
	require.NoError(t, err)
	for n := range hostileTags {
		mint := solana.PublicKey(sha256.Sum256(fmt.Appendf(nil, "a mint with hostile tags %d", n)))
		mints = append(mints, mint.String())
		uri := fmt.Appendf(nil, "%s/%d", url, n)
		request, err := proto.Marshal(&eventspb.EnrichmentRequest{Mint: mint[:], Slot: 2, Uri: uri, Reason: eventspb.RequestReason_REQUEST_REASON_METADATA_SET})
		require.NoError(t, err)
		records := []kafka.Record{{Topic: schemas.TopicEnrichmentRequests, Key: []byte(mint.String()), Value: request}}
		for _, fact := range []*eventspb.Enrichment{
			{Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: program, Decimals: 6, Supply: 1000}}},
			{Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte("Hostile"), Symbol: fmt.Appendf(nil, "H%d", n), Uri: uri,
			}}}},
		} {
			fact.Mint, fact.Slot = mint[:], 1
			value, err := proto.Marshal(fact)
			require.NoError(t, err)
			records = append(records, kafka.Record{Topic: schemas.TopicEnrichments, Key: []byte(mint.String()), Value: value})
		}
		require.NoError(t, producer.Produce(t.Context(), records...))
	}
	return mints
}
