package das

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas"
)

const (
	usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	// authority is USDC's update authority.
	usdcAuthority = "2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9"
)

// The shape is that of the reference implementation, at commit f1a1ae6 of
// metaplex-foundation/digital-asset-rpc-infrastructure: digital_asset_types/src/rpc/asset.rs, and
// fungible_token_get_asset_scenario_1 (USDC) and _2 (a mint without metadata) of the snapshots in
// integration_tests/tests/integration_tests. What those hold for NFTs (compression, royalty) a
// fungible has not.
func TestTheShapeOfAnAsset(t *testing.T) {
	a := newAPI(t, 0)
	a.add(usdc, `"symbol":"USDC","name":"USD Coin","decimals":6,"logo_url":"https://example.org/usdc.png","is_token22":false,
		"supply":"18446744073709551615","mint_authority":"BJE5MMbqXjVwjAF7oxwPYXnTXDyspzZyt4vwenNw5ruG","freeze_authority":null,
		"metaplex_uri":"","update_authority":"`+usdcAuthority+`","token_standard":2,"description":"A dollar","external_url":"https://example.org"`)
	a.add(mint(1), `"symbol":"","name":"","decimals":9,"logo_url":null,"is_token22":true,"supply":null,"mint_authority":null,"freeze_authority":null,
		"metaplex_uri":null,"update_authority":null,"token_standard":null,"description":null,"external_url":null`)
	s := newServer(t, a)
	got, err := answer(t, s, nil, "getAsset", `{"id":"`+usdc+`","options":{"showFungible":true}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"interface": "FungibleToken", "id": "`+usdc+`",
		"content": {
			"$schema": "https://schema.metaplex.com/nft1.0.json", "json_uri": "",
			"files": [{"uri": "https://example.org/usdc.png"}],
			"metadata": {"name": "USD Coin", "symbol": "USDC", "description": "A dollar", "token_standard": "Fungible"},
			"links": {"image": "https://example.org/usdc.png", "external_url": "https://example.org"}
		},
		"authorities": [{"address": "`+usdcAuthority+`", "scopes": ["full"]}],
		"ownership": {"frozen": false, "delegated": false, "ownership_model": "token", "owner": ""}, "mutable": true, "burnt": false,
		"token_info": {"supply": 18446744073709551615, "decimals": 6, "token_program": "`+schemas.ProgramToken+`",
			"mint_authority": "BJE5MMbqXjVwjAF7oxwPYXnTXDyspzZyt4vwenNw5ruG"}
	}`, got)
	require.Contains(t, got, `"supply":18446744073709551615`, "a number, and a whole one")

	got, err = answer(t, s, nil, "getAsset", `{"id":"`+mint(1)+`"}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"interface": "FungibleToken", "id": "`+mint(1)+`",
		"ownership": {"frozen": false, "delegated": false, "ownership_model": "token", "owner": ""}, "mutable": false, "burnt": false, "token_info": {"decimals": 9, "token_program": "`+schemas.ProgramToken2022+`"}}`, got)

	a.add(mint(2), `"symbol":"CARD","name":"","decimals":0,"is_token22":false,"supply":"7","token_standard":1`)
	got, err = answer(t, s, nil, "getAsset", `{"id":"`+mint(2)+`"}`)
	require.NoError(t, err)
	require.Contains(t, got, `"interface":"FungibleAsset"`)
	require.Contains(t, got, `"metadata":{"symbol":"CARD","token_standard":"FungibleAsset"}`)
}

// TestClientsTypesTakeAnAsset: types that clients generate or derive fail as a whole if one
// required member is missing. Those of Asset, Content, Authorities, Ownership and AssetList of the
// crate helius 3.1.0 (src/types/inner.rs) are here; its enums have no other values than these.
func TestClientsTypesTakeAnAsset(t *testing.T) {
	a := newAPI(t, 0)
	a.add(mint(1), `"symbol":"","name":"","decimals":9,"is_token22":true`)
	a.add(mint(2), `"symbol":"CARD","name":"Card","decimals":0,"is_token22":false,"supply":"18446744073709551615","token_standard":1,"update_authority":"`+usdcAuthority+`"`)
	a.add(mint(3), `"symbol":"","name":"","decimals":255,"is_token22":false,"logo_url":"https://example.org/a.png","metaplex_uri":"https://example.org/a.json"`)
	s := newServer(t, a)
	whole := func(value any, members ...string) map[string]any {
		t.Helper()
		object, ok := value.(map[string]any)
		require.True(t, ok, "%v", value)
		for _, name := range members {
			require.NotNil(t, object[name], name)
		}
		return object
	}
	check := func(value any) {
		t.Helper()
		object := whole(value, "interface", "id", "ownership", "mutable", "burnt")
		require.Contains(t, []any{"FungibleToken", "FungibleAsset"}, object["interface"])
		require.Equal(t, map[string]any{"frozen": false, "delegated": false, "ownership_model": "token", "owner": ""}, object["ownership"])
		if content := object["content"]; content != nil {
			whole(content, "json_uri", "metadata")
		}
		if authorities, ok := object["authorities"].([]any); ok {
			for _, one := range authorities {
				require.Equal(t, []any{"full"}, whole(one, "address", "scopes")["scopes"])
			}
		}
	}
	ids := `"` + mint(1) + `","` + mint(2) + `","` + mint(3) + `"`
	for method, params := range map[string]string{
		"getAsset": `{"id":"` + mint(2) + `","displayOptions":null}`, "getAssetBatch": `{"ids":[` + ids + `],"displayOptions":{"showFungible":true}}`, "getAssets": `{"ids":[` + ids + `]}`,
		"searchAssets": `{"tokenType":"fungible"}`,
	} {
		got, err := answer(t, s, nil, method, params)
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal([]byte(got), &value))
		t.Log(method, got)
		switch list := value.(type) {
		case []any:
			require.Len(t, list, 3)
			for _, one := range list {
				check(one)
			}
		case map[string]any:
			items, isList := list["items"].([]any)
			if !isList {
				check(list)
				continue
			}
			whole(list, "total", "limit")
			require.Len(t, items, 3)
			for _, one := range items {
				check(one)
			}
		}
	}
}

// What is not in the registry may be an NFT that an upstream knows.
func TestWhatIsNotInTheRegistryIsAskedUpstream(t *testing.T) {
	s := newServer(t, newAPI(t, 2))
	u := &upstream{result: `{"id":"nft"}`}
	params := `{"id":"` + mint(7) + `","options":{"showInscription":true}}`
	got, err := answer(t, s, u, "getAsset", params)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"nft"}`, got)
	require.Equal(t, []string{"getAsset " + params}, u.asked)

	got, err = answer(t, s, u, "getAsset", `{"id":"`+mint(1)+`"}`)
	require.NoError(t, err)
	require.Contains(t, got, mint(1))
	require.Len(t, u.asked, 1, "what is in the registry costs no call")

	_, err = answer(t, s, nil, "getAsset", params)
	requireCode(t, err, -32000, "Asset Not Found")
	_, err = answer(t, s, &upstream{failure: &jsonrpc.CallError{Code: -32601, Message: "Method not found"}}, "getAsset", params)
	requireCode(t, err, -32000, "Asset Not Found")
	_, err = answer(t, s, &upstream{failure: &jsonrpc.CallError{Code: -32500, Message: "its own words"}}, "getAsset", params)
	requireCode(t, err, -32500, "its own words")
	_, err = answer(t, s, &upstream{}, "getAsset", params)
	require.ErrorContains(t, err, "away")
}

func TestABatchKeepsItsOrder(t *testing.T) {
	a := newAPI(t, 1200)
	s := newServer(t, a)
	ids := func(numbers ...int) string {
		list := make([]string, len(numbers))
		for i, n := range numbers {
			list[i] = mint(n)
		}
		body, err := json.Marshal(list)
		require.NoError(t, err)
		return string(body)
	}
	u := &upstream{result: `[null,{"id":"` + mint(2001) + `"},7]`}
	for _, method := range []string{"getAssets", "getAssetBatch"} {
		u.asked = nil
		got, err := answer(t, s, u, method, `{"ids":`+ids(3, 2000, 1, 2001, 3)+`,"options":{"showFungible":true}}`)
		require.NoError(t, err)
		var list []*struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(got), &list))
		require.Len(t, list, 5)
		require.Equal(t, []string{mint(3), mint(1), mint(2001), mint(3)}, []string{list[0].ID, list[2].ID, list[3].ID, list[4].ID})
		require.Nil(t, list[1])
		require.Equal(t, []string{method + ` {"ids":` + ids(2000, 2001) + `,"options":{"showFungible":true}}`}, u.asked)
	}
	for _, none := range []*upstream{nil, {failure: &jsonrpc.CallError{Code: -32601}}} {
		got, err := answer(t, s, none, "getAssets", `{"ids":`+ids(2000)+`}`)
		require.NoError(t, err)
		require.Equal(t, "[null]", got)
	}
	_, err := answer(t, s, &upstream{}, "getAssets", `{"ids":`+ids(2000)+`}`)
	require.ErrorContains(t, err, "away", "an asset that could not be asked for is not told as none")
	_, err = answer(t, s, &upstream{result: "{}"}, "getAssets", `{"ids":`+ids(2000)+`}`)
	requireCode(t, err, -32005, "no list")

	all := make([]int, 1000)
	for i := range all {
		all[i] = i
	}
	got, err := answer(t, s, nil, "getAssets", `{"ids":`+ids(all...)+`}`)
	require.NoError(t, err)
	require.Equal(t, 1000, strings.Count(got, `"interface"`))
	_, err = answer(t, s, nil, "getAssets", `{"ids":`+ids(append(all, 1000)...)+`}`)
	requireCode(t, err, -32602, "at most 1000")
}

// Metaplex's own client gives parameters by position.
func TestParametersByPosition(t *testing.T) {
	s := newServer(t, newAPI(t, 5))
	for _, params := range []string{`["` + mint(1) + `"]`, `["` + mint(1) + `",{"showFungible":true}]`, `["` + mint(1) + `",null]`} {
		got, err := answer(t, s, nil, "getAsset", params)
		require.NoError(t, err, params)
		require.Contains(t, got, mint(1))
	}
	for _, method := range []string{"getAssets", "getAssetBatch"} {
		got, err := answer(t, s, nil, method, `[["`+mint(2)+`","`+mint(3)+`"],{}]`)
		require.NoError(t, err)
		require.Less(t, strings.Index(got, mint(2)), strings.Index(got, mint(3)))
		require.Contains(t, got, mint(3))
	}
	_, err := answer(t, s, &upstream{}, "searchAssets", `[null,null]`)
	require.ErrorIs(t, err, jsonrpc.ErrElsewhere)
}

func TestParamsAreChecked(t *testing.T) {
	a := newAPI(t, 1)
	s := newServer(t, a)
	for _, c := range []struct{ method, params, want string }{
		{"getAsset", ``, "must be an object"},
		{"getAsset", `null`, "must be an object"},
		{"getAsset", `["x"]`, "no address"},
		{"getAsset", `[]`, "must be an object"},
		{"getAsset", `["` + usdc + `",{},1]`, "must be an object"},
		{"searchAssets", `[null]`, "must be an object"},
		{"getAsset", `{}`, "id must be"},
		{"getAsset", `{"id":7}`, "id must be"},
		{"getAsset", `{"id":"0"}`, "no address"},
		{"getAsset", `{"id":"` + strings.Repeat("z", 100_000) + `"}`, "no address"},
		{"getAssetsByOwner", `{"tokenType":"fungible"}`, "ownerAddress is required"},
		{"getAssets", `{"ids":"x"}`, "array"},
		{"getAssets", `{"ids":["` + usdc + `",1]}`, "ids[1]"},
	} {
		_, err := answer(t, s, nil, c.method, c.params)
		requireCode(t, err, -32602, c.want)
	}
	require.Empty(t, a.asked)
}

// Trouble of the API is told as such, and never as an asset that does not exist.
func TestTheAPIMayBeAway(t *testing.T) {
	a := newAPI(t, 1)
	s := newServer(t, a)
	ask := func() error {
		_, err := answer(t, s, &upstream{result: "{}"}, "getAsset", `{"id":"`+mint(0)+`"}`)
		return err
	}
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusNotFound, http.StatusFound} {
		a.status = status
		requireCode(t, ask(), -32005, "does not answer")
	}
	a.status = http.StatusTooManyRequests
	requireCode(t, ask(), -32005, "api.internal_token")
	a.status = 0
	for _, junk := range []string{"<html>", "{", `{"items":[]}{}`, `{"items":[{"decimals":"x"}]}`} {
		a.junk = junk
		requireCode(t, ask(), -32005, "does not answer")
	}
	a.junk = fmt.Sprintf(`{"items":[],"pad":%q}`, strings.Repeat("x", 1000))
	s.cfg.maxBytes = 900
	requireCode(t, ask(), -32005, "does not answer")
	a.Close()
	requireCode(t, ask(), -32005, "does not answer")
	for _, bad := range []string{"", "ftp://x", "http://", "http://x/?key=y"} {
		_, err := New(Config{API: bad}, Deps{})
		require.ErrorContains(t, err, "--rpc-das-api")
	}
}

// FuzzAnswer: whatever the parameters are, the answer is JSON or a typed error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":"` + usdc + `"}`, `{"ids":["` + usdc + `"]}`, `{"tokenType":"fungible","name":"x","page":2,"limit":3}`,
		`{"tokenType":"Fungible","sortBy":{"sortBy":"id"},"cursor":"` + usdc + `","options":{"showGrandTotal":true}}`, `{"tokenType":"fungible","burnt":false,"limit":1e9}`,
	} {
		for method := range uint8(3) {
			f.Add(method, []byte(seed))
		}
	}
	s, err := New(Config{API: "http://127.0.0.1:1"}, Deps{Transport: nothing{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method uint8, params []byte) {
		name := s.Methods()[int(method)%4]
		result, err := s.Answer(t.Context(), name, params, nil)
		var failure *jsonrpc.CallError
		switch {
		case err == nil && !json.Valid(result):
			t.Fatalf("no JSON: %s", result)
		case err != nil && !errors.As(err, &failure) && !errors.Is(err, jsonrpc.ErrElsewhere):
			t.Fatal(err)
		}
	})
}

// TestASlowUpstreamHoldsUpNothingOfTheRegistry: calls that wait for it take no place of those that
// the registry answers, and are bounded too.
func TestASlowUpstreamHoldsUpNothingOfTheRegistry(t *testing.T) {
	a := newAPI(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{API: "http://api", Token: secret, maxAtOnce: 2}, Deps{Transport: inProcess{a}})
		require.NoError(t, err)
		asked, release := 0, make(chan struct{})
		slow := func(context.Context, string, json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
			asked++
			<-release
			return json.RawMessage(`{}`), nil, nil
		}
		var waiting sync.WaitGroup
		for n := range 3 {
			waiting.Go(func() {
				if _, err := s.Answer(t.Context(), getAsset, json.RawMessage(`{"id":"`+mint(7+n)+`"}`), slow); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		require.Equal(t, 2, asked)
		got, err := s.Answer(t.Context(), getAsset, json.RawMessage(`{"id":"`+mint(0)+`"}`), slow)
		require.NoError(t, err)
		require.Contains(t, string(got), mint(0))
		close(release)
		waiting.Wait()
		require.Equal(t, 3, asked)
		require.True(t, s.calls.TryAcquire(2) && s.asks.TryAcquire(2), "all places are free again")
	})
}

// inProcess answers requests by a handler, without a network.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	p.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}
