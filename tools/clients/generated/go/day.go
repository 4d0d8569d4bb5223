// This is a user's day with the clients that openapi-generator makes for Go.
package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"day/swaps"
	"day/tokens"
)

const sol = "So11111111111111111111111111111111111111112"

// must ends the program with a message unless holds is true.
func must(what string, holds bool, said ...any) {
	if !holds {
		log.Fatalf("go: %s: %+v", what, said)
	}
}

// patient calls ask until the rate limit does not refuse it (429). After a refusal it waits for the
// refusal's Retry-After. waited is the sum of these waits in seconds.
func patient[T any](ask func() (T, *http.Response, error)) (answer T, waited int) {
	for {
		answer, response, err := ask()
		if response == nil || response.StatusCode != http.StatusTooManyRequests {
			must("an answer", err == nil, err)
			return answer, waited
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		must("Retry-After", err == nil && seconds >= 1 && seconds <= 60, seconds, err)
		time.Sleep(time.Duration(seconds) * time.Second)
		waited += seconds
	}
}

// feed reads the feed from cursor on until it has read a change and a cursor after it, and returns
// that cursor. The generated call would wait for the end of the body, so the body is read by hand.
// Changes are decoded into the generated model.
func feed(api, from, cursor string) string {
	request, err := http.NewRequest(http.MethodGet, api+"/tokens/stream?"+url.Values{"cursor": {cursor}}.Encode(), nil)
	must("feed", err == nil, err)
	request.Header.Set("X-Forwarded-For", from)
	answer, err := http.DefaultClient.Do(request)
	must("feed", err == nil && answer.StatusCode == http.StatusOK, answer, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	changes, fields := 0, map[string]string{}
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "" {
			fields[name] = strings.TrimSpace(value)
			continue
		}
		if fields["event"] == "new" || fields["event"] == "changed" {
			var token tokens.Token
			err := json.Unmarshal([]byte(fields["data"]), &token)
			must("a change", err == nil && len(token.Mint) > 31, fields, err)
			changes++
		}
		if fields["id"] != "" && changes > 0 {
			return fields["id"]
		}
		clear(fields)
	}
	log.Fatal("go: the feed ended: ", lines.Err())
	return ""
}

// trade quotes a swap of SOL for a token, makes it, and returns what came of it.
func trade(swap, bought, keyfile, user string) *swaps.Sent {
	config := swaps.NewConfiguration()
	config.Servers = swaps.ServerConfigurations{{URL: swap}}
	api, ctx := swaps.NewAPIClient(config).QuotesAPI, context.Background()
	quote, _, err := api.GetQuote(ctx).SrcMint(sol).DstMint(bought).AmountIn("1000000").SlippageBps(300).Execute()
	must("quote", err == nil && quote.Quote != nil && quote.Quote.MinAmountOut != "0" && len(quote.Quote.Route) > 0, quote, err)
	_, _, err = api.GetQuote(ctx).SrcMint(sol).DstMint(sol).AmountIn("1000000").SlippageBps(300).Execute()
	var refusal *swaps.GenericOpenAPIError
	must("a quote of a token for itself", errors.As(err, &refusal), err)
	model, ok := refusal.Model().(swaps.Error)
	must("a quote of a token for itself", ok && model.StatusCode == 400 && model.GetCode() == "invalid_request", refusal)

	amount := "1000000"
	ask := swaps.NewSwapRequest(user)
	ask.SetSrcMint(sol)
	ask.SetDstMint(bought)
	ask.SetAmountIn(swaps.RequestAmount{String: &amount})
	ask.SetSlippageBps(300)
	built, _, err := api.PostSwap(ctx).SwapRequest(*ask).Execute()
	must("swap", err == nil && built.Quote != nil, built, err)
	transaction, err := base64.StdEncoding.DecodeString(built.Quote.GetTxn())
	must("a transaction of one signer", err == nil && len(transaction) > 65 && transaction[0] == 1, built.Quote, err)
	var key []byte
	var numbers []int
	text, err := os.ReadFile(keyfile)
	must("the key", err == nil && json.Unmarshal(text, &numbers) == nil, err)
	for _, number := range numbers {
		key = append(key, byte(number))
	}
	copy(transaction[1:], ed25519.Sign(key, transaction[65:]))
	whole, err := built.Quote.ToMap()
	must("a quote", err == nil, err)
	sent, _, err := api.PostSend(ctx).SendRequest(*swaps.NewSendRequest(whole, base64.StdEncoding.EncodeToString(transaction))).Execute()
	must("send", err == nil && sent.Status == "landed" && sent.AmountIn == amount, sent, err)
	return sent
}

func main() {
	api, swap, from, keyfile, user := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	config := tokens.NewConfiguration()
	config.Servers = tokens.ServerConfigurations{{URL: api}}
	config.AddDefaultHeader("X-Forwarded-For", from)
	c, ctx := tokens.NewAPIClient(config).TokensAPI, context.Background()

	found, _, err := c.SearchTokens(ctx).Limit(5).Market(true).NotExt([]string{"pausable", "transfer_hook"}).Execute()
	must("search", err == nil && len(found.Items) == 5 && found.Total >= 5, found, err)
	var mints []string
	for _, row := range found.Items {
		must("a whole row", row.Token != nil, row)
		mints = append(mints, row.Token.Mint)
	}
	market := found.Items[0].Token.Market.Get()
	must("market", market != nil && market.PriceUsd.Get() != nil && market.AsOf > 1<<40, market)

	request := tokens.NewBatchRequest(append([]string{"nothing"}, mints...))
	request.SetStates(true)
	batch := func() (*tokens.BatchResponse, *http.Response, error) {
		return c.ResolveTokens(ctx).BatchRequest(*request).Execute()
	}
	first, waited := patient(batch)
	must("batch", len(first.Items) == 5 && first.Unknown[0] == "nothing" && first.States[0].State == "not_a_mint", first)
	history, _, err := c.GetHistory(ctx, mints[0]).Limit(3).Execute()
	must("history", err == nil && len(history.Items) > 0 && history.Items[0].Slot > 0, history, err)
	_, response, err := c.GetToken(ctx, sol[:len(sol)-1]+"9").Execute()
	var refusal *tokens.GenericOpenAPIError
	must("an unknown mint", errors.As(err, &refusal) && response.StatusCode == http.StatusNotFound, err)
	model, ok := refusal.Model().(tokens.Error)
	must("an unknown mint", ok && model.StatusCode == 404 && model.Message != "", refusal)
	feed(api, from, feed(api, from, ""))

	bought := mints[0]
	if bought == sol {
		bought = mints[1]
	}
	sent := trade(swap, bought, keyfile, user)
	for range 20 {
		answer, seconds := patient(batch)
		must("batch", len(answer.Items) == 5, answer)
		waited += seconds
	}
	must("21 batches a minute", waited > 0)
	fmt.Printf("go: %s lamports for %s; waited %d s as a refusal said\n", sent.AmountIn, sent.AmountOut, waited)
}
