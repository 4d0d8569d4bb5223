package das

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
)

// nothing is an API without tokens.
type nothing struct{}

func (nothing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"items":[],"total":0}`))}, nil
}

type page struct {
	Total, Limit, Page int
	Cursor             string
	Items              []struct{ ID string }
	GrandTotal         *int `json:"grand_total"`
}

func find(t *testing.T, s *Server, params string) page {
	t.Helper()
	got, err := answer(t, s, nil, "searchAssets", params)
	require.NoError(t, err)
	var p page
	require.NoError(t, json.Unmarshal([]byte(got), &p))
	require.Len(t, p.Items, p.Total)
	return p
}

func (p page) ids() []string {
	ids := make([]string, len(p.Items))
	for i, item := range p.Items {
		ids[i] = item.ID
	}
	return ids
}

// Cursors lead through everything once, whatever the size of a page is.
func TestAWalkMeetsEachTokenOnce(t *testing.T) {
	a := newAPI(t, 1234)
	s := newServer(t, a)
	for _, limit := range []string{"1000", "333", "200"} {
		var all []string
		for cursor := ""; ; {
			p := find(t, s, `{"tokenType":"Fungible","limit":`+limit+`,"cursor":"`+cursor+`","sortBy":{"sortBy":"id","sortDirection":"asc"}}`)
			all = append(all, p.ids()...)
			if cursor = p.Cursor; cursor == "" {
				break
			}
		}
		require.Equal(t, a.mints, all)
	}
	p := find(t, s, `{"tokenType":"fungible"}`)
	require.Equal(t, 1000, p.Limit, "the reference implementation's default")
	require.Equal(t, 1000, p.Total)
	require.Nil(t, p.GrandTotal)
	require.Equal(t, p.ids()[4:6], find(t, s, `{"tokenType":"fungible","limit":2,"after":"`+p.Items[3].ID+`"}`).ids())
}

// Pages of any size hold what follows the page before, though the API's pages are of 200 at most.
func TestPagesOfAnySize(t *testing.T) {
	a := newAPI(t, 1234)
	s := newServer(t, a)
	for _, limit := range []int{7, 200, 333, 1000} {
		for number := 1; number < 5; number++ {
			p := find(t, s, `{"tokenType":"fungible","name":"Token","page":`+itoa(number)+`,"limit":`+itoa(limit)+`,"options":{"showGrandTotal":true}}`)
			want := a.mints[min((number-1)*limit, 1234):min(number*limit, 1234)]
			require.True(t, slices.Equal(want, p.ids()), "%d of %d", number, limit)
			require.Equal(t, number, p.Page)
			require.Equal(t, 1234, *p.GrandTotal)
		}
	}
	a.asked = nil
	require.Len(t, find(t, s, `{"tokenType":"fungible","page":2,"limit":1000}`).Items, 234)
	require.Len(t, a.asked, 2, "what is behind the end is not asked for")
}

func itoa(n int) string {
	body, _ := json.Marshal(n)
	return string(body)
}

func TestOrders(t *testing.T) {
	a := newAPI(t, 3)
	s := newServer(t, a)
	for params, want := range map[string]string{
		``:            "mint",
		`,"name":"x"`: "relevance",
		`,"page":1`:   "relevance",
		`,"sortBy":{"sortBy":"created","sortDirection":"desc"}`:                         "newest",
		`,"sortBy":{"sortBy":"created","sortDirection":"asc"}`:                          "oldest",
		`,"sortBy":{"sortBy":"none"},"name":"x"`:                                        "relevance",
		`,"page":1,"sortBy":{"sortBy":"id"}`:                                            "mint",
		`,"name":"x","cursor":"` + usdc + `"`:                                           "mint",
		`,"burnt":false,"compressed":false,"creatorAddress":null,"conditionType":"all"`: "mint",
	} {
		a.sorts = nil
		find(t, s, `{"tokenType":"fungible"`+params+`}`)
		require.Equal(t, []string{want}, a.sorts, params)
	}
}

// What the registry cannot search by is the upstreams' to answer, never left out of the search.
func TestSearchesForTheUpstreams(t *testing.T) {
	a := newAPI(t, 3)
	s := newServer(t, a)
	for _, params := range []string{
		`{}`, `{"ownerAddress":"` + usdc + `"}`, `{"tokenType":"All"}`, `{"tokenType":"nonFungible"}`, `{"tokenType":7}`,
		`{"tokenType":"fungible","ownerAddress":"` + usdc + `","sortBy":{}}`, `{"tokenType":"fungible","burnt":true}`, `{"tokenType":"fungible","before":"` + usdc + `"}`,
		`{"tokenType":"fungible","sortBy":{"sortBy":"updated"}}`, `{"tokenType":"fungible","sortBy":{"sortBy":"id","sortDirection":"desc"}}`,
		`{"tokenType":"fungible","whatever":1,"limit":0}`,
	} {
		_, err := answer(t, s, &upstream{result: "{}"}, "searchAssets", params)
		require.ErrorIs(t, err, jsonrpc.ErrElsewhere, params)
	}
	_, err := answer(t, s, nil, "searchAssets", `{"tokenType":"fungible","creatorAddress":"`+usdc+`"}`)
	requireCode(t, err, -32602, `"creatorAddress"`)
	for params, want := range map[string]string{
		`"limit":0`: "from 1 to 1000", `"limit":1001`: "from 1 to 1000", `"limit":"5"`: "whole number", `"page":0`: "page must be", `"page":99999999999`: "page must be",
		`"name":""`: "name must be", `"name":"` + strings.Repeat("x", 257) + `"`: "256 bytes", `"cursor":"x"`: "no address", `"options":[]`: "options must be",
		`"sortBy":"id"`: "sortBy must be", `"sortBy":{"sortBy":"price"}`: "sortBy must be", `"sortBy":{"sortBy":"id","sortDirection":"up"}`: "sortBy must be",
		`"page":2,"cursor":"` + usdc + `"`: "one of page and cursor", `"page":2,"sortBy":{"sortBy":"id"}`: "found with cursor",
		`"sortBy":{"sortBy":"created"},"cursor":"` + usdc + `"`: "by id",
	} {
		_, err := answer(t, s, &upstream{}, "searchAssets", `{"tokenType":"fungible",`+params+`}`)
		requireCode(t, err, -32602, want)
	}
	require.Empty(t, a.asked)
}
