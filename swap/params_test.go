package swap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// onePool is a chain with a pool of coin and wrapped SOL.
func onePool() *swaptest.Chain {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	return c
}

// TestNoBadParameterReachesAPool: each parameter, in each spelling, with values of the wrong type,
// size or number, is a 400 that names it before anything is read.
func TestNoBadParameterReachesAPool(t *testing.T) {
	f := start(t, Config{}, onePool())
	bad := map[string][]string{
		fieldSource: {"x", strings.Repeat("1", 45), "0OIl", "-1"}, fieldTarget: {"x", coin.String()}, fieldAmount: {"0", "-1", "1e3", "18446744073709551616", "0x10", " 1"},
		fieldSlippage: {"-1", "10001", "1.5", "a"}, fieldUser: {"x", cpmm.Authority.String()}, fieldMode: {"in", "EXACT_IN"}, fieldFormat: {"json", ""},
		fieldOnlyDirect: {"1", "yes"}, fieldOnlyHubs: {"0", "TRUE"}, fieldDexes: {"nowhere", "raydium_cpmm,,", strings.Repeat("raydium_cpmm,", 40) + "raydium_cpmm"}, fieldExclude: {"raydium"},
		fieldMaxAccounts: {"0", "65", "x"}, fieldPriorityFee: {"-1", "1000000001", "fast", "{"}, fieldFee: {"501", "-1"}, fieldTreasury: {"x", wallet.String()},
		fieldMaxAge: {"21", "-1", "1e2", ""}, fieldVersion: {"2", "-1", "v0", "Legacy"}, fieldLegacy: {"1", "TRUE"}, fieldPayer: {"x", cpmm.Authority.String()},
		fieldDestination: {"x", "0OIl"}, fieldNative: {"x", strings.Repeat("1", 45)}, fieldFeeAccount: {"x"}, fieldWrap: {"0", "no"}, fieldUnitPrice: {"-1", "714285715", "1.5"},
		fieldDynamicUnits: {"1"}, fieldSizes: {"1"}, fieldSkipAccounts: {"yes"}, fieldOffCurve: {"1", "True"},
	}
	for _, field := range order {
		if field != fieldQuote && field != fieldAmountOut { // below
			require.Contains(t, bad, field)
		}
	}
	for field, values := range bad {
		for _, name := range []string{field, aliases[field]} {
			for _, value := range values {
				q := url.Values{fieldSource: {coin.String()}, fieldTarget: {swaptest.WrappedSOL.String()}, fieldAmount: {"1"}, fieldSlippage: {"50"}}
				if name == "" {
					continue
				}
				q.Del(field)
				q.Set(name, value)
				f.refused(t, http.MethodGet, "/api/v2/quote?"+q.Encode(), "", http.StatusBadRequest, name+" is ")
				if value == "" {
					continue
				}
				q.Add(name, value)
				rule := name + " is given twice"
				if isList[name] {
					rule = name + " is " // they are one list
				}
				f.refused(t, http.MethodGet, "/api/v2/quote?"+q.Encode(), "", http.StatusBadRequest, rule)
			}
			if name != field && name != "" {
				q := url.Values{field: {"1"}, name: {"1"}}
				f.refused(t, http.MethodGet, "/api/v2/quote?"+q.Encode(), "", http.StatusBadRequest, "two spellings of one parameter")
			}
		}
	}
	ok := query(coin, swaptest.WrappedSOL, "1")
	f.refused(t, http.MethodGet, ok+"&amount_out=1", "", http.StatusBadRequest, `amount_out is "1": must be absent`)
	f.refused(t, http.MethodGet, ok+"&quote={}", "", http.StatusBadRequest, "belongs into the body")
	f.refused(t, http.MethodGet, ok+"&fee_bps=5&user_account="+wallet.String(), "", http.StatusBadRequest, "treasury is missing")
	for more, message := range map[string]string{
		"&destination_token_account=" + wallet.String() + "&native_destination_account=" + wallet.String(): "native_destination_account is",
		"&native_destination_account=" + wallet.String() + "&wrap_and_unwrap_sol=false":                    "must be absent if wrap_and_unwrap_sol is false",
		"&as_legacy_transaction=true&transaction_version=1":                                                "transaction_version is \"1\": must be legacy",
		"&priority_fee=5&compute_unit_price_micro_lamports=5":                                              "priority_fee is \"5\": must be absent",
		"&fee_bps=5&treasury=" + wallet.String() + "&fee_account=" + wallet.String():                       "fee_account is",
		"&destination_token_account=" + wallet.String() + "&fee_account=" + wallet.String():                "must differ from destination_token_account",
		"&user_account=" + cpmm.Authority.String() + "&allow_off_curve=false":                              "user_account is",
	} {
		f.refused(t, http.MethodGet, ok+more, "", http.StatusBadRequest, message)
	}
	f.refused(t, http.MethodGet, query(swaptest.WrappedSOL, coin, "1")+"&nativeDestinationAccount="+wallet.String(), "", http.StatusBadRequest, "must be absent unless dst_mint is")
	f.refused(t, http.MethodGet, "/api/v2/pools?mint=x", "", http.StatusBadRequest, `mint is "x"`)
	f.refused(t, http.MethodGet, "/api/v2/pools?mint="+coin.String()+"&with="+coin.String(), "", http.StatusBadRequest, "must differ")
	f.refused(t, http.MethodGet, "/api/v2/pools?mint=a&mint=b", "", http.StatusBadRequest, "given twice")
	require.Zero(t, f.chain.Calls("getProgramAccounts"))
	require.Zero(t, f.chain.Calls("getMultipleAccounts"))
}

// TestTheConventionOfOtherRouters: their spellings, their answer, and their way from a quote to a
// transaction.
func TestTheConventionOfOtherRouters(t *testing.T) {
	f := start(t, Config{}, onePool())
	ours := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "100000"))
	path := fmt.Sprintf("/api/v2/quote?inputMint=%s&outputMint=%s&amount=100000&format=jupiter", coin.String(), swaptest.WrappedSOL.String())
	status, body := f.do(t, http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, status, string(body))
	var theirs map[string]any
	require.NoError(t, json.Unmarshal(body, &theirs))
	delete(theirs, "timeTaken")
	require.Equal(t, map[string]any{
		"inputMint": coin.String(), "inAmount": "100000", "outputMint": swaptest.WrappedSOL.String(), "outAmount": ours.AmountOut,
		"otherAmountThreshold": ours.MinAmountOut, "swapMode": "ExactIn", "slippageBps": 50.0, "platformFee": nil, "priceImpactPct": "0.0001", "contextSlot": 1000.0,
		"routePlan": []any{map[string]any{"percent": 100.0, "bps": 10000.0, "swapInfo": map[string]any{
			"ammKey": ours.Route[0].Pool, "label": "Raydium CP", "inputMint": coin.String(), "outputMint": swaptest.WrappedSOL.String(),
			"inAmount": "100000", "outAmount": ours.AmountOut, "feeAmount": "250", "feeMint": coin.String(),
		}}},
	}, theirs)

	status, body = f.do(t, http.MethodPost, "/api/v2/swap", fmt.Sprintf(`{"quoteResponse":%s,"userPublicKey":%q,"prioritizationFeeLamports":5000,"wrapAndUnwrapSol":true}`, body, wallet))
	require.Equal(t, http.StatusOK, status, string(body))
	var swapped map[string]any
	require.NoError(t, json.Unmarshal(body, &swapped))
	require.EqualValues(t, 1150, swapped["lastValidBlockHeight"])
	require.InDelta(t, 5000, swapped["prioritizationFeeLamports"], 1)
	instructions(t, swapped["swapTransaction"].(string))
}

// TestAWholeQuoteKeepsItsPromise: what POST makes of a quote never gives less than the quote said,
// and when that is not to be had any more, the answer is 409.
func TestAWholeQuoteKeepsItsPromise(t *testing.T) {
	c := onePool()
	f := start(t, Config{}, c)
	for _, mode := range []string{modeIn, modeOut} {
		path := query(coin, swaptest.WrappedSOL, "1000000", fieldMode, mode)
		if mode == modeOut {
			path = query(coin, swaptest.WrappedSOL, "", fieldMode, mode, fieldAmountOut, "1000000")
		}
		_, quote := f.do(t, http.MethodGet, path, "")
		var promised, made Response
		require.NoError(t, json.Unmarshal(quote, &promised))
		post := fmt.Sprintf(`{"quote":%s,"user_account":%q}`, quote, wallet)
		status, body := f.do(t, http.MethodPost, "/api/v2/swap", post)
		require.Equal(t, http.StatusOK, status, string(body))
		require.NoError(t, json.Unmarshal(body, &made))
		require.Equal(t, []string{promised.MinAmountOut, promised.MaxAmountIn}, []string{made.MinAmountOut, made.MaxAmountIn})

		broken := strings.NewReplacer(`"min_amount_out":"`+promised.MinAmountOut, `"min_amount_out":"2`+promised.MinAmountOut, `"max_amount_in":"`+promised.MaxAmountIn, `"max_amount_in":"9`)
		if mode == modeOut {
			broken = strings.NewReplacer(`"max_amount_in":"`+promised.MaxAmountIn, `"max_amount_in":"9`)
		}
		f.refused(t, http.MethodPost, "/api/v2/swap", broken.Replace(post), http.StatusConflict, "ask for a new quote")
		f.refused(t, http.MethodPost, "/api/v2/swap", strings.Replace(post, "{", `{"src_mint":"x",`, 1), http.StatusBadRequest, "src_mint is part of the quote")
	}
}

// TestThePlatformsFeeComesOffTheOutput: the user's minimum holds after it, and it goes to an
// account that exists.
func TestThePlatformsFeeComesOffTheOutput(t *testing.T) {
	c := onePool()
	f := start(t, Config{}, c)
	plain := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "1000000"))
	treasury := solana.MustPublicKeyFromBase58("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	path := query(coin, swaptest.WrappedSOL, "1000000", fieldFee, "100", fieldTreasury, treasury.String(), fieldUser, wallet.String())
	f.refused(t, http.MethodGet, path, "", http.StatusBadRequest, "must have an associated account")
	account, _, err := solana.FindProgramAddress([][]byte{treasury[:], swaptest.TokenProgram[:], swaptest.WrappedSOL[:]}, solana.SPLAssociatedTokenAccountProgramID)
	require.NoError(t, err)
	c.Set(venue.Key(account), swaptest.TokenProgram, make([]byte, 165))
	r := f.quoteOK(t, path)
	fee := number(t, plain.AmountOut) / 100
	require.Equal(t, decimal(number(t, plain.AmountOut)-fee), r.AmountOut)
	require.Equal(t, Fee{feePlatform, swaptest.WrappedSOL.String(), decimal(fee)}, r.Fees[len(r.Fees)-1])
	_, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap, "Token 12", stepClose}, steps)
}

func TestVenuesCanBeChosen(t *testing.T) {
	f := start(t, Config{}, onePool())
	f.quoteOK(t, query(coin, swaptest.WrappedSOL, "1000", fieldDexes, "Raydium CP,orca_whirlpool"))
	f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "1000", fieldDexes, "meteora_damm_v1"), "", http.StatusNotFound, "no pool trades")
	require.ErrorContains(t, (&request{dexes: map[string]bool{"meteora_damm_v1": true}}).covered(map[string]bool{"raydium_cpmm": true}), "none of the venues")
	f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "1000", fieldExclude, "raydium_cpmm"), "", http.StatusNotFound, "no pool trades")

	var venues struct{ Venues []ListedVenue }
	status, body := f.do(t, http.MethodGet, "/api/v2/venues", "")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal(body, &venues))
	status2 := map[string]string{}
	for _, v := range venues.Venues {
		status2[v.Venue] = v.Status
		require.Equal(t, v.Status != statusProved, v.Reason != nil)
		require.Equal(t, v.Status == statusUnverified, v.ProvedBy == nil)
	}
	require.Equal(t, statusProved, status2["raydium_cpmm"])
	require.Equal(t, statusProved, status2["raydium_clmm"])
	require.Equal(t, statusProved, status2["orca_whirlpool"])
	require.Equal(t, statusProved, status2["meteora_dlmm"])
	require.Equal(t, statusStopped, status2["byreal_clmm"], "only swaps on the chain can prove it")
	require.Equal(t, statusStopped, status2["raydium_launchlab"], "only swaps on the chain can prove it")
	require.Equal(t, statusProved, status2["meteora_damm_v1"])

	var pools struct{ Pools []ListedPool }
	status, body = f.do(t, http.MethodGet, "/api/v2/pools?mint="+coin.String(), "")
	require.Equal(t, http.StatusOK, status, string(body))
	require.NoError(t, json.Unmarshal(body, &pools))
	require.Len(t, pools.Pools, 1)
	require.Nil(t, pools.Pools[0].Refused)
	f.refused(t, http.MethodGet, "/api/v2/pools?mint="+swaptest.Named("nothing").String(), "", http.StatusNotFound, "no such account")
}

// TestPoolsWithoutHubs: a mint that is the only hub has no pools with another one.
func TestPoolsWithoutHubs(t *testing.T) {
	for _, hubs := range [][]venue.Key{{}, {coin}} {
		f := start(t, Config{Hubs: hubs}, onePool())
		status, body := f.do(t, http.MethodGet, "/api/v2/pools?mint="+coin.String(), "")
		require.Equal(t, http.StatusOK, status, string(body))
		require.JSONEq(t, `{"pools":[],"unlisted":[]}`, string(body))
	}
}
