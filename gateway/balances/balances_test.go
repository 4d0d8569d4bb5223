package balances_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/gateway/balances"
	"github.com/mintlake/mintlake/gateway/jsonrpc"
)

const (
	mint   = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	secret = "0123456789abcdef"
)

// whole is an answer of the token API about a mint that is complete.
const whole = `{"decimals":6,"is_token22":false,"supply":"1500000","complete":true,"since_slot":1,"as_of_slot":77,"items":[{"account":"A","amount":"1000000"},{"account":"B","amount":"20"},{"account":"C","amount":"0"}]}`

func TestAnswers(t *testing.T) {
	answer, status, asked := whole, http.StatusOK, ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		if r.Header.Get(internaltoken.Header) != secret {
			status = http.StatusTooManyRequests
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer api.Close()
	s, err := balances.New(balances.Config{API: api.URL, Token: secret}, balances.Deps{})
	require.NoError(t, err)
	call := func(method, params string) (string, error) {
		result, err := s.Answer(context.Background(), method, json.RawMessage(params), nil)
		return string(result), err
	}
	confirmed := `["` + mint + `", {"commitment": "confirmed"}]`
	got, err := call("getTokenSupply", confirmed)
	require.NoError(t, err)
	require.JSONEq(t, `{"context":{"slot":77},"value":{"amount":"1500000","decimals":6,"uiAmount":1.5,"uiAmountString":"1.5"}}`, got)
	require.Equal(t, "/tokens/"+mint+"/accounts?limit=1", asked)
	got, err = call("getTokenLargestAccounts", confirmed)
	require.NoError(t, err)
	require.JSONEq(t, `{"context":{"slot":77},"value":[{"address":"A","amount":"1000000","decimals":6,"uiAmount":1,"uiAmountString":"1"},
		{"address":"B","amount":"20","decimals":6,"uiAmount":0.00002,"uiAmountString":"0.00002"},{"address":"C","amount":"0","decimals":6,"uiAmount":0,"uiAmountString":"0"}]}`, got)
	require.Equal(t, "/tokens/"+mint+"/accounts?limit=20", asked)

	asked = ""
	for _, params := range []string{
		`["` + mint + `"]`, `["` + mint + `", {"commitment": "finalized"}]`, `["` + mint + `", {"commitment": "processed"}]`, `["` + mint + `", {}]`,
		`["` + mint + `", {"commitment": "confirmed", "minContextSlot": 5}]`, `["x", {"commitment": "confirmed"}]`, `[5, {"commitment": "confirmed"}]`, `{}`, ``, `[]`,
	} {
		_, err := call("getTokenSupply", params)
		require.ErrorIs(t, err, jsonrpc.ErrElsewhere, params)
	}
	require.Empty(t, asked, "the API is not asked what it cannot answer")
	for name, body := range map[string]string{
		"not complete": `{"decimals":6,"supply":"5","complete":false,"as_of_slot":1}`, "no slot": `{"decimals":6,"supply":"5","complete":true}`,
		"no supply": `{"decimals":6,"supply":null,"complete":true,"as_of_slot":1}`, "Token-2022": `{"decimals":6,"is_token22":true,"supply":"5","complete":true,"as_of_slot":1}`,
		"decimals": `{"decimals":20,"supply":"5","complete":true,"as_of_slot":1}`, "no JSON": `<html>`, "amount": `{"decimals":6,"supply":"-5","complete":true,"as_of_slot":1}`,
	} {
		answer = body
		_, err := call("getTokenSupply", confirmed)
		require.ErrorIs(t, err, jsonrpc.ErrElsewhere, name)
	}
	answer, status = whole, http.StatusNotFound
	_, err = call("getTokenSupply", confirmed)
	require.ErrorIs(t, err, jsonrpc.ErrElsewhere, "a node without balances")
	api.Close()
	_, err = call("getTokenSupply", confirmed)
	require.ErrorIs(t, err, jsonrpc.ErrElsewhere)
}

func TestRefusesAnAddress(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8080", "ftp://x", "http://x?y=z"} {
		_, err := balances.New(balances.Config{API: address}, balances.Deps{})
		require.Error(t, err, address)
	}
}
