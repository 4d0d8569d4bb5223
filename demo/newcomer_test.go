package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// steady is a chain without forks and skipped slots.
func steady(t *testing.T, steps int) *Node {
	t.Helper()
	cfg := testConfig()
	cfg.SkipRate, cfg.ForkRate = 0, 0
	n := start(t, cfg)
	require.NoError(t, n.Step(steps))
	return n
}

func TestAirdropFundsAnAccount(t *testing.T) {
	n := steady(t, 5)
	to := solana.NewWallet().PublicKey().String()
	var first, second string
	require.Nil(t, call(t, n, &first, "requestAirdrop", to, 2_000_000_000))
	require.Nil(t, call(t, n, &second, "requestAirdrop", to, 2_000_000_000, map[string]any{"commitment": "processed"}))
	require.NotEqual(t, first, second, "two equal wishes are two transfers")
	require.NoError(t, n.Step(2))
	var balance struct{ Value uint64 }
	require.Nil(t, call(t, n, &balance, "getBalance", to, opt()))
	require.EqualValues(t, 4_000_000_000, balance.Value)
	var statuses struct {
		Value []struct {
			Err                any
			ConfirmationStatus string
		}
	}
	require.Nil(t, call(t, n, &statuses, "getSignatureStatuses", []string{first, second}))
	for _, s := range statuses.Value {
		require.Nil(t, s.Err)
	}
	for _, bad := range [][]any{{}, {"x", 1}, {to}, {to, -1}, {to, 0}, {to, uint64(1e15)}, {to, 1, 7}, {to, 1, map[string]any{"commitment": "soon"}}} {
		require.Equal(t, -32602, code(call(t, n, nil, "requestAirdrop", bad...)), "%v", bad)
	}
	require.Equal(t, -32002, code(call(t, n, nil, "requestAirdrop", solana.NewWallet().PublicKey().String(), 1000)), "too little for a new account's rent")
}

type tokenAccounts struct {
	Context struct{ Slot uint64 }
	Value   []struct {
		Pubkey  string
		Account struct {
			Data     json.RawMessage
			Owner    string
			Lamports uint64
			Space    int
		}
	}
}

func TestTokenAccountsByOwner(t *testing.T) {
	n := steady(t, 40)
	key := funded(t, n)
	owner := key.PublicKey().String()
	byMint, byProgram := map[string]string{"mint": chain.USDCMint.String()}, map[string]string{"programId": chain.TokenProgram.String()}
	var got tokenAccounts
	require.Nil(t, call(t, n, &got, "getTokenAccountsByOwner", owner, byMint, opt("encoding", "base64")))
	require.Len(t, got.Value, 1)
	require.NotZero(t, got.Context.Slot)
	require.Equal(t, chain.AssociatedAddress(chain.Key(key.PublicKey()), chain.USDCMint, chain.TokenProgram).String(), got.Value[0].Pubkey)
	require.Equal(t, chain.TokenProgram.String(), got.Value[0].Account.Owner)
	require.Equal(t, 165, got.Value[0].Account.Space)
	var data []byteText
	require.NoError(t, json.Unmarshal(got.Value[0].Account.Data, &data))
	require.Equal(t, key.PublicKey().Bytes(), data[0].bytes(t)[32:64])
	require.Nil(t, call(t, n, &got, "getTokenAccountsByOwner", owner, byMint, opt("dataSlice", map[string]int{"offset": 32, "length": 32})))
	require.JSONEq(t, `"`+owner+`"`, string(got.Value[0].Account.Data), "binary, the old default, is base58")
	require.Nil(t, call(t, n, &got, "getTokenAccountsByOwner", owner, byProgram, opt("encoding", "jsonParsed")))
	require.NotEmpty(t, got.Value)
	for _, v := range got.Value {
		var parsed struct {
			Program string
			Parsed  struct {
				Type string
				Info struct {
					Owner, State string
					IsNative     bool
					TokenAmount  struct {
						Amount, UIAmountString string
						UIAmount               *float64
					}
					RentExemptReserve *struct{ Amount string }
				}
			}
		}
		require.NoError(t, json.Unmarshal(v.Account.Data, &parsed))
		require.Equal(t, "spl-token", parsed.Program)
		require.Equal(t, "account", parsed.Parsed.Type)
		require.Equal(t, owner, parsed.Parsed.Info.Owner)
		require.Contains(t, []string{"initialized", "frozen"}, parsed.Parsed.Info.State)
		require.NotNil(t, parsed.Parsed.Info.TokenAmount.UIAmount, "0 and not null")
		require.Equal(t, parsed.Parsed.Info.IsNative, parsed.Parsed.Info.RentExemptReserve != nil)
	}
	require.Nil(t, call(t, n, &got, "getTokenAccountsByOwner", solana.NewWallet().PublicKey().String(), byProgram, opt()))
	require.NotNil(t, got.Value)
	require.Empty(t, got.Value)
	require.Nil(t, call(t, n, &got, "getTokenAccountsByDelegate", owner, byProgram, opt("encoding", "base64")))
	for want, filter := range map[string]any{
		"could not find mint":             map[string]string{"mint": solana.NewWallet().PublicKey().String()},
		"not a Token mint":                map[string]string{"mint": owner},
		"unrecognized Token program id":   map[string]string{"programId": chain.SystemProgram.String()},
		"expected one of":                 map[string]string{},
		"Invalid param: Invalid":          map[string]string{"mint": "0"},
		"cannot unmarshal string":         "mint",
		"expected one of `mint`, `progra": map[string]string{"mint": owner, "programId": owner},
	} {
		e := call(t, n, nil, "getTokenAccountsByOwner", owner, filter, opt())
		require.Equal(t, -32602, code(e), "%v", filter)
		require.Contains(t, e["message"], want)
	}
	require.Equal(t, -32602, code(call(t, n, nil, "getTokenAccountsByOwner", owner, byMint, opt("encoding", "json"))))
	require.Equal(t, -32016, code(call(t, n, nil, "getTokenAccountsByOwner", owner, byMint, opt("minContextSlot", 1<<40))))
}

// Every mint and token account of either program has a jsonParsed form, with its extensions by
// name.
func TestParsedAccounts(t *testing.T) {
	n := steady(t, 60)
	extensions := map[string]int{}
	for _, program := range []chain.Key{chain.TokenProgram, chain.Token2022Program} {
		var list []struct {
			Account struct{ Data json.RawMessage }
		}
		require.Nil(t, call(t, n, &list, "getProgramAccounts", program.String(), opt("encoding", "jsonParsed")))
		require.NotEmpty(t, list)
		types := map[string]int{}
		for _, a := range list {
			var parsed struct {
				Program string
				Parsed  struct {
					Type string
					Info struct {
						Supply     *string
						Extensions []struct{ Extension string }
					}
				}
			}
			require.NoError(t, json.Unmarshal(a.Account.Data, &parsed), string(a.Account.Data))
			types[parsed.Parsed.Type]++
			require.Equal(t, parsed.Parsed.Type == "mint", parsed.Parsed.Info.Supply != nil)
			for _, e := range parsed.Parsed.Info.Extensions {
				extensions[e.Extension]++
			}
		}
		require.Positive(t, types["mint"])
		require.Positive(t, types["account"])
		require.Len(t, types, 2)
	}
	for _, name := range []string{"immutableOwner", "metadataPointer", "tokenMetadata", "transferFeeConfig", "transferFeeAmount", "mintCloseAuthority", "permanentDelegate", "scaledUiAmountConfig"} {
		require.Positive(t, extensions[name], name)
	}
	require.Zero(t, extensions["unparseableExtension"], "%v", extensions)
	var other struct{ Value struct{ Data []byteText } }
	require.Nil(t, call(t, n, &other, "getAccountInfo", chain.CPMMProgram.String(), opt("encoding", "jsonParsed")))
	require.EqualValues(t, "base64", other.Value.Data[1], "what has no parser")
}

func TestLargestTokenAccounts(t *testing.T) {
	n := steady(t, 10)
	var got struct {
		Value []struct {
			Address, Amount, UIAmountString string
			Decimals                        int
			UIAmount                        *float64
		}
	}
	require.Nil(t, call(t, n, &got, "getTokenLargestAccounts", chain.USDCMint.String(), opt()))
	require.Len(t, got.Value, 20)
	for i, v := range got.Value {
		var held struct{ Value struct{ Amount string } }
		require.Nil(t, call(t, n, &held, "getTokenAccountBalance", v.Address, opt()))
		require.Equal(t, held.Value.Amount, v.Amount)
		require.Equal(t, 6, v.Decimals)
		require.NotNil(t, v.UIAmount)
		if i > 0 {
			require.LessOrEqual(t, *v.UIAmount, *got.Value[i-1].UIAmount)
		}
	}
	require.Equal(t, -32602, code(call(t, n, nil, "getTokenLargestAccounts", chain.TokenProgram.String())))
	require.Equal(t, -32602, code(call(t, n, nil, "getTokenLargestAccounts", solana.NewWallet().PublicKey().String())))
}

func TestSupplyFeesAndCounts(t *testing.T) {
	n := steady(t, 45)
	var supply struct {
		Value struct {
			Total, Circulating, NonCirculating uint64
			NonCirculatingAccounts             []string
		}
	}
	require.Nil(t, call(t, n, &supply, "getSupply", opt()))
	require.NotZero(t, supply.Value.Total)
	require.Equal(t, supply.Value.Total, supply.Value.Circulating+supply.Value.NonCirculating)
	require.NotNil(t, supply.Value.NonCirculatingAccounts)
	tip, _ := n.Ledger().Lamports(ledger.Confirmed)
	require.Equal(t, tip, supply.Value.Total)

	var fees []struct {
		Slot              uint64
		PrioritizationFee *uint64
	}
	require.Nil(t, call(t, n, &fees, "getRecentPrioritizationFees"))
	require.Len(t, fees, 45)
	require.Nil(t, call(t, n, &fees, "getRecentPrioritizationFees", []string{chain.CPMMProgram.String()}))
	for _, f := range fees {
		require.NotNil(t, f.PrioritizationFee)
		require.Zero(t, *f.PrioritizationFee, "nobody writes a program")
	}
	require.Equal(t, -32602, code(call(t, n, nil, "getRecentPrioritizationFees", make([]string, 129))))

	var count uint64
	for slot := uint64(1000); slot <= n.Ledger().Slot(ledger.Finalized); slot++ {
		if b, _, ok := n.Ledger().Block(slot); ok {
			count += uint64(len(b.Txs))
		}
	}
	var epoch struct{ TransactionCount *uint64 }
	require.Nil(t, call(t, n, &epoch, "getEpochInfo", map[string]any{"commitment": "finalized"}))
	require.NotNil(t, epoch.TransactionCount)
	require.Equal(t, count, *epoch.TransactionCount)
	var same uint64
	require.Nil(t, call(t, n, &same, "getTransactionCount", map[string]any{"commitment": "finalized"}))
	require.Equal(t, count, same)
}

// Every token of genesis has a drawing, and its document names it.
func TestGenesisTokensHaveLogos(t *testing.T) {
	n := steady(t, 1)
	var mints []struct{ Pubkey string }
	require.Nil(t, call(t, n, &mints, "getProgramAccounts", chain.TokenProgram.String(), map[string]any{"encoding": "base64", "commitment": "processed", "filters": []any{map[string]int{"dataSize": 82}}}))
	majors := 0
	for _, m := range mints {
		if n.gen.Major(pubkey.MustParse(m.Pubkey)) == "" {
			continue
		}
		majors++
		resp, err := http.Get(n.BaseURL() + "/logo/" + m.Pubkey + ".svg")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode)
		require.Contains(t, string(body), "clipPath")
	}
	require.Equal(t, 24, majors)
}
