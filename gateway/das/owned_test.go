package das

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
)

// account is a row of GET /owners/{owner}/accounts.
func account(at, of, amount int, state string) string {
	return fmt.Sprintf(`{"mint":"%s","account":"%s","amount":"%d",%s}`, mint(of), mint(at), amount, state)
}

const (
	plain   = `"is_frozen":false,"delegate":null,"delegated_amount":"0"`
	untold  = `"is_frozen":null,"delegate":null,"delegated_amount":"0"`
	someone = `"is_frozen":true,"delegate":"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM","delegated_amount":"7"`
)

// TestTokenAccountsOfAnOwner: the accounts come in pages by their address, from all pages of the
// API, without empty ones.
func TestTokenAccountsOfAnOwner(t *testing.T) {
	a := newAPI(t, 3)
	s := newServer(t, a)
	owner, path := mint(900), "/owners/"+mint(900)+"/accounts?cursor="
	a.owners = map[string]string{
		path:          `{"items":[` + account(503, 1, 5, plain) + `,` + account(501, 2, 18, someone) + `],"next":"more","complete":true}`,
		path + "more": `{"items":[` + account(502, 2, 4, plain) + `,` + account(504, 2, 0, untold) + `],"next":null,"complete":true}`,
	}
	ask := func(params string) string {
		t.Helper()
		got, err := answer(t, s, nil, "getTokenAccounts", `{"owner":"`+owner+`",`+params+`}`)
		require.NoError(t, err)
		return got
	}
	first := `{"address":"` + mint(501) + `","mint":"` + mint(2) + `","owner":"` + owner + `","amount":18,"delegate":"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM","delegated_amount":7,"frozen":true}`
	second := `{"address":"` + mint(502) + `","mint":"` + mint(2) + `","owner":"` + owner + `","amount":4,"delegated_amount":0,"frozen":false}`
	third := `{"address":"` + mint(503) + `","mint":"` + mint(1) + `","owner":"` + owner + `","amount":5,"delegated_amount":0,"frozen":false}`
	require.JSONEq(t, `{"total":3,"limit":1000,"page":1,"token_accounts":[`+first+`,`+second+`,`+third+`]}`, ask(`"options":{}`))
	require.JSONEq(t, `{"total":2,"limit":2,"page":1,"cursor":"`+mint(502)+`","token_accounts":[`+first+`,`+second+`]}`, ask(`"limit":2`))
	require.JSONEq(t, `{"total":1,"limit":2,"token_accounts":[`+third+`]}`, ask(`"limit":2,"cursor":"`+mint(502)+`"`))
	require.JSONEq(t, `{"total":1,"limit":2,"page":2,"token_accounts":[`+third+`]}`, ask(`"limit":2,"page":2`))
	require.JSONEq(t, `{"total":0,"limit":2,"page":9,"token_accounts":[]}`, ask(`"limit":2,"page":9`))

	// Of the empty account it is not known whether it is frozen.
	all := `{"owner":"` + owner + `","options":{"showZeroBalance":true}}`
	_, err := answer(t, s, nil, "getTokenAccounts", all)
	requireCode(t, err, -32602, mint(504))
	_, err = answer(t, s, &upstream{}, "getTokenAccounts", all)
	require.ErrorIs(t, err, jsonrpc.ErrElsewhere)
}

// TestWhatWouldBeAGuess: of an owner of whom not all is known nothing is told.
func TestWhatWouldBeAGuess(t *testing.T) {
	a := newAPI(t, 1)
	s := newServer(t, a)
	partial := mint(901)
	a.owners = map[string]string{"/owners/" + partial + "/accounts?cursor=": `{"items":[],"next":null,"complete":false}`}
	for _, call := range [][3]string{
		{"getTokenAccounts", `{"owner":"` + partial + `"}`, "not all accounts of this owner are known"},
		{"getTokenAccounts", `{"owner":"` + mint(902) + `"}`, "no balances are kept"},
		{"getTokenAccounts", `{"mint":"` + mint(0) + `"}`, "name it"},
		{"getTokenAccounts", `{"owner":"` + partial + `","before":"x"}`, `"before"`},
		{"searchAssets", `{"tokenType":"fungible","ownerAddress":"` + partial + `"}`, "not all accounts of this owner are known"},
		{"searchAssets", `{"tokenType":"fungible","ownerAddress":"` + partial + `","name":"x"}`, `"name"`},
		{"getAssetsByOwner", `{"ownerAddress":"` + partial + `"}`, "without tokenType fungible lists NFTs"},
		{"getAssetsByOwner", `{"ownerAddress":"` + partial + `","tokenType":"all"}`, "without tokenType fungible lists NFTs"},
		{"getAssetsByOwner", `{"ownerAddress":"` + partial + `","tokenType":"fungible"}`, "getAssetsByOwner cannot be answered: not all accounts of this owner are known"},
		{"getAssetsByOwner", `{"ownerAddress":"` + partial + `","tokenType":"fungible","sortBy":{"sortBy":"created"}}`, `"sortBy"`},
	} {
		_, err := answer(t, s, nil, call[0], call[1])
		requireCode(t, err, -32602, call[2])
		_, err = answer(t, s, &upstream{}, call[0], call[1])
		require.ErrorIs(t, err, jsonrpc.ErrElsewhere, call)
	}
	for params, text := range map[string]string{
		`{"owner":"x"}`: "owner", `{"owner":"` + partial + `","limit":1001}`: "limit", `{"owner":"` + partial + `","page":1,"cursor":"` + partial + `"}`: "page and cursor",
	} {
		_, err := answer(t, s, &upstream{}, "getTokenAccounts", params)
		requireCode(t, err, -32602, text)
	}
}

// TestAnOwnerWithTooManyAccountsIsNotAnswered: five full pages are answered, with one more account
// none.
func TestAnOwnerWithTooManyAccountsIsNotAnswered(t *testing.T) {
	a := newAPI(t, 1)
	s := newServer(t, a)
	owner, path := mint(900), "/owners/"+mint(900)+"/accounts?cursor="
	pages := func(last string) {
		a.owners = map[string]string{}
		full := strings.Repeat(account(501, 1, 5, plain)+",", maxLimit-1) + account(501, 1, 5, plain)
		for cursor := range 5 {
			next := fmt.Sprintf(`"%d"`, cursor+1)
			if cursor == 4 {
				next = last
			}
			a.owners[path+strings.TrimPrefix(strconv.Itoa(cursor), "0")] = `{"items":[` + full + `],"next":` + next + `,"complete":true}`
		}
		a.owners[path+"5"] = `{"items":[` + account(502, 1, 5, plain) + `],"next":null,"complete":true}`
	}
	call := `{"owner":"` + owner + `","limit":1}`
	pages("null")
	_, err := answer(t, s, nil, "getTokenAccounts", call)
	require.NoError(t, err)
	pages(`"5"`)
	_, err = answer(t, s, nil, "getTokenAccounts", call)
	requireCode(t, err, -32602, "more than 5000 accounts")
	_, err = answer(t, s, &upstream{}, "getTokenAccounts", call)
	require.ErrorIs(t, err, jsonrpc.ErrElsewhere)
}

// TestTokensOfAnOwner: each token of the registry is listed once, with the sum of the accounts.
func TestTokensOfAnOwner(t *testing.T) {
	a := newAPI(t, 3)
	s := newServer(t, a)
	owner, path := mint(900), "/owners/"+mint(900)+"/accounts?cursor="
	a.owners = map[string]string{path: `{"items":[` + account(503, 2, 5, plain) + `,` + account(501, 2, 18, someone) + `,` + account(504, 700, 1, plain) + `,` +
		account(505, 1, 9, someone) + `,` + account(506, 0, 0, untold) + `],"next":null,"complete":true}`}
	got, err := answer(t, s, nil, "searchAssets", `{"tokenType":"fungible","ownerAddress":"`+owner+`","limit":1,"page":2,"options":{"showGrandTotal":true}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"total":1,"limit":1,"page":2,"grand_total":2,"items":[{"interface":"FungibleToken","id":"`+mint(2)+`",
		"content":{"$schema":"https://schema.metaplex.com/nft1.0.json","json_uri":"","metadata":{"name":"Token 2","symbol":"T2"}},
		"ownership":{"frozen":false,"delegated":true,"ownership_model":"token","owner":"`+owner+`"},"mutable":false,"burnt":false,
		"token_info":{"balance":23,"supply":5,"decimals":6,"token_program":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"}}]}`, got)
	byOwner, err := answer(t, s, nil, "getAssetsByOwner", `{"tokenType":"fungible","ownerAddress":"`+owner+`","limit":1,"page":2,"options":{"showGrandTotal":true}}`)
	require.NoError(t, err)
	require.Equal(t, got, byOwner)
	got, err = answer(t, s, nil, "searchAssets", `{"tokenType":"fungible","ownerAddress":"`+owner+`","limit":1}`)
	require.NoError(t, err)
	require.Contains(t, got, `"ownership":{"frozen":true,"delegated":true,"ownership_model":"token","owner":"`+owner+`","delegate":"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"}`)
	require.Contains(t, got, `"cursor":"`+mint(1)+`"`)
}
