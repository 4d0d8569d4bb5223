package swap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// theirQuote asks GET /swap/v1/quote for 1,000,000 coins in SOL.
func (f *fixture) theirQuote(t *testing.T, more string) (jupiterQuote, []byte) {
	t.Helper()
	status, body := f.do(t, http.MethodGet, fmt.Sprintf("%s?inputMint=%s&outputMint=%s&amount=1000000%s", routeJupiterQuote, coin.String(), swaptest.WrappedSOL.String(), more), "")
	require.Equal(t, http.StatusOK, status, string(body))
	conforms(t, "JupiterQuote", body)
	var q jupiterQuote
	require.NoError(t, json.Unmarshal(body, &q))
	return q, body
}

// TestJupitersRoutes: the defaults and the shapes of Jupiter's API. Its client is run by make
// test-clients.
func TestJupitersRoutes(t *testing.T) {
	f := start(t, Config{}, onePool())
	q, body := f.theirQuote(t, "&maxAccounts=200&excludeDexes=Nowhere&excludeDexes=Whirlpool&dexes=Raydium+CP&dexes=Raydium")
	require.EqualValues(t, 50, q.SlippageBps)
	require.EqualValues(t, 100, q.RoutePlan[0].Percent)
	for more, message := range map[string]string{
		"&dexes=Nowhere": "dexes is", "&maxAccounts=0": "maxAccounts is", "&slippageBps=x": "slippageBps is", "&dynamicSlippage=true": "dynamicSlippage is",
		"&nonsense=1": "there is no parameter", "&amount=5": "amount is given twice",
	} {
		path := fmt.Sprintf("%s?inputMint=%s&outputMint=%s&amount=1000000%s", routeJupiterQuote, coin.String(), swaptest.WrappedSOL.String(), more)
		f.refused(t, http.MethodGet, path, "", http.StatusBadRequest, message)
	}

	post := func(path, quote string) (int, []byte) {
		return f.do(t, http.MethodPost, path, fmt.Sprintf(`{"quoteResponse":%s,"userPublicKey":%q,"prioritizationFeeLamports":{"jitoTipLamports":55}}`, quote, wallet))
	}
	status, answer := post(routeJupiterSwap, string(body))
	require.Equal(t, http.StatusOK, status, string(answer))
	conforms(t, "JupiterSwap", answer)
	var built jupiterBuilt
	require.NoError(t, json.Unmarshal(answer, &built))
	_, steps := stepsOf(t, built.SwapTransaction)

	status, answer = post(routeJupiterInstructions, string(body))
	require.Equal(t, http.StatusOK, status, string(answer))
	conforms(t, "JupiterInstructions", answer)
	var parts jupiterInstructions
	require.NoError(t, json.Unmarshal(answer, &parts))
	list := append(append(parts.ComputeBudgetInstructions, parts.SetupInstructions...), parts.SwapInstruction, *parts.CleanupInstruction)
	list = append(list, parts.OtherInstructions...)
	require.Len(t, list, len(steps), "in this order they are the transaction")
	for i, s := range steps {
		require.True(t, strings.HasPrefix(list[i].ProgramID, s.name[:5]))
		require.Len(t, list[i].Accounts, len(s.accounts))
		for j, account := range s.accounts {
			require.Equal(t, account.String(), list[i].Accounts[j].Pubkey)
		}
	}
	require.Equal(t, cpmm.Program.String(), parts.SwapInstruction.ProgramID)
	require.Len(t, parts.OtherInstructions, 1, "the tip")

	status, labels := f.do(t, http.MethodGet, routeJupiterLabels, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(labels), fmt.Sprintf("%q:%q", cpmm.Program, "Raydium CP"))

	for change, message := range map[[2]string]string{
		{`"routePlan":[`, `"routePlan":[],"x":[`}:                    "routePlan has 1 to 64 swaps",
		{q.RoutePlan[0].SwapInfo.AmmKey, "x"}:                        "ammKey is",
		{`"swapMode":"ExactIn"`, `"swapMode":"ExactIn","payer":"x"`}: `has the member "payer"`,
	} {
		changed := strings.Replace(string(body), change[0], change[1], 1)
		require.NotEqual(t, string(body), changed)
		status, answer := post(routeJupiterSwap, changed)
		require.Equal(t, http.StatusBadRequest, status, string(answer))
		require.Contains(t, string(answer), strings.ReplaceAll(message, `"`, `\"`))
	}
}

// TestASwapKeepsToThePoolsOfItsQuote, so that what the quote left out takes no part.
func TestASwapKeepsToThePoolsOfItsQuote(t *testing.T) {
	c := onePool()
	f := start(t, Config{}, c)
	q, body := f.theirQuote(t, "")
	better := c.CPMM(swaptest.Pool{Name: "better", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 2_000_000_000}, TradeRate: 2500})
	now, _ := f.theirQuote(t, "")
	require.Equal(t, better.Pool.String(), now.RoutePlan[0].SwapInfo.AmmKey)
	status, answer := f.do(t, http.MethodPost, routeJupiterSwap, fmt.Sprintf(`{"quoteResponse":%s,"userPublicKey":%q}`, body, wallet))
	require.Equal(t, http.StatusOK, status, string(answer))
	var built jupiterBuilt
	require.NoError(t, json.Unmarshal(answer, &built))
	_, steps := stepsOf(t, built.SwapTransaction)
	require.Equal(t, q.RoutePlan[0].SwapInfo.AmmKey, named(t, steps, stepSwap).accounts[3].String())
}
